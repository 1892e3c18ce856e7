//! Requests in the name of another user.
//!
//! A request is allowed by one of several modes, tried in turn: the constrained ones, which also ask whether the verb
//! may be used in the name of such a user, and the old one, which does not. The mode that allowed the last request of
//! the same user comes first. Refusals are those of the first mode that applies.

use std::collections::BTreeMap;

use http::HeaderMap;
use k8s_api_schema::quote;
use percent_encoding::percent_decode_str;

use super::attributes::Attributes;
use super::service_account;
use super::user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User};
use crate::lifecycle::State;
use crate::status::Failure;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";

const AUTHENTICATION: &str = "authentication.k8s.io";
const NODES: &str = "system:nodes";

/// From this many groups or extra values on leave for all of them is asked first.
const MANY: usize = 4;

/// The user that the headers name, if they name one.
///
/// # Errors
///
/// 400 where they name something of a user, but not who.
pub(super) fn wanted(headers: &HeaderMap) -> Result<Option<User>, Failure> {
    if !headers
        .keys()
        .any(|name| name.as_str().starts_with("impersonate-"))
    {
        return Ok(None);
    }
    let texts = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter();
        values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    let first = |name: &str| texts(name).into_iter().next().unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            extra.entry(key).or_default().extend(texts(name.as_str()));
        }
    }
    let user = User {
        name: first(USER),
        uid: first(UID),
        groups: texts(GROUP),
        extra,
    };
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if user == User::default() {
        return Ok(None);
    }
    Err(Failure::bad_request(format!(
        "requested {} without impersonating a user name",
        printed(&user)
    )))
}

/// A user as Go's `%#v` prints it.
fn printed(user: &User) -> String {
    let list = |texts: &[String]| {
        let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
        format!("[]string{{{}}}", quoted.join(", "))
    };
    let groups = if user.groups.is_empty() {
        "[]string(nil)".into()
    } else {
        list(&user.groups)
    };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".into()
    } else {
        let entries: Vec<String> = user
            .extra
            .iter()
            .map(|(key, values)| format!("{}:{}", quote(key), list(values)))
            .collect();
        format!("map[string][]string{{{}}}", entries.join(", "))
    };
    format!(
        "&user.DefaultInfo{{Name:{}, UID:{}, Groups:{groups}, Extra:{extra}}}",
        quote(&user.name),
        quote(&user.uid)
    )
}

/// The ways to impersonate, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

impl Mode {
    const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Legacy,
    ];

    /// The word of a constrained mode in its verbs.
    fn word(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("associated-node"),
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::ServiceAccount => Some("serviceaccount"),
            Self::UserInfo => Some("user-info"),
            Self::Legacy => None,
        }
    }

    fn applies(self, requestor: &User, wanted: &User) -> bool {
        let only_name =
            wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = service_account::node_of_user(&wanted.name);
        let account = service_account::of_user(&wanted.name);
        match self {
            Self::AssociatedNode => only_name && node.is_some() && is_on_node(requestor, node),
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

/// Whether a user is a service account whose token is bound to the node.
fn is_on_node(requestor: &User, node: Option<&str>) -> bool {
    let own = requestor
        .extra
        .get("authentication.kubernetes.io/node-name");
    service_account::of_user(&requestor.name).is_some()
        && matches!(own.map(Vec::as_slice), Some([own]) if Some(own.as_str()) == node)
}

/// The user in whose name the request is made, if the requestor may do so.
pub(super) fn impersonate(
    state: &mut State,
    requestor: &User,
    asked: &Attributes,
    wanted: &User,
) -> Result<User, Failure> {
    let mut first = None;
    let last = state.access.modes.get(&requestor.name).copied();
    let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != last);
    for mode in last.into_iter().chain(others) {
        if !mode.applies(requestor, wanted) {
            continue;
        }
        match in_mode(state, requestor, asked, wanted, mode) {
            Ok(user) => {
                state.access.remember_mode(&requestor.name, mode);
                return Ok(user);
            }
            Err(failure) => {
                first.get_or_insert(failure);
            }
        }
    }
    Err(first.unwrap_or_else(|| Failure::internal("all impersonation modes failed")))
}

fn in_mode(
    state: &mut State,
    requestor: &User,
    asked: &Attributes,
    wanted: &User,
    mode: Mode,
) -> Result<User, Failure> {
    let mut check = |asked: &Attributes| state.access.authorize(&state.store, requestor, asked);
    let verb = match mode.word() {
        Some(word) => {
            check(&asked.with_verb(format!("impersonate-on:{word}:{}", asked.verb)))?;
            format!("impersonate:{word}")
        }
        None => "impersonate".into(),
    };
    // Where the old mode asks about users and groups it names the core group.
    let group = if mode == Mode::Legacy {
        ""
    } else {
        AUTHENTICATION
    };
    let mut user = wanted.clone();
    let mut name = Attributes::resource(&verb, group, "users", &wanted.name);
    if let Some(node) = service_account::node_of_user(&wanted.name).filter(|_| mode != Mode::Legacy)
    {
        name.resource = "nodes".into();
        name.name = if mode == Mode::AssociatedNode {
            "*"
        } else {
            node
        }
        .into();
        user.groups = vec![NODES.into()];
    }
    if let Some((namespace, account)) = service_account::of_user(&wanted.name) {
        name.resource = "serviceaccounts".into();
        name.namespace = namespace.into();
        name.name = account.into();
        if wanted.groups.is_empty() {
            user.groups = service_account::groups(namespace).into();
        }
    }
    check(&name)?;
    if !wanted.uid.is_empty() {
        check(&Attributes::resource(
            &verb,
            AUTHENTICATION,
            "uids",
            &wanted.uid,
        ))?;
    }
    check_groups(&mut check, requestor, &verb, group, wanted, mode)?;
    check_extra(&mut check, requestor, &verb, wanted, mode)?;
    if user.name == ANONYMOUS {
        user.join(UNAUTHENTICATED);
    } else if !user.is_in(UNAUTHENTICATED) {
        user.join(AUTHENTICATED);
    }
    Ok(user)
}

fn check_groups(
    check: &mut impl FnMut(&Attributes) -> Result<(), Failure>,
    requestor: &User,
    verb: &str,
    group: &str,
    wanted: &User,
    mode: Mode,
) -> Result<(), Failure> {
    let about = |name: &str| Attributes::resource(verb, group, "groups", name);
    if mode != Mode::Legacy {
        if wanted.is_in("") {
            return Err(about("").forbidden(
                requestor,
                "impersonating the empty string group is not allowed",
            ));
        }
        if wanted.is_in(MASTERS) {
            let why = "impersonating the system:masters group is not allowed";
            return Err(about(MASTERS).forbidden(requestor, why));
        }
        if wanted.groups.len() >= MANY && check(&about("*")).is_ok() {
            return Ok(());
        }
    }
    wanted
        .groups
        .iter()
        .try_for_each(|name| check(&about(name)))
}

fn check_extra(
    check: &mut impl FnMut(&Attributes) -> Result<(), Failure>,
    requestor: &User,
    verb: &str,
    wanted: &User,
    mode: Mode,
) -> Result<(), Failure> {
    let about = |key: &str, value: &str| Attributes {
        subresource: key.into(),
        ..Attributes::resource(verb, AUTHENTICATION, "userextras", value)
    };
    if mode != Mode::Legacy && !wanted.extra.is_empty() {
        if let Some(why) = bad_extra(&wanted.extra) {
            return Err(about("", "").forbidden(requestor, &why));
        }
        let values: usize = wanted.extra.values().map(Vec::len).sum();
        if values.max(wanted.extra.len()) >= MANY && check(&about("*", "*")).is_ok() {
            return Ok(());
        }
    }
    for (key, values) in &wanted.extra {
        for value in values {
            check(&about(key, value))?;
        }
    }
    Ok(())
}

/// Why extra values cannot be impersonated in a constrained mode.
fn bad_extra(extra: &BTreeMap<String, Vec<String>>) -> Option<String> {
    for (key, values) in extra {
        if key.is_empty() {
            return Some("impersonating the empty string key in extra is not allowed".into());
        }
        if let Some(why) = not_a_path(key) {
            return Some(format!(
                "impersonating an invalid key in extra is not allowed: {why}"
            ));
        }
        if values.is_empty() {
            return Some("impersonating empty values in extra is not allowed".into());
        }
        if values.iter().any(String::is_empty) {
            return Some("impersonating the empty string value in extra is not allowed".into());
        }
    }
    None
}

/// Why a key is no path below a domain.
fn not_a_path(key: &str) -> Option<String> {
    let error = |why: &str| k8s_api_schema::FieldError::invalid("extra.key", key, why).to_string();
    let well_formed = key
        .split_once('/')
        .is_some_and(|(host, path)| !host.is_empty() && !path.is_empty());
    (!well_formed).then(|| error("must be a domain-prefixed path (such as \"acme.io/foo\")"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impersonation_needs_a_name() {
        let mut headers = HeaderMap::new();
        assert_eq!(wanted(&headers), Ok(None));
        headers.append(GROUP, "g".parse().expect("a value"));
        headers.append(
            "impersonate-extra-scopes.example.com%2fx",
            "view".parse().expect("a value"),
        );
        let failure = wanted(&headers).expect_err("no name");
        assert_eq!(
            failure.message,
            r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string{"scopes.example.com/x":[]string{"view"}}} without impersonating a user name"#
        );
        headers.append(USER, "jane".parse().expect("a value"));
        let user = wanted(&headers).expect("a name").expect("a user");
        assert_eq!(
            (user.name.as_str(), user.groups.as_slice()),
            ("jane", ["g".to_owned()].as_slice())
        );
        assert_eq!(user.extra["scopes.example.com/x"], ["view"]);
        headers.clear();
        headers.append(USER, "".parse().expect("a value"));
        assert_eq!(wanted(&headers), Ok(None));
    }
}
