//! Who makes a request: by credentials, then by whom it is made in the name of.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::request::Parts;

use super::attributes::Attributes;
use super::impersonation;
use super::tokens;
use super::user::{AUTHENTICATED, User};
use crate::lifecycle::State;
use crate::status::Failure;

/// Who makes the request, once it is known that the user may make it.
///
/// # Errors
///
/// 401 without known credentials, 400 for headers of an impersonation that name no user, 403 for what is not allowed.
pub(crate) fn caller(state: &mut State, parts: &Parts) -> Result<Arc<User>, Failure> {
    let mut user = authenticate(state, parts)?;
    let wanted = impersonation::wanted(&parts.headers)?;
    if wanted.is_none() && state.access.may_do_all(&user) {
        return Ok(user);
    }
    let asked = Attributes::of(&parts.method, parts.uri.path(), parts.uri.query());
    if let Some(wanted) = wanted {
        user = Arc::new(impersonation::impersonate(state, &user, &asked, &wanted)?);
    }
    state.access.authorize(&state.store, &user, &asked)?;
    Ok(user)
}

/// The user behind the credentials. A user that the service put into the request's extensions counts before headers.
fn authenticate(state: &mut State, parts: &Parts) -> Result<Arc<User>, Failure> {
    if let Some(user) = parts.extensions.get::<Arc<User>>() {
        return Ok(user.clone());
    }
    match bearer_token(parts) {
        Some(token) => match tokens::authenticate(state, token, None) {
            Ok((user, _)) => Ok(user),
            // Without users any token is as good as none: some clients insist on sending one.
            Err(_) if state.access.tokens.is_empty() && !state.access.signer.has_issued(token) => {
                state.access.default_user.clone().ok_or_else(unauthorized)
            }
            Err(_) => Err(unauthorized()),
        },
        None => state.access.default_user.clone().ok_or_else(unauthorized),
    }
}

/// The token of an `Authorization: Bearer` header; other schemes are no credentials, as on a real server.
fn bearer_token(parts: &Parts) -> Option<&str> {
    let header = parts.headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = header.split_once(' ')?;
    let token = token.split(' ').next().unwrap_or_default();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

pub(crate) fn unauthorized() -> Failure {
    let mut failure = Failure::bad_request("Unauthorized");
    failure.code = 401;
    failure.reason = "Unauthorized".into();
    failure
}

/// A user who was known by a token is authenticated, whatever groups were given.
pub(super) fn authenticated(mut user: User) -> User {
    user.join(AUTHENTICATED);
    user
}
