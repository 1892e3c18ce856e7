//! AdmissionReview: what a webhook is asked, and what it may answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_api_schema::quote;
use serde_json::{Map, Value, json};

use super::{Attributes, Operation};
use crate::body;
use crate::kinds::Kind;
use crate::metadata::{text, texts};
use crate::status::{Cause, Details, Failure};

/// The request without its uid.
pub(super) fn request(attributes: &Attributes<'_>, kind: &Kind, object: Option<&Value>) -> Value {
    let own = attributes.call.kind();
    let gvk =
        |kind: &Kind| json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
    let gvr = |kind: &Kind| json!({"group": kind.group, "version": kind.version, "resource": kind.plural});
    let view = |object: Option<&Value>| {
        object
            .map(|object| body::to_view(object, kind))
            .unwrap_or_default()
    };
    let mut request = json!({
        "kind": gvk(kind),
        "resource": gvr(kind),
        "requestKind": gvk(own),
        "requestResource": gvr(own),
        "operation": attributes.operation.name(),
        "userInfo": attributes.call.user.to_json(),
        "object": view(object),
        "oldObject": view(attributes.old),
        "dryRun": attributes.dry_run,
        "options": options(attributes),
    });
    for (key, text) in [
        ("subResource", attributes.subresource()),
        ("requestSubResource", attributes.subresource()),
        ("name", attributes.name),
        ("namespace", attributes.namespace()),
    ] {
        if !text.is_empty() {
            request[key] = text.into();
        }
    }
    request
}

fn options(attributes: &Attributes<'_>) -> Value {
    let kind = match attributes.operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    if attributes.dry_run {
        options["dryRun"] = json!(["All"]);
    }
    if attributes.operation != Operation::Delete {
        for key in ["fieldManager", "fieldValidation"] {
            if let Some(value) = attributes.call.query.get(key) {
                options[key] = value.into();
            }
        }
    }
    options
}

/// What a webhook has answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Response {
    pub(super) allowed: bool,
    /// A JSON patch, as text.
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: String,
    pub(super) warnings: Vec<String>,
    /// The `Status` of a refusal.
    pub(super) result: Value,
}

/// Reads the answer to the request with this uid.
///
/// # Errors
///
/// What is wrong with it, in the words of the real server.
pub(super) fn response(
    review: &Value,
    version: &str,
    uid: &str,
    mutating: bool,
) -> Result<Response, String> {
    let Some(response) = review
        .get("response")
        .filter(|response| response.is_object())
    else {
        return Err("webhook response was absent".into());
    };
    if version == "v1" {
        let found = text(response, "/uid");
        if found != uid {
            return Err(format!(
                "expected response.uid={}, got {}",
                quote(uid),
                quote(found)
            ));
        }
        let (api_version, kind) = (text(review, "/apiVersion"), text(review, "/kind"));
        if (api_version, kind) != ("admission.k8s.io/v1", "AdmissionReview") {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            return Err(format!(
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {group}/{version}, Kind={kind}"
            ));
        }
    }
    let patch = text(response, "/patch");
    let patch = STANDARD
        .decode(patch)
        .map_err(|error| format!("response.patch is not base64: {error}"))?;
    let patch_type = response.get("patchType").filter(|found| !found.is_null());
    if version == "v1" {
        match (mutating, patch.is_empty(), patch_type) {
            (true, false, None) => {
                return Err("webhook returned response.patch but not response.patchType".into());
            }
            (true, true, Some(_)) => {
                return Err("webhook returned response.patchType but not response.patch".into());
            }
            (true, _, Some(found)) if *found == "" => {
                return Err("webhook returned invalid response.patchType of \"\"".into());
            }
            (false, false, _) => {
                return Err("validating webhook may not return response.patch".into());
            }
            (false, _, Some(_)) => {
                return Err("validating webhook may not return response.patchType".into());
            }
            _ => {}
        }
    }
    let result = response.get("status").or_else(|| response.get("result"));
    Ok(Response {
        allowed: response.get("allowed") == Some(&Value::Bool(true)),
        patch,
        patch_type: patch_type
            .and_then(Value::as_str)
            .unwrap_or("JSONPatch")
            .into(),
        warnings: texts(response.get("warnings"))
            .into_iter()
            .map(Into::into)
            .collect(),
        result: result.cloned().unwrap_or_default(),
    })
}

/// The refusal of a webhook.
pub(super) fn denial(name: &str, result: &Value) -> Failure {
    let by = format!("admission webhook {} denied the request", quote(name));
    let (message, reason) = (text(result, "/message"), text(result, "/reason"));
    let mut failure = Failure::bad_request(match (message, reason) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    });
    let code = result.get("code").and_then(Value::as_u64).unwrap_or(0);
    failure.code = u16::try_from(code).unwrap_or(500).clamp(400, 599);
    failure.reason = reason.to_owned().into();
    failure.details = result
        .get("details")
        .and_then(Value::as_object)
        .map(|details| Box::new(details_of(details)));
    failure
}

fn details_of(details: &Map<String, Value>) -> Details {
    let of = |map: &Map<String, Value>, key: &str| -> String {
        map.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .into()
    };
    let causes = details.get("causes").and_then(Value::as_array);
    Details {
        name: of(details, "name"),
        group: of(details, "group"),
        kind: of(details, "kind"),
        uid: of(details, "uid"),
        causes: causes
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .map(|cause| Cause {
                reason: of(cause, "reason"),
                message: of(cause, "message"),
                field: of(cause, "field"),
            })
            .collect(),
        retry_after_seconds: details
            .get("retryAfterSeconds")
            .and_then(Value::as_u64)
            .and_then(|seconds| seconds.try_into().ok()),
    }
}
