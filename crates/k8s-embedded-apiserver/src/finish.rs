//! What every answer has whatever it is about: headers that clients read, and the form that people read.

use bytes::{BufMut, Bytes, BytesMut};
use form_urlencoded::parse;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue,
    USER_AGENT, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body::Body as _;

use crate::ApiBody;

/// Names a request in the log of the server; a client may choose it.
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Programs of people, as a real server knows them by the start of their `User-Agent`.
const PEOPLE: [&[u8]; 3] = [b"curl", b"Wget", b"Mozilla/5.0"];

/// What a request says about the outside of its answer.
#[derive(Debug)]
pub(crate) struct Finish {
    indented: bool,
    without_body: bool,
    audit_id: Option<HeaderValue>,
}

impl Finish {
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        Self {
            indented: is_for_people(request.uri(), request.headers()),
            without_body: request.method() == Method::HEAD,
            audit_id: request.headers().get(AUDIT_ID).cloned(),
        }
    }

    /// Completes an answer; `audit_id` makes one up.
    pub(crate) fn apply(
        self,
        mut response: Response<ApiBody>,
        audit_id: impl FnOnce() -> String,
    ) -> Response<ApiBody> {
        if self.indented && is_json(response.headers()) {
            let body = std::mem::take(response.body_mut());
            *response.body_mut() = body.map_full(|bytes| indented(&bytes));
        }
        if self.without_body {
            if let Some(length) = response.body().size_hint().exact() {
                response.headers_mut().insert(CONTENT_LENGTH, length.into());
            }
            *response.body_mut() = ApiBody::default();
        }
        let audit_id = self
            .audit_id
            .or_else(|| HeaderValue::from_maybe_shared(Bytes::from(audit_id())).ok());
        let headers = response.headers_mut();
        if let Some(audit_id) = audit_id {
            headers.insert(AUDIT_ID, audit_id);
        }
        headers
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-cache, private"));
        if headers
            .get(CONTENT_TYPE)
            .is_some_and(|found| found == "text/plain; charset=utf-8")
        {
            headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        }
        response
    }
}

/// Whether the answer shall be indented: the query says so or, if it does not say, the program is one of people.
fn is_for_people(uri: &Uri, headers: &HeaderMap) -> bool {
    let asked = uri.query().and_then(|query| {
        let found = parse(query.as_bytes()).find(|(key, _)| key == "pretty")?.1;
        (!found.is_empty()).then_some(found)
    });
    match asked {
        Some(asked) => matches!(&*asked, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        None => headers.get(USER_AGENT).is_some_and(|agent| {
            PEOPLE
                .iter()
                .any(|start| agent.as_bytes().starts_with(start))
        }),
    }
}

/// Whether the body is JSON as it is, not compressed.
fn is_json(headers: &HeaderMap) -> bool {
    let media = headers
        .get(CONTENT_TYPE)
        .map_or(&b""[..], |found| found.as_bytes());
    media.starts_with(b"application/json") && !headers.contains_key(CONTENT_ENCODING)
}

/// JSON text with a line for each member and two spaces for each level, as Go indents it, and without an end of line.
pub(crate) fn indented(json: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut escaped, mut opened) = (0_usize, false, false, false);
    let line = |out: &mut BytesMut, depth: usize| {
        out.put_u8(b'\n');
        out.put_bytes(b' ', depth * 2);
    };
    for &byte in json {
        if in_text {
            out.put_u8(byte);
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            continue;
        }
        if opened && !matches!(byte, b'}' | b']') {
            line(&mut out, depth);
        }
        match byte {
            b'{' | b'[' => {
                out.put_u8(byte);
                depth += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if !opened {
                    line(&mut out, depth);
                }
                out.put_u8(byte);
            }
            b',' => {
                out.put_u8(byte);
                line(&mut out, depth);
            }
            b':' => out.put_slice(b": "),
            _ => {
                in_text = byte == b'"';
                out.put_u8(byte);
            }
        }
        opened = matches!(byte, b'{' | b'[');
    }
    out.freeze()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn json_is_indented_and_stays_the_same() {
        let value = json!({"a": [1, {"b": "x\\\"{[,:]}"}, [], {}], "c": {"d": null}, "e": ""});
        let text = indented(format!("{value}\n").as_bytes());
        assert_eq!(
            std::str::from_utf8(&text).unwrap(),
            serde_json::to_string_pretty(&value).unwrap()
        );
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn who_gets_indented_answers() {
        for (uri, agent, wanted) in [
            ("/api", "curl/8", true),
            ("/api", "Mozilla/5.0 (X11)", true),
            ("/api", "kubectl/v1.37.2", false),
            ("/api?pretty=true", "kubectl/v1.37.2", true),
            ("/api?pretty=1&x=y", "", true),
            ("/api?pretty=false", "curl/8", false),
            ("/api?pretty=nonsense", "curl/8", false),
            ("/api?pretty=", "curl/8", true),
            ("/api?pretty", "", false),
        ] {
            let request = Request::get(uri)
                .header(USER_AGENT, agent)
                .body(())
                .unwrap();
            assert_eq!(Finish::of(&request).indented, wanted, "{uri} {agent}");
        }
    }
}
