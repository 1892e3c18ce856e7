//! The tokens with which a list goes on.

use std::borrow::Cow;

use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine as _};
use k8s_api_schema::json::check;
use serde_json::{Value, json};

use super::Answer;
use crate::json_error::type_name;
use crate::status::Failure;

/// Without padding, and as lenient about the last bits as Go.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

const VERSION: &str = "meta.k8s.io/v1";

/// Where a list goes on: after `start`, as things were at `version`, or as they are.
#[derive(Debug)]
pub(super) struct Continue {
    pub(super) version: Option<u64>,
    start: String,
}

impl Continue {
    /// # Errors
    ///
    /// 400 for what is no token.
    pub(super) fn parse(token: &str) -> Result<Self, Failure> {
        let invalid = |why: &str| {
            Failure::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = BASE64.decode(token).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
                DecodeError::InvalidPadding => token.find('=').unwrap_or(token.len()),
                DecodeError::InvalidLength(_) => token.len().saturating_sub(1),
            };
            invalid(&format!("illegal base64 data at input byte {at}"))
        })?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
            let why = check(&bytes).err();
            invalid(why.as_deref().unwrap_or("unexpected end of JSON input"))
        })?;
        let wrong = |value: &Value, field: &str, type_: &str| {
            let found = match value {
                Value::Number(number) if type_ != "string" => format!("number {number}"),
                other => type_name(other).into(),
            };
            invalid(&format!(
                "json: cannot unmarshal {found} into Go {}",
                match field {
                    "" => "value of type storage.continueToken".into(),
                    field => format!("struct field continueToken.{field} of type {type_}"),
                }
            ))
        };
        let fields = match &value {
            Value::Object(map) => Cow::Borrowed(map),
            Value::Null => Cow::Owned(serde_json::Map::new()),
            other => return Err(wrong(other, "", "")),
        };
        let text = |field: &str| match fields.get(field) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(other) => Err(wrong(other, field, "string")),
        };
        let (api_version, start) = (text("v")?, text("start")?);
        let version = match fields.get("rv") {
            None | Some(Value::Null) => 0,
            Some(number) => number
                .as_i64()
                .ok_or_else(|| wrong(number, "rv", "int64"))?,
        };
        if api_version != VERSION {
            return Err(invalid(&format!(
                "server does not recognize this encoded version {api_version}"
            )));
        }
        if version == 0 {
            return Err(invalid(
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ));
        }
        if start.is_empty() {
            return Err(invalid("encoded start key empty (version meta.k8s.io/v1)"));
        }
        let path = start.strip_prefix('/').unwrap_or(start);
        if path.is_empty() || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(invalid(start));
        }
        Ok(Self {
            version: version.try_into().ok(),
            start: start.into(),
        })
    }

    /// The key of the collection after which the list goes on.
    pub(super) fn key(&self, namespace: Option<&str>) -> String {
        let start = self.start.strip_prefix('/').unwrap_or(&self.start);
        // A token says "the first one that is not before key and a NUL", which is the one after key.
        let start = start
            .strip_suffix('\0')
            .map_or_else(|| before(start), Into::into);
        match namespace {
            Some(namespace) => format!("{namespace}/{start}"),
            None => start,
        }
    }

    /// The token for what follows `key` at a version.
    pub(super) fn token(version: u64, namespace: Option<&str>, key: &str) -> String {
        let start = namespace
            .and_then(|namespace| key.strip_prefix(namespace)?.strip_prefix('/'))
            .unwrap_or(key);
        encode(&format!("/{start}\0"), &json!(version))
    }

    /// 410 with a token that goes on from the present.
    pub(super) fn expired(&self) -> Answer {
        let failure = Failure::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new \
             list without the continue parameter, or use the continue token in this response to retrieve the \
             remainder of the results. Continuing with the provided token results in an inconsistent list - objects \
             that were created, modified, or deleted between the time the first chunk was returned and now may show \
             up in the list.",
        );
        let mut object = failure.to_json();
        let start = self.start.strip_prefix('/').unwrap_or(&self.start);
        object["metadata"] = json!({"continue": encode(start, &json!(-1))});
        Answer::Other {
            code: failure.code,
            object,
        }
    }
}

fn encode(start: &str, version: &Value) -> String {
    // In the order of the server.
    let (token_version, start) = (json!(VERSION), json!(start));
    BASE64.encode(format!(
        r#"{{"v":{token_version},"rv":{version},"start":{start}}}"#
    ))
}

/// The greatest text before `start` that matters: a start without the NUL is itself shown. Names have no NUL.
fn before(start: &str) -> String {
    let mut before = start.to_owned();
    match before.pop() {
        // What lies between the character before and the last one, extended by the greatest there is.
        Some(last) => {
            if let Some(previous) = (0..u32::from(last)).rev().find_map(char::from_u32) {
                before.push(previous);
                before.push(char::MAX);
            }
            before
        }
        None => before,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> String {
        let message = Continue::parse(text).unwrap_err().message;
        message
            .strip_prefix("invalid continue token: continue key is not valid: ")
            .unwrap()
            .into()
    }

    #[test]
    fn what_is_no_token_is_refused_as_by_the_real_server() {
        let token = |json: &str| BASE64.encode(json);
        for (text, expected) in [
            (
                "abc",
                "invalid character 'i' looking for beginning of value",
            ),
            ("!!!", "illegal base64 data at input byte 0"),
            ("eyJ2Ijo=", "illegal base64 data at input byte 7"),
            ("e30", "server does not recognize this encoded version "),
            (
                &token(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#),
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ),
            (
                &token(r#"{"v":"meta.k8s.io/v1","rv":100,"start":""}"#),
                "encoded start key empty (version meta.k8s.io/v1)",
            ),
            (
                &token(r#"{"v":"meta.k8s.io/v2","rv":100,"start":"a"}"#),
                "server does not recognize this encoded version meta.k8s.io/v2",
            ),
            (
                &token(r#"{"v":"meta.k8s.io/v1","rv":100,"start":"../a"}"#),
                "../a",
            ),
            (
                &token(r#"{"v":"meta.k8s.io/v1","rv":"x","start":"kube"}"#),
                "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
            ),
        ] {
            assert_eq!(refused(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_token_goes_on_after_its_key(namespace in "[a-z]{1,4}", name in "[a-z.-]{1,6}x", version in 1_u64..1_000_000) {
            let key = format!("{namespace}/{name}");
            for namespace in [Some(namespace.as_str()), None] {
                let token = Continue::parse(&Continue::token(version, namespace, &key)).unwrap();
                prop_assert_eq!(token.version, Some(version));
                prop_assert_eq!(token.key(namespace), key.clone());
            }
        }

        #[test]
        fn a_start_without_a_nul_is_shown(start in "[a-z]{1,4}", other in "[a-z]{1,5}") {
            prop_assert_eq!(other > before(&start), other >= start);
        }

        #[test]
        fn nothing_panics(text in "[a-zA-Z0-9_=-]{0,40}") {
            let _ = Continue::parse(&text);
        }
    }
}
