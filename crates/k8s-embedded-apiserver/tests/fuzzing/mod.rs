//! Requests, and how they are mutated.

mod corpus;

use std::fmt;

use bytes::Bytes;
use http_body_util::Full;
use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use serde_json::{Value, json};

pub(crate) use corpus::{corpus, setup};

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?} ", self.method, self.path, self.headers)?;
        match std::str::from_utf8(&self.body) {
            Ok(text) if text.len() < 4000 => f.write_str(text),
            _ => write!(f, "{} bytes", self.body.len()),
        }
    }
}

impl Request {
    pub(crate) fn new(
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<Vec<u8>>,
    ) -> Self {
        let mut headers = Vec::new();
        if !content_type.is_empty() {
            headers.push(("content-type".into(), content_type.into()));
        }
        Self {
            method: method.into(),
            path: path.into(),
            headers,
            body: body.into(),
        }
    }

    /// None, if HTTP has no words for it.
    pub(crate) fn http(&self) -> Option<http::Request<Full<Bytes>>> {
        let mut request = http::Request::builder()
            .method(self.method.as_str())
            .uri(self.path.as_str());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(self.body.clone().into())).ok()
    }
}

const METHODS: [&str; 9] = [
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "BREW",
];

const SEGMENTS: [&str; 30] = [
    "",
    ".",
    "..",
    "api",
    "apis",
    "v1",
    "v9",
    "apps",
    "namespaces",
    "default",
    "watch",
    "proxy",
    "status",
    "scale",
    "finalize",
    "binding",
    "eviction",
    "token",
    "configmaps",
    "pods",
    "widgets",
    "%2F",
    "%00",
    "%ff",
    "%C3%A4",
    "a",
    "events",
    "openapi",
    "v3",
    "deployments",
];

const QUERIES: [&str; 42] = [
    "watch=true",
    "watch=maybe",
    "watch",
    "limit=1",
    "limit=-1",
    "limit=99999999999999999999",
    "continue=nonsense",
    "continue=",
    "resourceVersion=0",
    "resourceVersion=1",
    "resourceVersion=18446744073709551615",
    "resourceVersion=-1",
    "resourceVersion=x",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=NotOlderThan",
    "resourceVersionMatch=x",
    "sendInitialEvents=true",
    "allowWatchBookmarks=true",
    "timeoutSeconds=0",
    "timeoutSeconds=9223372036854775807",
    "labelSelector=a%3Db",
    "labelSelector=a+in+(",
    "labelSelector=%00",
    "fieldSelector=metadata.name%3Da",
    "fieldSelector=%3D%3D",
    "dryRun=All",
    "dryRun=x",
    "fieldValidation=Strict",
    "fieldValidation=x",
    "fieldManager=fuzz",
    "force=true",
    "fieldManager=%01",
    "pretty=true",
    "propagationPolicy=Foreground",
    "gracePeriodSeconds=-5",
    "includeObject=Object",
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0",
    "timeout=-1s",
    "limit=1&limit=x",
    "%zz=%",
    "labelSelector=a+in+(b,,c),!d,e%3E5",
];

const MEDIA: [&str; 19] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/plain",
    "*/*",
    "",
    ";;;",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "application/json;stream=watch;charset=utf-8",
    "APPLICATION/JSON; charset=\"utf-8",
    "application/apply-patch+cbor",
    "application/yaml;q=0.1,*/*;q=0.9;as=Table",
    "application/vnd.kubernetes.protobuf;stream=watch",
];

const HEADERS: [(&str, &str); 10] = [
    ("accept-encoding", "gzip"),
    ("accept-encoding", "gzip;q=0, identity"),
    ("authorization", "Bearer x"),
    ("authorization", "Basic \u{7f}"),
    ("impersonate-user", "jane"),
    ("impersonate-group", "people"),
    ("impersonate-extra-%", "x"),
    ("user-agent", "curl/8"),
    ("audit-id", ""),
    ("if-none-match", "\"x\""),
];

/// Changes one thing.
pub(crate) fn mutate(request: &mut Request, corpus: &[Request], rng: &mut StdRng) {
    match rng.random_range(0..14) {
        0 => request.method = pick(&METHODS, rng).to_string(),
        1 => segment(request, rng),
        2 | 3 => {
            let joint = if request.path.contains('?') { '&' } else { '?' };
            request.path.push(joint);
            request.path.push_str(pick(&QUERIES, rng));
        }
        4 => header(request, "content-type", pick(&MEDIA, rng)),
        5 => header(request, "accept", pick(&MEDIA, rng)),
        6 => {
            let (name, value) = pick(&HEADERS, rng);
            request.headers.push((name.into(), value.into()));
        }
        7 => bytes(&mut request.body, rng),
        // The body of another request: of another kind, or of another verb.
        8 => request
            .body
            .clone_from(&corpus[rng.random_range(0..corpus.len())].body),
        _ => tree(&mut request.body, rng),
    }
}

fn pick<T: Clone>(from: &[T], rng: &mut StdRng) -> T {
    from.choose(rng).unwrap().clone()
}

fn header(request: &mut Request, name: &str, value: &str) {
    request.headers.retain(|(found, _)| found != name);
    request.headers.push((name.into(), value.into()));
}

fn segment(request: &mut Request, rng: &mut StdRng) {
    let (path, query) = match request.path.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (request.path.clone(), None),
    };
    let mut segments: Vec<&str> = path.split('/').collect();
    let at = rng.random_range(0..segments.len());
    match rng.random_range(0..3) {
        0 => segments[at] = pick(&SEGMENTS, rng),
        1 => segments.insert(at, pick(&SEGMENTS, rng)),
        _ => drop(segments.remove(at)),
    }
    request.path = format!("/{}", segments.join("/").trim_start_matches('/'));
    if let Some(query) = query {
        request.path = format!("{}?{query}", request.path);
    }
}

/// What means something in JSON, in YAML or in protobuf.
const PARTS: [&str; 22] = [
    "\u{feff}",
    "\0",
    "\t",
    "\n---\n",
    "\n...\n",
    "&a ",
    "*a",
    "<<: ",
    "!!binary ",
    "!!int ",
    "? ",
    "- ",
    "{",
    "[",
    "\"",
    "\\ud800",
    "1e999",
    ".nan",
    "k8s\0",
    "\u{7f}\u{7f}",
    "#",
    "|9\n",
];

fn bytes(body: &mut Vec<u8>, rng: &mut StdRng) {
    let at = rng.random_range(0..=body.len());
    match rng.random_range(0..7) {
        0 => body.truncate(at),
        1 => body.insert(at, rng.random()),
        2 if at < body.len() => body[at] = rng.random(),
        3 => {
            let tail = body[at..].to_vec();
            body.extend(tail);
        }
        4 => {
            let part = pick(&PARTS, rng);
            body.splice(at..at, part.bytes());
        }
        // Nested deeper than anybody reads.
        _ => *body = [b"[".repeat(20_000), b"]".repeat(20_000)].concat(),
    }
}

/// Changes a member of a JSON body, deep inside.
fn tree(body: &mut Vec<u8>, rng: &mut StdRng) {
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else {
        return bytes(body, rng);
    };
    let mut pointers = Vec::new();
    pointers_of(&value, String::new(), &mut pointers);
    let pointer = pick(&pointers, rng);
    let Some(found) = value.pointer_mut(&pointer) else {
        return;
    };
    match (rng.random_range(0..4), found) {
        (0, Value::Object(map)) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            if let Some(key) = keys.choose(rng) {
                map.remove(key);
            }
        }
        (1, Value::Object(map)) => {
            map.insert(odd_text(rng), odd(rng));
        }
        (0, Value::Array(list)) => {
            list.pop();
        }
        (1, Value::Array(list)) => {
            let again = list.first().cloned().unwrap_or(Value::Null);
            list.push(again);
        }
        (_, found) => *found = odd(rng),
    }
    *body = value.to_string().into_bytes();
}

fn pointers_of(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers_of(inner, format!("{at}/{key}"), pointers);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                pointers_of(inner, format!("{at}/{index}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(at);
}

const TEXTS: [&str; 34] = [
    "",
    " ",
    "a",
    "default",
    "metadata",
    "name",
    "\u{0}",
    "ä€😀",
    "-",
    "A_B",
    "1Ki",
    "100m",
    "1e30",
    "-1",
    "10.0.0.1",
    "::1",
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000000Z",
    "* * * * *",
    "$patch",
    "$setElementOrder/containers",
    "f:metadata",
    "k:{\"name\":\"a\"}",
    ".",
    "self.x > 0",
    "18446744073709551616",
    "self.all(x, self.all(y, self.all(z, x == y && y == z)))",
    "'%.70000f'.format([1.0]) == self.mode.replace('', self.mode)",
    "((a+)+)+$",
    "(a{1000}){1000}",
    "{.spec[?(@.n == 1)].list[*].name}",
    "0777",
    "%YAML 1.1",
    "..",
];

fn odd_text(rng: &mut StdRng) -> String {
    match rng.random_range(0..8) {
        0 => "x".repeat(rng.random_range(60..300)),
        _ => pick(&TEXTS, rng).to_owned(),
    }
}

/// A value that is mostly out of place.
fn odd(rng: &mut StdRng) -> Value {
    match rng.random_range(0..12) {
        0 => Value::Null,
        1 => json!(rng.random::<bool>()),
        2 => json!(rng.random_range(-2..70_000)),
        3 => json!(i64::MIN),
        4 => json!(u64::MAX),
        5 => json!(1.5e300),
        6 => json!([]),
        7 => json!({}),
        8 => json!([odd_text(rng), null, {}]),
        9 => json!({odd_text(rng): odd_text(rng)}),
        _ => odd_text(rng).into(),
    }
}
