//! What an administrator applies to a cluster to deploy the operator, as YAML.

mod access;
mod workload;

use kube::CustomResourceExt;
use serde::Serialize;
use serde_json::{Value, json};
use serde_saphyr::ser::Error as SerializeError;

use crate::hosts::{HOSTS, NAMESPACE};
use crate::samples::samples;
use crate::website::Website;

/// The name of all that the operator itself needs.
pub const NAME: &str = "website";

/// Everything, in an order in which it can be applied.
pub fn yaml(image: &str) -> Result<String, SerializeError> {
    let mut text = "# Deploys the operator for Websites: kubectl apply --filename FILE\n\
                    # Made by the command `website manifests`; change that instead.\n"
        .to_owned();
    text.push_str(&document(&namespace())?);
    text.push_str(&document(&Website::crd())?);
    let objects = [vec![hosts()], access::objects(), workload::objects(image)];
    for object in objects.concat() {
        text.push_str(&document(&object)?);
    }
    Ok(text)
}

/// The Websites of [`samples`].
pub fn samples_yaml() -> Result<String, SerializeError> {
    samples().iter().map(document).collect()
}

fn document(object: &impl Serialize) -> Result<String, SerializeError> {
    Ok(format!("---\n{}", serde_saphyr::to_string(object)?))
}

fn namespace() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": NAMESPACE,
            "labels": {
                // Refuses pods that can do more than they should, and warns of what makes such.
                "pod-security.kubernetes.io/enforce": "restricted",
                "pod-security.kubernetes.io/warn": "restricted",
            },
        },
    })
}

/// The shared ConfigMap, without `data`: that is the operator's, and stays when this is applied
/// again.
fn hosts() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(HOSTS),
    })
}

/// Of an object in the operator's namespace.
fn metadata(name: &str) -> Value {
    json!({ "name": name, "namespace": NAMESPACE, "labels": labels() })
}

/// Of an object in no namespace.
fn cluster_metadata(name: &str) -> Value {
    json!({ "name": name, "labels": labels() })
}

/// Not those of the objects that the operator makes for Websites.
fn labels() -> Value {
    json!({ "app.kubernetes.io/name": "website-operator" })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

    use super::*;

    const IMAGE: &str = "website:dev";

    fn documents() -> Vec<String> {
        let yaml = yaml(IMAGE).unwrap();
        yaml.split("---\n").skip(1).map(str::to_owned).collect()
    }

    fn find(kind: &str) -> Value {
        let read = |text: &String| serde_saphyr::from_str::<Value>(text).unwrap();
        let mut objects = documents().iter().map(read).collect::<Vec<_>>();
        objects.retain(|object| object["kind"] == kind);
        assert_eq!(objects.len(), 1, "{kind}");
        objects.remove(0)
    }

    #[test]
    fn the_files_are_what_is_printed() {
        let what = |command| format!("expected what `website {command}` prints");
        let file = include_str!("../deploy/website.yaml");
        assert!(file == yaml(IMAGE).unwrap(), "{}", what("manifests"));
        let file = include_str!("../deploy/samples.yaml");
        assert!(file == samples_yaml().unwrap(), "{}", what("samples"));
    }

    #[test]
    fn each_document_reads_back() {
        let documents = documents();
        assert_eq!(documents.len(), 11);
        for text in documents {
            let object: Value = serde_saphyr::from_str(&text).unwrap();
            assert!(object["metadata"]["name"].is_string(), "{text}");
        }
    }

    #[test]
    fn references_lead_somewhere() {
        for (binding, role) in [
            ("ClusterRoleBinding", "ClusterRole"),
            ("RoleBinding", "Role"),
        ] {
            let binding = find(binding);
            assert_eq!(binding["roleRef"]["kind"], role);
            assert_eq!(binding["roleRef"]["name"], find(role)["metadata"]["name"]);
            let (subject, account) = (&binding["subjects"][0], find("ServiceAccount"));
            assert_eq!(subject["name"], account["metadata"]["name"]);
            assert_eq!(subject["namespace"], account["metadata"]["namespace"]);
        }
        let deployment: Deployment = serde_json::from_value(find("Deployment")).unwrap();
        let spec = deployment.spec;
        let pod = spec.template.spec.unwrap();
        assert_eq!(pod.service_account_name.as_deref(), Some(NAME));
        let labels = spec.template.metadata.unwrap().labels.unwrap();
        assert_eq!(spec.selector.match_labels.unwrap(), labels);
        let labels = serde_json::to_value(labels).unwrap();
        let budget = &find("PodDisruptionBudget")["spec"]["selector"]["matchLabels"];
        assert_eq!(*budget, labels);
        let service = find("Service");
        assert_eq!(service["spec"]["selector"], labels);

        let container = &pod.containers[0];
        let port = &container.ports.as_ref().unwrap()[0];
        let target = service["spec"]["ports"][0]["targetPort"].as_str();
        assert_eq!(target, port.name.as_deref());
        for probe in [&container.liveness_probe, &container.readiness_probe] {
            let http = probe.as_ref().unwrap().http_get.as_ref().unwrap();
            assert_eq!(http.port, IntOrString::String(port.name.clone().unwrap()));
        }
    }

    /// The words that the container is started with are flags, and its passes may end before it is
    /// killed.
    #[test]
    fn the_pod_starts_an_operator_that_can_stop_in_time() {
        use clap::Parser as _;

        use crate::flags::{Command, Options};

        let deployment: Deployment = serde_json::from_value(find("Deployment")).unwrap();
        let pod = deployment.spec.template.spec.unwrap();
        let words = pod.containers[0].args.clone().unwrap();
        let words = ["website".to_owned()].into_iter().chain(words);
        let Some(Command::Run(run)) = Options::parse_from(words).command else {
            panic!("expected the command run");
        };
        assert!(run.election.leader_elect);
        let port = pod.containers[0].ports.as_ref().unwrap()[0].container_port;
        assert_eq!(i32::from(run.admin.address.unwrap().port()), port);
        let killed_after = pod.termination_grace_period_seconds.unwrap();
        assert!(run.stop_deadline.as_secs() < u64::try_from(killed_after).unwrap());
    }
}
