//! From a path to what is asked for.

use std::sync::Arc;

use percent_encoding::percent_decode_str;

use crate::kinds::Kind;
use crate::registry::Registry;
use crate::status::Failure;

/// A collection, an object or a subresource.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) kind: Arc<Kind>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The deprecated `/watch/` prefix was used.
    pub(crate) watch: bool,
}

/// Where a path leads.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    Target(Target),
    /// Not below a resource: versions, groups, documents, or nothing at all.
    Other,
    /// A JSON `Status`.
    Refused(Failure),
    /// The plain text that the real server answers for paths it does not route.
    PlainNotFound,
    /// What is no path.
    Malformed,
    /// A prefix of paths, and nothing that it is put before.
    Incomplete,
}

/// Finds what `path` names.
pub(crate) fn route(path: &str, registry: &Registry) -> Route {
    if !(path.starts_with('/') || path == "*") || has_broken_escape(path) {
        return Route::Malformed;
    }
    // An escaped slash parts segments like any other, as on the real server.
    let path = percent_decode_str(path).decode_utf8_lossy();
    // As many as most paths have at once.
    let mut parts: Vec<&str> = Vec::with_capacity(8);
    parts.extend(path.split('/').skip(1));
    if parts.len() > 1 && parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    match parts.as_slice() {
        ["api", _, "watch" | "proxy"] | ["apis", _, _, "watch" | "proxy"] => Route::Incomplete,
        ["api", version, rest @ ..] if !rest.is_empty() => resource("", version, rest, registry),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => {
            resource(group, version, rest, registry)
        }
        _ => Route::Other,
    }
}

fn has_broken_escape(path: &str) -> bool {
    path.split('%').skip(1).any(|after| {
        let digits = after.as_bytes().get(..2);
        !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

fn resource(group: &str, version: &str, rest: &[&str], registry: &Registry) -> Route {
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = in_namespace(group, rest);
    let [plural, rest @ ..] = rest else {
        return unknown(group, registry);
    };
    let Some(kind) = registry.find(group, version, plural) else {
        return unknown(group, registry);
    };
    let namespace = namespace.filter(|namespace| !namespace.is_empty());
    let scoped_right = match (namespace, kind.namespaced) {
        (Some(_), false) => false,
        // Only lists and watches have a path without a namespace.
        (None, true) => rest.is_empty(),
        _ => true,
    };
    let (name, subresource) = match rest {
        [] => (None, None),
        [name] => (Some(*name), None),
        [name, subresource] => (Some(*name), Some(*subresource)),
        // What comes after it is not looked at.
        [name, subresource, ..] if kind.is_custom() => (Some(*name), Some(*subresource)),
        _ => return unknown(group, registry),
    };
    if !scoped_right || name.is_some_and(str::is_empty) {
        return unknown(group, registry);
    }
    if let (Some(name), Some(subresource)) = (name, subresource)
        && kind.is_custom()
        && !has_subresource(&kind, subresource)
    {
        return Route::Refused(Failure::not_found(&kind.group, &kind.plural, name));
    }
    if subresource.is_some_and(|subresource| !has_subresource(&kind, subresource)) {
        return unknown(group, registry);
    }
    Route::Target(Target {
        kind,
        namespace: namespace.map(Into::into),
        name: name.map(Into::into),
        subresource: subresource.map(Into::into),
        watch,
    })
}

/// Splits off `namespaces/NS`, unless it is the namespace itself that is meant.
fn in_namespace<'a, 'b>(group: &str, rest: &'b [&'a str]) -> (Option<&'a str>, &'b [&'a str]) {
    match rest {
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if group.is_empty() => {
            (None, rest)
        }
        ["namespaces", namespace, inner @ ..] if !inner.is_empty() => (Some(namespace), inner),
        _ => (None, rest),
    }
}

fn has_subresource(kind: &Kind, subresource: &str) -> bool {
    match subresource {
        "status" => kind.status,
        "scale" => kind.scale.is_some(),
        "token" => kind.storage == "serviceaccounts",
        "finalize" => kind.storage == crate::lifecycle::NAMESPACES,
        "binding" | "eviction" => kind.storage == "pods" && kind.group.is_empty(),
        _ => kind
            .subresources
            .iter()
            .any(|known| known.name == subresource),
    }
}

fn unknown(group: &str, registry: &Registry) -> Route {
    // Of a group that is built in every version is answered like this.
    if group.is_empty() || registry.is_builtin(group) {
        Route::Refused(Failure::no_such_resource())
    } else {
        Route::PlainNotFound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> String {
        match route(path, &Registry::new()) {
            Route::Target(target) => format!(
                "{} {:?} {:?} {:?} {}",
                target.kind.plural, target.namespace, target.name, target.subresource, target.watch
            ),
            Route::Other => "other".into(),
            Route::Refused(failure) => failure.code.to_string(),
            Route::PlainNotFound => "plain".into(),
            Route::Malformed => "malformed".into(),
            Route::Incomplete => "incomplete".into(),
        }
    }

    #[test]
    fn paths() {
        for (path, want) in [
            ("/api/v1/configmaps", "configmaps None None None false"),
            ("/api/v1/namespaces", "namespaces None None None false"),
            (
                "/api/v1/namespaces/x",
                "namespaces None Some(\"x\") None false",
            ),
            (
                "/api/v1/namespaces/x/status",
                "namespaces None Some(\"x\") Some(\"status\") false",
            ),
            (
                "/api/v1/namespaces/x/configmaps/",
                "configmaps Some(\"x\") None None false",
            ),
            (
                "/api/v1/namespaces//configmaps",
                "configmaps None None None false",
            ),
            (
                "/api/v1/namespaces/x/configmaps/a",
                "configmaps Some(\"x\") Some(\"a\") None false",
            ),
            (
                "/api/v1/watch/namespaces/x/configmaps/a",
                "configmaps Some(\"x\") Some(\"a\") None true",
            ),
            (
                "/apis/apps/v1/namespaces/x/deployments/a/status",
                "deployments Some(\"x\") Some(\"a\") Some(\"status\") false",
            ),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Afoo",
                "clusterroles None Some(\"system:foo\") None false",
            ),
            ("/api/v1/namespaces/x%2Fy/configmaps", "404"),
            ("/api/v1/namespaces/x/configmaps/a%2Fb", "404"),
            ("/api/v1/configmaps/a", "404"),
            ("/api/v1/namespaces/x/namespaces", "404"),
            ("/api/v1/namespaces/x/configmaps//a", "404"),
            ("/api//v1/namespaces/x/configmaps/a", "404"),
            ("/api/v1/namespaces/x/./configmaps/a", "404"),
            ("/apis/nobody.example.com/v1/things", "plain"),
            ("/apis/apps/v9/namespaces/x/deployments", "404"),
            ("/api/v1", "other"),
            ("/apis/apps", "other"),
            ("//api/v1/namespaces", "other"),
            ("/", "other"),
            ("*", "other"),
            ("x", "malformed"),
            ("/api/v1/namespaces/%zz", "malformed"),
            ("/api/v1/namespaces/a%2", "malformed"),
            ("/api/v1/watch", "incomplete"),
            ("/apis/apps/v1/proxy/", "incomplete"),
            (
                "/api/v1/namespaces/..",
                "namespaces None Some(\"..\") None false",
            ),
        ] {
            assert_eq!(found(path), want, "{path}");
        }
    }
}
