//! `--print-manifests`: what an administrator applies to a cluster, as YAML.

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use kube::CustomResourceExt;
use kube::api::ObjectMeta;
use serde::Serialize;
use serde_saphyr::ser::Error as SerializeError;

use crate::hosts::NAMESPACE;
use crate::setup;
use crate::website::{Website, WebsiteSpec};

const NAME: &str = "website-operator";

/// The kind, what the operator needs, what it may do, and Websites to try it with.
pub fn yaml() -> Result<String, SerializeError> {
    let mut documents = vec![
        document(&Website::crd())?,
        document(&setup::namespace(NAMESPACE))?,
        document(&setup::hosts())?,
        document(&service_account())?,
        document(&cluster_role())?,
        document(&binding())?,
    ];
    for site in samples() {
        documents.push(document(&site)?);
    }
    Ok(documents.concat())
}

/// Websites to try the operator with: two good ones, one that wants the host of the first, and an
/// invalid one.
pub fn samples() -> [Website; 4] {
    let site = |name: &str, host: &str, replicas| {
        let content = format!("<h1>Welcome to {name}</h1>");
        let mut site = Website::new(
            name,
            WebsiteSpec {
                content,
                replicas,
                host: host.into(),
            },
        );
        site.metadata.namespace = Some("default".into());
        site
    };
    [
        site("bakery", "bread.example.com", 2),
        site("cinema", "cinema.example.com", 1),
        site("rival", "bread.example.com", 1),
        site("below-zero", "below-zero.example.com", -1),
    ]
}

fn document(object: &impl Serialize) -> Result<String, SerializeError> {
    Ok(format!("---\n{}", serde_saphyr::to_string(object)?))
}

fn service_account() -> ServiceAccount {
    ServiceAccount {
        metadata: named(Some(NAMESPACE)),
        ..ServiceAccount::default()
    }
}

fn cluster_role() -> ClusterRole {
    let rules = vec![
        rule(
            "example.dev",
            "websites",
            &["get", "list", "watch", "patch"],
        ),
        rule("example.dev", "websites/status", &["patch"]),
        // Needed to name a Website as an owner where the admission plugin
        // OwnerReferencesPermissionEnforcement is on.
        rule("example.dev", "websites/finalizers", &["update"]),
        rule(
            "",
            "configmaps",
            &["get", "list", "watch", "create", "update", "patch"],
        ),
        rule(
            "apps",
            "deployments",
            &["get", "list", "watch", "create", "patch"],
        ),
        rule("events.k8s.io", "events", &["create", "patch"]),
        // Only for a program that installs what is missing, as this one does.
        rule("", "namespaces", &["create"]),
        rule(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            &["get", "list", "watch", "create", "patch"],
        ),
    ];
    ClusterRole {
        metadata: named(None),
        rules: Some(rules),
        ..ClusterRole::default()
    }
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.into()]),
        resources: Some(vec![resource.into()]),
        verbs: verbs.iter().map(|verb| (*verb).into()).collect(),
        ..PolicyRule::default()
    }
}

fn binding() -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: named(None),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "ClusterRole".into(),
            name: NAME.into(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".into(),
            name: NAME.into(),
            namespace: Some(NAMESPACE.into()),
            ..Subject::default()
        }]),
    }
}

fn named(namespace: Option<&str>) -> ObjectMeta {
    ObjectMeta {
        name: Some(NAME.into()),
        namespace: namespace.map(Into::into),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::hosts::HOSTS;

    #[test]
    fn manifests_are_yaml_that_reads_back() {
        let yaml = yaml().unwrap();
        let documents: Vec<&str> = yaml.split("---\n").skip(1).collect();
        assert_eq!(documents.len(), 10);
        let map: ConfigMap = serde_saphyr::from_str(documents[2]).unwrap();
        assert_eq!(map.metadata.name.as_deref(), Some(HOSTS));
        let site: Website = serde_saphyr::from_str(documents[6]).unwrap();
        assert_eq!(site.spec, samples()[0].spec);
    }
}
