//! `Status` answers: what the server says when a request fails, and after a delete.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use k8s_api_schema::{FieldError, quote};

/// One entry of `details.causes`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cause {
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) field: String,
}

/// `details` of a `Status`; an empty value is left out of the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Details {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) uid: String,
    pub(crate) causes: Vec<Cause>,
    pub(crate) retry_after_seconds: Option<u32>,
}

impl Details {
    /// Details that name an object of a group and kind (or resource).
    pub(crate) fn of(group: &str, kind: &str, name: &str) -> Self {
        Self {
            name: name.into(),
            group: group.into(),
            kind: kind.into(),
            ..Self::default()
        }
    }

    fn to_json(&self) -> Value {
        let mut map = Map::new();
        for (key, value) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !value.is_empty() {
                map.insert(key.into(), value.as_str().into());
            }
        }
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(cause_to_json).collect();
            map.insert("causes".into(), Value::Array(causes));
        }
        if let Some(seconds) = self.retry_after_seconds {
            map.insert("retryAfterSeconds".into(), seconds.into());
        }
        Value::Object(map)
    }
}

fn cause_to_json(cause: &Cause) -> Value {
    let mut map = Map::new();
    for (key, value) in [
        ("reason", &cause.reason),
        ("message", &cause.message),
        ("field", &cause.field),
    ] {
        if !value.is_empty() {
            map.insert(key.into(), value.as_str().into());
        }
    }
    Value::Object(map)
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    /// HTTP status code.
    pub(crate) code: u16,
    /// Empty where the real server sends none.
    pub(crate) reason: Cow<'static, str>,
    pub(crate) message: String,
    /// `None` leaves `details` out; `Some` of nothing sends `{}`.
    pub(crate) details: Option<Box<Details>>,
    /// Said in `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// `resource` or `resource.group`, as messages name a resource.
pub(crate) fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() {
        resource.into()
    } else {
        format!("{resource}.{group}")
    }
}

impl Failure {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            warnings: Vec::new(),
        }
    }

    /// The same with warnings before its own.
    pub(crate) fn warned(mut self, warnings: &[String]) -> Self {
        self.warnings.splice(0..0, warnings.iter().cloned());
        self
    }

    fn with(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// 404 for an object.
    pub(crate) fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let quoted = quote(name);
        let message = format!("{} {quoted} not found", qualified(group, resource));
        Self::new(404, "NotFound", message).with(Details::of(group, resource, name))
    }

    /// 404 for a path below a group that the server knows.
    pub(crate) fn no_such_resource() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with(Details::default())
    }

    /// 409 for a create under a name that is taken.
    pub(crate) fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let quoted = quote(name);
        let message = format!("{} {quoted} already exists", qualified(group, resource));
        Self::new(409, "AlreadyExists", message).with(Details::of(group, resource, name))
    }

    /// 409 for a create under a name whose object is still going away.
    pub(crate) fn being_deleted(group: &str, resource: &str, name: &str) -> Self {
        let quoted = quote(name);
        let mut failure = Self::already_exists(group, resource, name);
        failure.message = format!(
            "object is being deleted: {} {quoted} already exists",
            qualified(group, resource)
        );
        failure
    }

    /// 409 with a reason of its own.
    pub(crate) fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let quoted = quote(name);
        let message = format!(
            "Operation cannot be fulfilled on {} {quoted}: {why}",
            qualified(group, resource)
        );
        Self::new(409, "Conflict", message).with(Details::of(group, resource, name))
    }

    /// 409 for a write from a stale resourceVersion.
    pub(crate) fn modified(group: &str, resource: &str, name: &str) -> Self {
        Self::conflict(
            group,
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 409 for a failed uid precondition; the real server names the kind here, not the resource.
    pub(crate) fn uid_precondition(
        group: &str,
        kind: &str,
        name: &str,
        wanted: &str,
        found: &str,
    ) -> Self {
        Self::conflict(
            group,
            kind,
            name,
            &format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({found}). The object might have been deleted and then recreated"
            ),
        )
    }

    /// 409 for a failed resourceVersion precondition; the real server names the kind here.
    pub(crate) fn version_precondition(
        group: &str,
        kind: &str,
        name: &str,
        wanted: &str,
        found: &str,
    ) -> Self {
        Self::conflict(
            group,
            kind,
            name,
            &format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({found}). The object might have been modified"
            ),
        )
    }

    /// 422 with one cause per field error.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let quoted = quote(name);
        let qualified_kind = qualified(group, kind);
        let message = match aggregate(errors) {
            Some(text) => format!("{qualified_kind} {quoted} is invalid: {text}"),
            None => format!("{qualified_kind} {quoted} is invalid"),
        };
        let mut details = Details::of(group, kind, name);
        details.causes = errors
            .iter()
            .map(|error| Cause {
                reason: error.reason().into(),
                message: error.body(),
                field: error.field.clone(),
            })
            .collect();
        Self::new(422, "Invalid", message).with(details)
    }

    /// 422 that tells nothing, as for a failed JSON patch `test`.
    pub(crate) fn unprocessable() -> Self {
        Self::new(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        )
        .with(Details::default())
    }

    /// 400.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 403 for a write that a rule of the server forbids.
    pub(crate) fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let quoted = quote(name);
        let resource_text = qualified(group, resource);
        let message = if name.is_empty() {
            format!("{resource_text} is forbidden: {why}")
        } else {
            format!("{resource_text} {quoted} is forbidden: {why}")
        };
        Self::new(403, "Forbidden", message).with(Details::of(group, resource, name))
    }

    /// 403 for a create in a namespace that is going away.
    pub(crate) fn namespace_terminating(
        group: &str,
        resource: &str,
        name: &str,
        namespace: &str,
    ) -> Self {
        let mut failure = Self::forbidden(
            group,
            resource,
            name,
            &format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            ),
        );
        if let Some(details) = &mut failure.details {
            details.causes.push(Cause {
                reason: "NamespaceTerminating".into(),
                message: format!("namespace {namespace} is being terminated"),
                field: "metadata.namespace".into(),
            });
        }
        failure
    }

    /// 405 for a verb that the resource does not have.
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with(Details::default())
    }

    /// 405 of a custom resource, which tells the verb.
    pub(crate) fn verb_not_supported(group: &str, resource: &str, verb: &str) -> Self {
        let message = format!(
            "{verb} is not supported on resources of kind \"{}\"",
            qualified(group, resource)
        );
        Self::new(405, "MethodNotAllowed", message).with(Details::of(group, resource, ""))
    }

    /// 406: no accepted media type can be served.
    pub(crate) fn not_acceptable(accepted: &[&str]) -> Self {
        Self::new(
            406,
            "NotAcceptable",
            format!(
                "only the following media types are accepted: {}",
                accepted.join(", ")
            ),
        )
    }

    /// 406 of the router, which knows media types and no parameters.
    pub(crate) fn unroutable_media_type(available: &[&str]) -> Self {
        let available = available.join(", ");
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        Self::new(406, "NotAcceptable", message).with(Details::default())
    }

    /// 415: the body is in a media type that the server does not read.
    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types include: {}",
                accepted.join(", ")
            ),
        )
    }

    /// 415 of the router.
    pub(crate) fn unknown_media_type() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
            .with(Details::default())
    }

    /// 409 for a configuration that would change what others own.
    pub(crate) fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        Self::new(409, "Conflict", message).with(Details {
            causes,
            ..Details::default()
        })
    }

    /// 413: the body is larger than `limit` bytes.
    pub(crate) fn request_too_large(limit: usize) -> Self {
        Self::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {limit}"),
        )
    }

    /// 504: the request did not come to its end in time.
    pub(crate) fn not_in_time() -> Self {
        Self::new(
            504,
            "Timeout",
            "Timeout: request did not complete within the allotted timeout",
        )
        .with(Details::default())
    }

    /// 410 with reason `Expired`: the version asked for is no longer kept.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 504: a list asked for a version that the server has not reached.
    pub(crate) fn version_too_large(wanted: u64, current: u64) -> Self {
        let details = Details {
            causes: vec![Cause {
                reason: "ResourceVersionTooLarge".into(),
                message: "Too large resource version".into(),
                field: String::new(),
            }],
            retry_after_seconds: Some(1),
            ..Details::default()
        };
        Self::new(
            504,
            "Timeout",
            format!("Timeout: Too large resource version: {wanted}, current: {current}"),
        )
        .with(details)
    }

    /// Leaves out when to try again, as where a real server did not wait either.
    pub(crate) fn without_retry(&mut self) {
        if let Some(details) = &mut self.details {
            details.retry_after_seconds = None;
        }
    }

    /// 500 without a reason, for what the real server did not classify.
    pub(crate) fn unclassified(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 500 with reason `InternalError`.
    pub(crate) fn internal(message: &str) -> Self {
        let details = Details {
            causes: vec![Cause {
                reason: String::new(),
                message: message.into(),
                field: String::new(),
            }],
            ..Details::default()
        };
        Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
        .with(details)
    }

    /// Seconds of the `Retry-After` header, where one belongs.
    pub(crate) fn retry_after(&self) -> Option<u32> {
        self.details
            .as_ref()
            .and_then(|details| details.retry_after_seconds)
    }

    /// The `Status` object.
    pub(crate) fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.clone().into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.to_json();
        }
        status
    }
}

/// The text of several field errors: bare if one, in brackets if more, each text once.
fn aggregate(errors: &[FieldError]) -> Option<String> {
    let mut texts: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.len() {
        0 => None,
        1 => texts.pop(),
        _ => Some(format!("[{}]", texts.join(", "))),
    }
}

/// The `Status` that answers a delete which removed the object.
pub(crate) fn deleted(group: &str, resource: &str, name: &str, uid: &str) -> Value {
    let mut details = Details::of(group, resource, name);
    details.uid = uid.into();
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details.to_json(),
    })
}
