//! Bearer tokens: those of a list, and those of service accounts, which are signed JSON Web Tokens.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};

use super::authentication::authenticated;
use super::rules::quote_all;
use super::service_account;
use super::user::User;
use crate::lifecycle::State;
use crate::metadata::{self, text, texts};

/// Who issues tokens of service accounts, and whom they are for where nobody is named.
pub(crate) const ISSUER: &str = "https://localhost";

/// How much the clocks of who issues and who checks a token may differ, in seconds.
const LEEWAY: i64 = 60;

const INVALID: &str = "invalid bearer token";

/// Signs and checks tokens of service accounts with a key of the server's own (HMAC with SHA-256).
pub(crate) struct Signer {
    key: hmac::Key,
    pub(crate) issuer: String,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

impl Signer {
    pub(crate) fn new(secret: &[u8], issuer: String) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, secret),
            issuer,
        }
    }

    /// The token that tells `claims`.
    pub(super) fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "HS256", "kid": "embedded"});
        let [header, claims] =
            [header, claims.clone()].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = hmac::sign(&self.key, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Whether a token says that it is of this server, be it true or not.
    pub(super) fn has_issued(&self, token: &str) -> bool {
        let claims = token
            .split('.')
            .nth(1)
            .and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok());
        let claims: Option<Value> = claims.and_then(|claims| serde_json::from_slice(&claims).ok());
        claims.is_some_and(|claims| text(&claims, "/iss") == self.issuer)
    }

    /// What a token of this server tells.
    fn claims(&self, token: &str) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (_, claims) = signed.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.key, signed.as_bytes(), &signature).ok()?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }
}

/// The user behind a token, and those of `audiences` (by default the server's own) that the token is for.
///
/// # Errors
///
/// Why it is no token of any user, as a TokenReview tells it.
pub(super) fn authenticate(
    state: &State,
    token: &str,
    audiences: Option<&[String]>,
) -> Result<(Arc<User>, Vec<String>), String> {
    let own = [state.access.signer.issuer.clone()];
    let audiences = audiences.unwrap_or(&own);
    if let Some(user) = state.access.tokens.get(token) {
        // A token of the list is for the server, and for nobody else.
        let audiences: Vec<String> = own
            .iter()
            .filter(|own| audiences.contains(own))
            .cloned()
            .collect();
        if audiences.is_empty() {
            return Err(INVALID.into());
        }
        return Ok((user.clone(), audiences));
    }
    let Some(claims) = state.access.signer.claims(token) else {
        return Err(INVALID.into());
    };
    of_service_account(state, &claims, audiences)
        .map(|(user, audiences)| (Arc::new(user), audiences))
        .map_err(|why| format!("[{INVALID}, {why}]"))
}

fn of_service_account(
    state: &State,
    claims: &Value,
    audiences: &[String],
) -> Result<(User, Vec<String>), String> {
    let own: Vec<String> = texts(claims.get("aud"))
        .into_iter()
        .map(Into::into)
        .collect();
    let common: Vec<String> = own
        .iter()
        .filter(|own| audiences.contains(own))
        .cloned()
        .collect();
    if common.is_empty() {
        let (own, wanted) = (quote_all(&own), quote_all(audiences));
        return Err(format!(
            "token audiences {own} is invalid for the target audiences {wanted}"
        ));
    }
    let now = state.source.now().as_second();
    let time = |key: &str| claims.get(key).and_then(Value::as_i64).unwrap_or_default();
    if now > time("exp") + LEEWAY {
        return Err("service account token has expired".into());
    }
    if now < time("nbf") - LEEWAY {
        return Err("service account token is not valid yet".into());
    }
    let about = |pointer: &str| text(claims, &format!("/kubernetes.io{pointer}"));
    let (namespace, name) = (about("/namespace"), about("/serviceaccount/name"));
    let Some(account) = state
        .store
        .get("serviceaccounts", &format!("{namespace}/{name}"))
    else {
        return Err(format!(
            "serviceaccounts {} not found",
            k8s_api_schema::quote(name)
        ));
    };
    let (uid, claimed) = (metadata::uid(&**account), about("/serviceaccount/uid"));
    if uid != claimed {
        return Err(format!(
            "service account UID ({uid}) does not match claim ({claimed})"
        ));
    }
    let mut user = authenticated(
        User {
            name: service_account::user_name(namespace, name),
            groups: service_account::groups(namespace).into(),
            ..User::default()
        }
        .uid(uid),
    );
    user = user.extra(
        "authentication.kubernetes.io/credential-id",
        [format!("JTI={}", text(claims, "/jti"))],
    );
    for (key, storage, namespaced) in [
        ("pod", "pods", true),
        ("secret", "secrets", true),
        ("node", "nodes", false),
    ] {
        let (name, uid) = (
            about(&format!("/{key}/name")),
            about(&format!("/{key}/uid")),
        );
        if name.is_empty() {
            continue;
        }
        // The node of a pod's token is told, not checked.
        let told = key == "node" && !about("/pod/name").is_empty();
        if !told {
            bound_object(
                state,
                storage,
                namespaced.then_some(namespace),
                (key, name, uid),
            )?;
        }
        if key != "secret" {
            for (what, value) in [("name", name), ("uid", uid)] {
                if !value.is_empty() {
                    user = user.extra(
                        format!("authentication.kubernetes.io/{key}-{what}"),
                        [value],
                    );
                }
            }
        }
    }
    Ok((user, common))
}

/// A token goes with the object that it is bound to.
fn bound_object(
    state: &State,
    storage: &str,
    namespace: Option<&str>,
    (key, name, uid): (&str, &str, &str),
) -> Result<(), String> {
    let place = crate::store::key(namespace, name);
    let Some(object) = state.store.get(storage, &place) else {
        return Err("service account token has been invalidated".into());
    };
    let found = metadata::uid(&**object);
    if found == uid {
        return Ok(());
    }
    Err(format!(
        "{key} UID ({found}) does not match service account {key} ref claim ({uid})"
    ))
}

/// Why a token file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFileError {
    /// A line has fewer than three columns.
    #[error("line {line}: expected at least 3 columns (token, user name, uid), found {columns}")]
    Columns {
        /// Number of the line, from 1.
        line: usize,
        /// How many columns it has.
        columns: usize,
    },
    /// A line has no token.
    #[error("line {line}: expected a token in the first column")]
    NoToken {
        /// Number of the line, from 1.
        line: usize,
    },
    /// A quoted column does not end.
    #[error("line {line}: expected a closing quote")]
    OpenQuote {
        /// Number of the line, from 1.
        line: usize,
    },
}

/// Reads a token file as kube-apiserver's `--token-auth-file` takes it: lines of `token,user,uid,"group1,group2"`,
/// the groups being optional.
///
/// ```
/// let users = k8s_embedded_apiserver::parse_token_file("s3cr3t,jane,1,\"developers,testers\"\n").unwrap();
/// assert_eq!(users[0].0, "s3cr3t");
/// assert_eq!(users[0].1.groups, ["developers", "testers", "system:authenticated"]);
/// ```
///
/// # Errors
///
/// The first line that is none of a token file.
pub fn parse_token_file(text: &str) -> Result<Vec<(String, User)>, TokenFileError> {
    let mut users = Vec::new();
    for (index, row) in text.lines().enumerate() {
        let line = index + 1;
        if row.trim().is_empty() || row.starts_with('#') {
            continue;
        }
        let columns = columns(row).ok_or(TokenFileError::OpenQuote { line })?;
        let [token, name, uid, rest @ ..] = columns.as_slice() else {
            return Err(TokenFileError::Columns {
                line,
                columns: columns.len(),
            });
        };
        if token.is_empty() {
            return Err(TokenFileError::NoToken { line });
        }
        let groups = rest.first().map(String::as_str).unwrap_or_default();
        let groups = groups
            .split(',')
            .map(str::trim)
            .filter(|group| !group.is_empty());
        users.push((
            token.clone(),
            User::new(name.clone(), groups).uid(uid.clone()),
        ));
    }
    Ok(users)
}

/// The columns of a line of comma-separated values; none where a quote does not end.
fn columns(row: &str) -> Option<Vec<String>> {
    let mut columns = vec![String::new()];
    let mut quoted = false;
    let mut chars = row.chars().peekable();
    while let Some(c) = chars.next() {
        let column = columns.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                column.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if column.trim().is_empty() => {
                column.clear();
                quoted = true;
            }
            ',' if !quoted => columns.push(String::new()),
            _ => column.push(c),
        }
    }
    (!quoted).then(|| {
        columns
            .into_iter()
            .map(|column| column.trim().to_owned())
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_files() {
        let users = parse_token_file("# tokens\na,jane,1\n\nb,\"Doe, John\",2,\"x, y\"\n")
            .expect("a token file");
        assert_eq!(users.len(), 2);
        assert_eq!(users[0].1, User::new("jane", [""; 0]).uid("1"));
        assert_eq!(users[1].1, User::new("Doe, John", ["x", "y"]).uid("2"));
        for (text, want) in [
            (
                "a,b",
                "line 1: expected at least 3 columns (token, user name, uid), found 2",
            ),
            ("\n,b,c", "line 2: expected a token in the first column"),
            ("a,b,c,\"d", "line 1: expected a closing quote"),
        ] {
            let error = parse_token_file(text).expect_err(text);
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn a_token_is_the_signers_own() {
        let [one, two] = [b"one", b"two"].map(|secret| Signer::new(secret, ISSUER.into()));
        let token = one.sign(&json!({"sub": "x"}));
        assert_eq!(token.split('.').count(), 3);
        assert_eq!(one.claims(&token), Some(json!({"sub": "x"})));
        assert_eq!(two.claims(&token), None);
        for bad in ["garbage", "a.b.c", "", &token[1..], &format!("{token}x")] {
            assert_eq!(one.claims(bad), None, "{bad}");
        }
    }
}
