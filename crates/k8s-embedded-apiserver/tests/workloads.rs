//! What the server makes of manifests of Pods and of what makes Pods: recorded answers of a real server, which the
//! embedded one (and the real one, where there is one) must give again.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use common::both::{Answer, Server, servers};
use serde_json::{Value, json};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/workloads")
        .join(name)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into())
        .collect()
}

/// Where objects of a manifest's kind are.
fn collection(manifest: &Value, namespace: &str) -> String {
    let version = manifest["apiVersion"].as_str().expect("a version");
    let root = if version.contains('/') {
        "/apis"
    } else {
        "/api"
    };
    let kind = manifest["kind"].as_str().expect("a kind").to_lowercase();
    let plural = if kind.ends_with('s') {
        format!("{kind}es")
    } else {
        format!("{kind}s")
    };
    if kind == "priorityclass" {
        return format!("{root}/{version}/{plural}");
    }
    format!("{root}/{version}/namespaces/{namespace}/{plural}")
}

/// The answer without what differs from server to server.
fn plain(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    metadata.remove("managedFields");
    metadata.remove("resourceVersion");
    if metadata.contains_key("namespace") {
        metadata.insert("namespace".into(), "<namespace>".into());
    }
    let uid = metadata["uid"].as_str().expect("a uid").to_owned();
    replace(&mut object, &uid);
    object
}

fn replace(value: &mut Value, uid: &str) {
    match value {
        Value::String(text) if text == uid => *text = "<uid>".into(),
        Value::String(text) if text.parse::<k8s_openapi::jiff::Timestamp>().is_ok() => {
            *text = "<time>".into();
        }
        Value::Array(list) => list.iter_mut().for_each(|item| replace(item, uid)),
        Value::Object(map) => map.values_mut().for_each(|item| replace(item, uid)),
        _ => {}
    }
}

async fn create(server: &Server, namespace: &str, manifest: &Value) -> Answer {
    let path = collection(manifest, namespace);
    let answer = server.post(&path, manifest.clone()).await;
    if manifest["kind"] == "PriorityClass" {
        let name = manifest["metadata"]["name"].as_str().expect("a name");
        server.delete(&format!("{path}/{name}")).await;
    }
    answer
}

#[tokio::test]
async fn manifests_are_answered_as_by_the_real_server() {
    let (manifests, answers) = (folder("manifests"), folder("answers"));
    assert_eq!(names(&manifests), names(&answers));
    for server in servers().await {
        let namespace = server.namespace().await;
        let mut wrong = Vec::new();
        for name in names(&manifests) {
            let text = std::fs::read_to_string(manifests.join(format!("{name}.yaml")));
            let manifest: Value = serde_saphyr::from_str(&text.expect("a manifest")).expect("YAML");
            let text = std::fs::read_to_string(answers.join(format!("{name}.json")));
            let want: Value = serde_json::from_str(&text.expect("an answer")).expect("JSON");
            let answer = create(&server, &namespace, &manifest).await;
            if answer.code != 201 {
                wrong.push(format!("{name}: {}", answer.message()));
                continue;
            }
            let got = json!({"answer": plain(answer.body.clone())});
            let want = json!({"answer": want["answer"]});
            let patch = json_patch::diff(&want, &got);
            if !patch.0.is_empty() {
                wrong.push(format!("{name}: {}", json!(patch)));
            }
        }
        assert!(wrong.is_empty(), "{}:\n{}", server.name, wrong.join("\n"));
    }
}
