//! What the server makes of manifests and changes of every kind but workloads: recorded answers of a real server,
//! which the embedded one (and the real one, where there is one) must give again.
//!
//! `K8S_CONTROLLER_RECORD=1` with a real server writes its answers anew.

mod common;

use std::path::{Path, PathBuf};

use common::both::{Answer, Server, servers};
use serde_json::{Map, Value, json};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const MERGE: &str = "application/merge-patch+json";

/// Steps whose answers still differ, by file and index: the embedded server is not asked to give them.
const DIFFERS: &[(&str, &[usize])] = &[
    // A namespace has a service account of the name `default`, as a whole control plane makes it.
    ("accounts", &[3]),
    // Requests for certificates are not validated.
    ("certificates", &[0, 1]),
    // Null groups of data sources, the difference in the message, and the refusal to resize a claim.
    ("claims", &[5, 7, 10, 11, 14, 15, 17]),
    // The order of members in a printed value, and the version in a storage error.
    ("config", &[8, 13]),
    // Null times of conditions; `finalize` takes the metadata that it is sent.
    ("namespace", &[5, 7]),
    // An empty list of rules is not told from none.
    ("networkpolicy", &[4, 5]),
    // Null times of conditions, and roles by another label.
    ("nodes", &[1, 8, 10]),
    // Amounts of an overhead are shown as they were sent.
    ("runtime", &[0]),
    // Certificates are not read.
    ("secret", &[2]),
    // The time of the last phase, and the difference in the message.
    ("volumes", &[0, 5, 8, 10, 12]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kinds")
}

/// Puts the namespace and a word for cluster-scoped names in their places.
fn filled(value: &Value, word: &str) -> Value {
    match value {
        Value::String(text) => text
            .replace("{ns}", word)
            .replace("{u}", word)
            .replace("{U}", &word.to_uppercase())
            .into(),
        Value::Array(list) => list.iter().map(|item| filled(item, word)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let key = filled(&json!(key), word);
                (key.as_str().unwrap_or_default().into(), filled(value, word))
            })
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// The answer without what differs from server to server.
fn plain(value: &Value, word: &str) -> Value {
    match value {
        Value::String(text) => plain_text(text, word).into(),
        Value::Number(number) if number.as_u64().is_some_and(is_chosen_port) => json!("<port>"),
        Value::Array(list) => list.iter().map(|item| plain(item, word)).collect(),
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "managedFields" | "resourceVersion"))
            .map(|(key, value)| (plain_text(key, word), plain(value, word)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// Ports of nodes below this one are taken by who asks for them alone.
fn is_chosen_port(port: u64) -> bool {
    (30_086..32_767).contains(&port)
}

fn plain_text(text: &str, word: &str) -> String {
    let text = text
        .replace(&word.to_uppercase(), "<NS>")
        .replace(word, "<ns>");
    if is_age(&text) {
        return "<age>".into();
    }
    let mut out = String::with_capacity(text.len());
    let mut token = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':') {
            token.push(c);
            continue;
        }
        out.push_str(&plain_token(&token));
        token.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

fn is_age(text: &str) -> bool {
    let mut digits = false;
    for c in text.chars() {
        match c {
            '0'..='9' => digits = true,
            's' | 'm' | 'h' | 'd' if digits => digits = false,
            _ => return false,
        }
    }
    !text.is_empty() && !digits
}

fn plain_token(token: &str) -> String {
    let bytes = token.as_bytes();
    let is_uid = bytes.len() == 36
        && [8, 13, 18, 23].iter().all(|dash| bytes[*dash] == b'-')
        && bytes[14] == b'4';
    let is_time = token.len() == 20 && token.starts_with("20") && token.ends_with('Z');
    let host = token
        .strip_prefix("10.0.0.")
        .and_then(|host| host.parse::<u8>().ok());
    if is_uid {
        "<uid>".into()
    } else if is_time && token > "2020" && token != "2026-01-01T00:00:00Z" {
        "<time>".into()
    } else if host.is_some_and(|host| host >= 17) {
        "<ip>".into()
    } else if let Some((port, rest)) = token.split_once(':')
        && rest.parse().is_ok_and(is_chosen_port)
    {
        format!("{port}:<port>")
    } else {
        token.into()
    }
}

/// What is compared of an answer.
fn recorded(answer: &Answer, table: bool, word: &str) -> Value {
    let mut body = plain(&answer.body, word);
    if table {
        let cells = |row: &Value| row["cells"].clone();
        let heads = body["columnDefinitions"].as_array().cloned();
        let columns: Vec<Value> = heads
            .unwrap_or_default()
            .iter()
            .map(|head| json!([head["name"], head["type"], head["format"], head["priority"]]))
            .collect();
        let rows = body["rows"].as_array().cloned().unwrap_or_default();
        body = json!({"columns": columns, "rows": rows.iter().map(cells).collect::<Vec<_>>()});
    }
    let mut all = json!({"code": answer.code, "body": body});
    let warnings = answer.headers.get_all("warning").into_iter();
    let warnings: Vec<String> = warnings
        .filter_map(|value| value.to_str().ok())
        .map(|text| plain_text(text, word))
        .collect();
    if !warnings.is_empty() {
        all["warnings"] = warnings.into();
    }
    all
}

async fn step(server: &Server, step: &Value, word: &str) -> Value {
    let text = |key: &str| step[key].as_str().unwrap_or_default();
    let path = filled(&step["path"], word);
    let path = path.as_str().unwrap_or_default().replace(' ', "%20");
    let mut body = filled(&step["body"], word);
    if step["current"] == true {
        let found = server.get(&path).await.body;
        body["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"].clone();
    }
    let table = step["table"] == true;
    let content_type = match text("method") {
        "PATCH" => MERGE,
        _ => "application/json",
    };
    let accept = if table { TABLE } else { "application/json" };
    let headers = [("content-type", content_type), ("accept", accept)];
    let answer = server.request(text("method"), &path, &headers, body).await;
    recorded(&answer, table, word)
}

fn differs(file: &str, index: usize) -> bool {
    let found = DIFFERS.iter().find(|(name, _)| *name == file);
    found.is_some_and(|(_, steps)| steps.contains(&index))
}

/// A real server checks the members of a map in any order, and so tells the causes of a refusal in any.
fn is_wanted(server: &str, got: &Value, want: &Value) -> bool {
    got == want || (server == "real" && in_order(got) == in_order(want))
}

/// The answer with the causes in order, and without the message that lists them.
fn in_order(answer: &Value) -> Value {
    let mut answer = answer.clone();
    let causes = answer.pointer_mut("/body/details/causes");
    let Some(causes) = causes.and_then(Value::as_array_mut) else {
        return answer;
    };
    causes.sort_by_key(ToString::to_string);
    if let Some(Value::String(message)) = answer.pointer_mut("/body/message")
        && let Some((start, _)) = message.split_once(": [")
    {
        *message = start.to_owned();
    }
    answer
}

#[tokio::test]
async fn answers_are_those_of_a_real_server() {
    let record = std::env::var_os("K8S_CONTROLLER_RECORD").is_some();
    let mut wrong = Vec::new();
    let mut compared = 0;
    let entries = std::fs::read_dir(folder()).expect("a folder");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    for server in servers().await {
        for file in &files {
            let name = file
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let text = std::fs::read_to_string(file).expect("a file");
            let mut steps: Vec<Value> = serde_json::from_str(&text).expect("steps");
            let word = server.namespace().await;
            for (index, one) in steps.iter_mut().enumerate() {
                let got = step(&server, one, &word).await;
                if record && server.name == "real" {
                    one["answer"] = got;
                } else if !is_wanted(server.name, &got, &one["answer"])
                    && (server.name == "real" || !differs(&name, index))
                {
                    wrong.push(format!(
                        "{} {name}[{index}]\n  want {}\n  got  {got}",
                        server.name, one["answer"]
                    ));
                }
                compared += 1;
            }
            for one in &steps {
                let cluster = !one["path"].as_str().unwrap_or_default().contains("{ns}");
                let name = one["body"]["metadata"]["name"].clone();
                if cluster && one["method"] == "POST" && name.is_string() {
                    let path = format!(
                        "{}/{}",
                        one["path"].as_str().unwrap_or_default(),
                        name.as_str().unwrap_or_default()
                    );
                    let path = filled(&json!(path), &word);
                    server.delete(path.as_str().unwrap_or_default()).await;
                }
            }
            server.delete(&format!("/api/v1/namespaces/{word}")).await;
            if record && server.name == "real" {
                let lines: Vec<String> = steps.iter().map(ToString::to_string).collect();
                let text = format!("[\n{}\n]\n", lines.join(",\n"));
                std::fs::write(file, text).expect("written");
            }
        }
    }
    assert!(compared > 200, "only {compared} steps");
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
