//! The objects that a Website owns: a ConfigMap with the page and a Deployment that serves it.

use std::fmt::Debug;

use kube::api::{Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::WebsiteError;
use crate::website::Website;

const IMAGE: &str = "nginxinc/nginx-unprivileged:1.29-alpine";
const PORT: u16 = 8080;
/// On the pods, so that they are replaced when the page is another.
pub const CONTENT_HASH: &str = "example.dev/content-hash";

/// The ConfigMap that holds the page.
pub fn config_map(site: &Website) -> Result<Value, WebsiteError> {
    Ok(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": child_metadata(site)?,
        "data": { "index.html": site.spec.content },
    }))
}

/// The Deployment that serves the page.
pub fn deployment(site: &Website) -> Result<Value, WebsiteError> {
    let labels = labels(site);
    Ok(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": child_metadata(site)?,
        "spec": {
            "replicas": site.spec.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": {
                    "labels": labels,
                    "annotations": { CONTENT_HASH: content_hash(&site.spec.content) },
                },
                "spec": {
                    "containers": [{
                        "name": "web",
                        "image": IMAGE,
                        "ports": [{ "containerPort": PORT }],
                        "volumeMounts": [{ "name": "page", "mountPath": "/usr/share/nginx/html" }],
                    }],
                    "volumes": [{ "name": "page", "configMap": { "name": site.name_any() } }],
                },
            },
        },
    }))
}

/// Names the owner, which makes the garbage collector delete the child after the Website, and
/// makes `Controller::owns` run a pass over the Website when somebody changes the child.
fn child_metadata(site: &Website) -> Result<Value, WebsiteError> {
    let owner = site
        .controller_owner_ref(&())
        .ok_or(WebsiteError::Incomplete("metadata.uid"))?;
    Ok(json!({
        "name": site.name_any(),
        "namespace": site.namespace(),
        "labels": labels(site),
        "ownerReferences": [owner],
    }))
}

fn labels(site: &Website) -> Value {
    json!({
        "app.kubernetes.io/name": "website",
        "app.kubernetes.io/instance": site.name_any(),
    })
}

/// Creates `desired`, or changes what is there if it differs. Answers whether it wrote anything:
/// a pass that finds everything in place must not write, or its own watch would start the next.
pub async fn ensure<K>(
    client: &Client,
    site: &Website,
    desired: Value,
) -> Result<bool, WebsiteError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let namespace = site
        .namespace()
        .ok_or(WebsiteError::Incomplete("metadata.namespace"))?;
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let (kind, name) = (K::kind(&()), site.name_any());

    let found = api
        .get_opt(&name)
        .await
        .map_err(WebsiteError::when(format!("read {kind} {name}")))?;
    let Some(found) = found else {
        let failed = || WebsiteError::when(format!("create {kind} {name}"));
        let desired =
            serde_json::from_value(desired).map_err(|e| failed()(kube::Error::SerdeError(e)))?;
        api.create(&PostParams::default(), &desired)
            .await
            .map_err(failed())?;
        return Ok(true);
    };
    if !is_controlled_by(&found, site) {
        return Err(WebsiteError::NameTaken {
            kind: kind.into_owned(),
            name,
        });
    }
    let failed = || WebsiteError::when(format!("change {kind} {name}"));
    let actual = serde_json::to_value(&found).map_err(|e| failed()(kube::Error::SerdeError(e)))?;
    if covers(&actual, &desired) {
        return Ok(false);
    }
    // The resourceVersion ties the patch to the object that was looked at.
    let mut patch = desired;
    patch["metadata"]["resourceVersion"] = json!(found.resource_version());
    api.patch(&name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .map_err(failed())?;
    Ok(true)
}

fn is_controlled_by(child: &impl Resource, site: &Website) -> bool {
    let uid = site.meta().uid.as_deref();
    child
        .owner_references()
        .iter()
        .any(|o| o.controller == Some(true) && Some(o.uid.as_str()) == uid)
}

/// Whether `actual` has everything that `desired` has. It may have more, since the server fills in
/// defaults and others set their own labels. Lists have to be of the same length.
fn covers(actual: &Value, desired: &Value) -> bool {
    match (actual, desired) {
        (Value::Object(actual), Value::Object(desired)) => desired
            .iter()
            .all(|(key, value)| actual.get(key).is_some_and(|found| covers(found, value))),
        (Value::Array(actual), Value::Array(desired)) => {
            actual.len() == desired.len() && actual.iter().zip(desired).all(|(a, d)| covers(a, d))
        }
        _ => actual == desired,
    }
}

/// FNV-1a, 64 bits. It must be the same in every build of the operator, or an update of the
/// operator would restart all pods; the hashes of the standard library do not promise that.
pub fn content_hash(content: &str) -> String {
    let hash = content
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_ignores_what_others_add() {
        let cases = [
            (json!({"a": 1, "b": 2}), json!({"a": 1}), true),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), false),
            (json!({"a": 1}), json!({"a": 2}), false),
            (
                json!([{"name": "web", "default": true}]),
                json!([{"name": "web"}]),
                true,
            ),
            (
                json!([{"name": "web"}, {"name": "sidecar"}]),
                json!([{"name": "web"}]),
                false,
            ),
            (json!({"a": null}), json!({"a": {}}), false),
            (json!("a"), json!("a"), true),
        ];
        for (actual, desired, expected) in cases {
            assert_eq!(
                covers(&actual, &desired),
                expected,
                "{actual} covers {desired}"
            );
        }
    }

    #[test]
    fn content_hash_is_fnv_1a() {
        // Test vectors of the FNV authors.
        assert_eq!(content_hash(""), "cbf29ce484222325");
        assert_eq!(content_hash("a"), "af63dc4c8601ec8c");
        assert_eq!(content_hash("foobar"), "85944171f73967e8");
    }
}
