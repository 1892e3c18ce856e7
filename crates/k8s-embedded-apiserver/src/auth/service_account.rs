//! Names of service accounts and nodes as users.

/// What the names of service accounts as users begin with.
const USER_PREFIX: &str = "system:serviceaccount:";
const NODE_PREFIX: &str = "system:node:";
/// The group of all service accounts; that of a namespace's has the namespace appended.
const GROUP: &str = "system:serviceaccounts";

pub(super) fn user_name(namespace: &str, name: &str) -> String {
    format!("{USER_PREFIX}{namespace}:{name}")
}

pub(super) fn groups(namespace: &str) -> [String; 2] {
    [GROUP.into(), format!("{GROUP}:{namespace}")]
}

/// Namespace and name of the service account that a user is.
pub(super) fn of_user(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(USER_PREFIX)?.split_once(':')?;
    (is_label(namespace) && is_subdomain(name)).then_some((namespace, name))
}

/// Name of the node that a user is.
pub(super) fn node_of_user(user: &str) -> Option<&str> {
    user.strip_prefix(NODE_PREFIX)
        .filter(|name| is_subdomain(name))
}

fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_part(text)
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_part)
}

fn is_part(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.bytes().next().is_some_and(inner)
        && text.bytes().next_back().is_some_and(inner)
        && text.bytes().all(|byte| inner(byte) || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users() {
        for (user, want) in [
            ("system:serviceaccount:ns:robot", Some(("ns", "robot"))),
            ("system:serviceaccount:ns:ro.bot", Some(("ns", "ro.bot"))),
            ("system:serviceaccount:bad", None),
            ("system:serviceaccount:n.s:robot", None),
            ("system:serviceaccount:ns:a:b", None),
            ("system:serviceaccount:ns:", None),
            ("robot", None),
        ] {
            assert_eq!(of_user(user), want, "{user}");
        }
        assert_eq!(node_of_user("system:node:n.example"), Some("n.example"));
        assert_eq!(node_of_user("system:node:"), None);
    }
}
