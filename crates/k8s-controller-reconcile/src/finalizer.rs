//! Our entry in `metadata.finalizers`.

use std::fmt::Debug;

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, TestOperation};
use k8s_controller_observe::Phase;
use kube::api::PatchParams;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What there is to do for an object in this state.
pub(crate) fn phase_of<K: Resource>(object: &K, finalizer: Option<&str>) -> Phase {
    let deleting = object.meta().deletion_timestamp.is_some();
    let ours = finalizer.map(|ours| object.finalizers().iter().any(|name| name == ours));
    match (deleting, ours) {
        (false, None | Some(true)) => Phase::Apply,
        (false, Some(false)) => Phase::Init,
        (true, Some(true)) => Phase::Cleanup,
        (true, None | Some(false)) => Phase::Delete,
    }
}

/// Puts our entry on the object. An object that is gone needs none.
pub(crate) async fn add<K>(api: &Api<K>, object: &K, ours: &str) -> Result<(), kube::Error>
where
    K: Resource + DeserializeOwned + Clone + Debug,
{
    send(api, object, addition(object, ours)).await
}

/// Takes our entry off the object. From an object that is gone, it is off.
pub(crate) async fn remove<K>(api: &Api<K>, object: &K, ours: &str) -> Result<(), kube::Error>
where
    K: Resource + DeserializeOwned + Clone + Debug,
{
    send(api, object, removal(object, ours)).await
}

async fn send<K>(api: &Api<K>, object: &K, patch: Patch) -> Result<(), kube::Error>
where
    K: Resource + DeserializeOwned + Clone + Debug,
{
    let name = object.meta().name.as_deref().unwrap_or_default();
    let patch = kube::api::Patch::Json::<()>(patch);
    match api.patch(name, &PatchParams::default(), &patch).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Fails if the object was made anew, is being deleted (no finalizer may be added then), or has
/// other finalizers than we saw, among which could be ours.
fn addition<K: Resource>(object: &K, ours: &str) -> Patch {
    let mut patch = vec![
        same_object(object),
        test(["metadata", "deletionTimestamp"], Value::Null),
    ];
    let list = ["metadata", "finalizers"];
    if object.finalizers().is_empty() {
        patch.push(test(list, Value::Null));
        patch.push(add_value(list, json!([ours])));
    } else {
        patch.push(test(list, json!(object.finalizers())));
        patch.push(add_value(["metadata", "finalizers", "-"], json!(ours)));
    }
    Patch(patch)
}

/// Fails if the object was made anew, or our entry is no longer where we saw it. From the back,
/// since an entry that is removed moves those after it.
fn removal<K: Resource>(object: &K, ours: &str) -> Patch {
    let mut patch = vec![same_object(object)];
    for (index, name) in object.finalizers().iter().enumerate().rev() {
        if name == ours {
            let index = index.to_string();
            let entry = ["metadata", "finalizers", index.as_str()];
            patch.push(test(entry, json!(ours)));
            patch.push(PatchOperation::Remove(RemoveOperation {
                path: PointerBuf::from_tokens(entry),
            }));
        }
    }
    Patch(patch)
}

fn same_object<K: Resource>(object: &K) -> PatchOperation {
    test(["metadata", "uid"], json!(object.meta().uid))
}

fn test<const N: usize>(path: [&str; N], value: Value) -> PatchOperation {
    PatchOperation::Test(TestOperation {
        path: PointerBuf::from_tokens(path),
        value,
    })
}

fn add_value<const N: usize>(path: [&str; N], value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation {
        path: PointerBuf::from_tokens(path),
        value,
    })
}

/// Whether an API server would take this for a finalizer: a qualified name.
pub(crate) fn is_valid_name(name: &str) -> bool {
    match name.split_once('/') {
        Some((domain, name)) => is_subdomain(domain) && is_simple_name(name),
        None => is_simple_name(name),
    }
}

fn is_simple_name(name: &str) -> bool {
    let ends_well = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && ends_well(bytes.first())
        && ends_well(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn is_subdomain(domain: &str) -> bool {
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let ends_well = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-');
        ends_well(bytes.first())
            && ends_well(bytes.last())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
    };
    domain.len() <= 253 && domain.split('.').all(is_label)
}

#[cfg(test)]
mod tests;
