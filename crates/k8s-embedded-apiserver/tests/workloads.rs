//! What the server makes of manifests of Pods and of what makes Pods: recorded answers of a real server, which the
//! embedded one (and the real one, where there is one) must give again.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

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
            let mut got = json!({"answer": plain(answer.body.clone())});
            if !answer.warnings().is_empty() {
                got["warnings"] = json!(answer.warnings());
            }
            let patch = json_patch::diff(&want, &got);
            if !patch.0.is_empty() {
                wrong.push(format!("{name}: {}", json!(patch)));
            }
        }
        assert!(wrong.is_empty(), "{}:\n{}", server.name, wrong.join("\n"));
    }
}

/// RFC 7386.
fn merge(into: &mut Value, patch: &Value) {
    json_patch::merge(into, patch);
}

/// What a server says to one case: its code, message, and the fields and reasons of the causes.
async fn refusal(server: &Server, namespace: &str, index: usize, case: &Value) -> Value {
    let base = case["base"].as_str().expect("a manifest");
    let text = std::fs::read_to_string(folder("manifests").join(format!("{base}.yaml")));
    let mut manifest: Value = serde_saphyr::from_str(&text.expect("a manifest")).expect("YAML");
    if let Some(patch) = case.get("merge") {
        merge(&mut manifest, patch);
    }
    let path = collection(&manifest, namespace);
    let mut uid = String::new();
    let answer = match case.get("then") {
        None => server.post(&path, manifest).await,
        Some(change) => {
            let name = format!("{base}-{index}");
            manifest["metadata"]["name"] = json!(name);
            let made = server.post(&path, manifest).await;
            assert_eq!(made.code, 201, "{base}: {}", made.body);
            uid = made.body["metadata"]["uid"].as_str().expect("a uid").into();
            let path = format!("{path}/{name}");
            let kind = "application/merge-patch+json";
            server.patch(&path, kind, change.clone()).await
        }
    };
    let causes = answer
        .body
        .pointer("/details/causes")
        .cloned()
        .unwrap_or_default();
    let causes: Vec<Value> = causes
        .as_array()
        .into_iter()
        .flatten()
        .map(|cause| json!([cause.get("field"), cause["reason"]]))
        .collect();
    // The diff that follows is not compared.
    let mut message = shown(answer.message());
    if !uid.is_empty() {
        message = message.replace(&uid, "<uid>");
    }
    json!({"code": answer.code, "reason": answer.body["reason"], "causes": causes, "message": without_uids(&message)})
}

/// A message without the diff that may follow.
fn shown(message: &str) -> String {
    message
        .split("\n@@")
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_owned()
}

/// A text with `<uid>` for everything that looks like a uid.
fn without_uids(text: &str) -> String {
    let hex = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    };
    let (mut out, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let is_uid = |part: &str| hex(part) && part.matches('-').count() == 4;
        if rest.get(..36).is_some_and(is_uid) {
            out.push_str("<uid>");
            rest = &rest[36..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

#[tokio::test]
async fn what_the_real_server_refuses_is_refused_in_the_same_words() {
    let read = |name| std::fs::read_to_string(folder(name)).expect("a file");
    let cases: Vec<Value> = serde_saphyr::from_str(&read("refusals.yaml")).expect("YAML");
    let wanted: Vec<Value> = serde_json::from_str(&read("refusals.json")).expect("JSON");
    assert_eq!(cases.len(), wanted.len());
    for server in servers().await {
        let namespace = server.namespace().await;
        let mut wrong = Vec::new();
        for (index, (case, want)) in cases.iter().zip(&wanted).enumerate() {
            let got = refusal(&server, &namespace, index, case).await;
            let mut want = want.clone();
            want["message"] = json!(shown(want["message"].as_str().unwrap_or_default()));
            if got != want {
                wrong.push(format!("{index} {case}\n want {want}\n got  {got}"));
            }
        }
        assert!(
            wrong.is_empty(),
            "{}: {} wrong\n{}",
            server.name,
            wrong.len(),
            wrong.join("\n")
        );
    }
}
