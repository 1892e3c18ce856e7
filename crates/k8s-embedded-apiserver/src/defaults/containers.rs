//! Defaults: containers.

use serde_json::{Map, Value, json};

use super::{each, fill, quantities};
use crate::metadata::entry_mut;

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

pub(super) fn container(container: &mut Map<String, Value>) {
    let image = container
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let policy = pull_policy(image);
    fill(container, "imagePullPolicy", json!(policy));
    let resources = entry_mut(container, "resources");
    quantities(resources, "limits");
    quantities(resources, "requests");
    fill(
        container,
        "terminationMessagePath",
        json!("/dev/termination-log"),
    );
    fill(container, "terminationMessagePolicy", json!("File"));
    each(container, "ports", |port| {
        fill(port, "protocol", json!("TCP"));
    });
    each(container, "env", |variable| {
        if let Some(Value::Object(source)) = variable.get_mut("valueFrom") {
            value_source(source);
            if let Some(Value::Object(file)) = source.get_mut("fileKeyRef") {
                fill(file, "optional", json!(false));
            }
        }
    });
    for key in PROBES {
        if let Some(Value::Object(probe)) = container.get_mut(key) {
            self::probe(probe);
        }
    }
    if let Some(Value::Object(lifecycle)) = container.get_mut("lifecycle") {
        for hook in ["postStart", "preStop"] {
            if let Some(Value::Object(hook)) = lifecycle.get_mut(hook) {
                http_get(hook);
            }
        }
    }
}

/// `fieldRef` and `resourceFieldRef` of a variable or of a file.
pub(super) fn value_source(source: &mut Map<String, Value>) {
    if let Some(Value::Object(field)) = source.get_mut("fieldRef") {
        fill(field, "apiVersion", json!("v1"));
    }
    if let Some(Value::Object(resource)) = source.get_mut("resourceFieldRef") {
        fill(resource, "divisor", json!("0"));
        super::quantity(resource, "divisor");
    }
}

fn probe(probe: &mut Map<String, Value>) {
    for (field, seconds) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        if probe.get(field) == Some(&json!(0)) {
            probe.remove(field);
        }
        fill(probe, field, json!(seconds));
    }
    super::drop_zeros(probe, &["initialDelaySeconds"]);
    http_get(probe);
    if let Some(Value::Object(grpc)) = probe.get_mut("grpc") {
        fill(grpc, "service", json!(""));
    }
}

fn http_get(handler: &mut Map<String, Value>) {
    if let Some(Value::Object(get)) = handler.get_mut("httpGet") {
        fill(get, "path", json!("/"));
        fill(get, "scheme", json!("HTTP"));
    }
}

/// Images with the tag `latest`, in words or by having neither tag nor digest, are pulled always.
pub(super) fn pull_policy(image: &str) -> &'static str {
    if tag(image) == Some("latest") {
        "Always"
    } else {
        "IfNotPresent"
    }
}

/// The tag of an image; none of one that has a digest alone, or that is no valid reference.
fn tag(image: &str) -> Option<&str> {
    let (named, digest) = match image.split_once('@') {
        Some((named, digest)) => (named, Some(digest)),
        None => (image, None),
    };
    let slash = named.rfind('/').map_or(0, |at| at + 1);
    let (name, tag) = match named[slash..].split_once(':') {
        Some((_, tag)) => (&named[..named.len() - tag.len() - 1], Some(tag)),
        None => (named, None),
    };
    if !is_repository(name) || tag.is_some_and(|tag| !is_tag(tag)) {
        return None;
    }
    match (tag, digest) {
        (None, None) => Some("latest"),
        (tag, _) => tag,
    }
}

fn is_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= 128
        && tag.starts_with(word)
        && tag.chars().all(|c| word(c) || c == '.' || c == '-')
}

/// The longest path of an image, in bytes.
const MAX_PATH: usize = 255;

/// `[domain/]path[/path...]`, of which only the domain may have capitals.
fn is_repository(name: &str) -> bool {
    let path = match name.split_once('/') {
        Some((domain, path))
            if domain.contains(['.', ':'])
                || domain == "localhost"
                || domain.chars().any(|c| c.is_ascii_uppercase()) =>
        {
            path
        }
        _ => name,
    };
    // An image without a place is one of the library.
    let length = path.len()
        + if name.contains('/') {
            0
        } else {
            "library/".len()
        };
    if length > MAX_PATH {
        return false;
    }
    let id = name.len() == 64 && name.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    !id && path.split('/').all(|part| {
        let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.starts_with(letter)
            && part.ends_with(letter)
            && part
                .chars()
                .all(|c| letter(c) || matches!(c, '.' | '_' | '-'))
    })
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn images() {
        for (image, policy) in [
            ("img", "Always"),
            ("img:latest", "Always"),
            ("img:1", "IfNotPresent"),
            ("localhost:5000/img", "Always"),
            ("localhost:5000/img:1", "IfNotPresent"),
            ("a.b/c/d:latest@sha256:00", "Always"),
            ("img@sha256:00", "IfNotPresent"),
            ("Img", "IfNotPresent"),
            ("IMG.io/img", "Always"),
            ("", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
