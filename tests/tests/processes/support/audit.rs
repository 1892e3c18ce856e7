//! The audit log of kube-apiserver: which account asked for what, and when.

use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::Value;

/// One answered request.
#[derive(Clone)]
pub(crate) struct Request {
    /// When the server got it: RFC 3339 in UTC with microseconds, so that text order is time order.
    pub received: String,
    pub verb: String,
    /// `resource/subresource namespace/name`.
    pub object: String,
    pub resource: String,
    pub code: u64,
}

/// Short, since many of them are shown at once.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            received,
            verb,
            object,
            code,
            ..
        } = self;
        write!(f, "{received} {verb} {object}: {code}")
    }
}

impl Request {
    pub(crate) fn is_write(&self) -> bool {
        ["create", "update", "patch", "delete", "deletecollection"].contains(&self.verb.as_str())
    }

    pub(crate) fn is_accepted(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

/// The requests of one account, in the order in which the server got them.
pub(crate) fn requests_of(log: &Path, user: &str) -> Vec<Request> {
    let quoted = format!("\"username\":\"{user}\"");
    let mut reader = BufReader::new(File::open(log).unwrap());
    let mut requests = Vec::new();
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 0 {
        // The last one may be half written.
        if line.ends_with('\n') && line.contains(&quoted) {
            requests.extend(parse(&line));
        }
        line.clear();
    }
    requests.sort_by(|a, b| a.received.cmp(&b.received));
    requests
}

/// `None` for the begin of a watch, whose end is logged too.
fn parse(line: &str) -> Option<Request> {
    let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    if event["stage"] == "ResponseStarted" {
        return None;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = &event["objectRef"];
    let resource = text(&about["resource"]);
    let subresource = about["subresource"].as_str();
    let subresource = subresource.map_or(String::new(), |name| format!("/{name}"));
    Some(Request {
        received: text(&event["requestReceivedTimestamp"]),
        verb: text(&event["verb"]),
        object: format!(
            "{resource}{subresource} {}/{}",
            text(&about["namespace"]),
            text(&about["name"])
        ),
        resource,
        code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
    })
}
