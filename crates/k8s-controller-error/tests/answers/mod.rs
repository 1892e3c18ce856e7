//! Answers as kube-apiserver 1.37.2 gives them.
#![allow(clippy::needless_pass_by_value, dead_code, missing_docs)]

use serde_json::{Value, json};

fn error(value: Value) -> kube::Error {
    let status: kube::core::Status = serde_json::from_value(value).unwrap();
    kube::Error::Api(status.boxed())
}

pub(crate) fn status(code: u16, reason: &str, message: &str, details: Value) -> kube::Error {
    error(json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message, "details": details,
    }))
}

pub(crate) fn conflict() -> kube::Error {
    status(
        409,
        "Conflict",
        "Operation cannot be fulfilled on widgets.example.com \"a\": the object has been modified; \
         please apply your changes to the latest version and try again",
        json!({"group": "example.com", "kind": "widgets", "name": "a"}),
    )
}

pub(crate) fn already_exists() -> kube::Error {
    status(
        409,
        "AlreadyExists",
        "configmaps \"a\" already exists",
        json!({"kind": "configmaps", "name": "a"}),
    )
}

pub(crate) fn failed_test() -> kube::Error {
    status(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
        json!({}),
    )
}

pub(crate) fn invalid() -> kube::Error {
    status(
        422,
        "Invalid",
        "ConfigMap \"a\" is invalid: metadata.finalizers: Invalid value: \"foo\": name is neither \
         a standard finalizer name nor is it fully qualified",
        json!({
            "kind": "ConfigMap", "name": "a",
            "causes": [{"reason": "FieldValueInvalid", "field": "metadata.finalizers",
                "message": "Invalid value: \"foo\": name is neither a standard finalizer name nor is it fully qualified"}],
        }),
    )
}

pub(crate) fn not_found() -> kube::Error {
    status(
        404,
        "NotFound",
        "widgets.example.com \"missing\" not found",
        json!({"group": "example.com", "kind": "widgets", "name": "missing"}),
    )
}

/// As `kube` makes it of an answer that is no `Status`.
pub(crate) fn unreadable(code: u16, text: &str) -> kube::Error {
    let status = kube::core::Status::failure(text, "Failed to parse error data").with_code(code);
    kube::Error::Api(status.boxed())
}
