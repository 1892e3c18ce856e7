//! What a request asks leave for, and how it is told that it has none.

use http::Method;
use k8s_api_schema::quote;
use percent_encoding::percent_decode_str;

use super::user::User;
use crate::query::Query;
use crate::status::Failure;

/// What is asked for, as rules of RBAC describe it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) verb: String,
    /// Whether it is about a resource; otherwise about a path.
    pub(crate) is_resource: bool,
    pub(crate) path: String,
    pub(crate) group: String,
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) name: String,
}

/// Subresources of a namespace; anything else after its name is a resource within it.
const NAMESPACE_SUBRESOURCES: &[&str] = &["status", "finalize"];

impl Attributes {
    /// What a request asks for: known from its method, path and query alone, whether or not there is such a resource.
    pub(crate) fn of(method: &Method, path: &str, query: Option<&str>) -> Self {
        let path = percent_decode_str(path).decode_utf8_lossy();
        let trimmed = path.trim_matches('/');
        let parts: Vec<&str> = trimmed.split('/').collect();
        let other = || Self {
            verb: method.as_str().to_ascii_lowercase(),
            path: path.to_string(),
            ..Self::default()
        };
        let (group, parts) = match parts.as_slice() {
            ["api", _, rest @ ..] if !rest.is_empty() => ("", rest),
            ["apis", group, _, rest @ ..] if !rest.is_empty() => (*group, rest),
            _ => return other(),
        };
        let (verb, parts) = match parts {
            [verb @ ("watch" | "proxy"), rest @ ..] => (*verb, rest),
            _ => (verb_of(method), parts),
        };
        let (namespace, parts) = match parts {
            ["namespaces", namespace, inner @ ..] => {
                let own = inner
                    .first()
                    .is_none_or(|next| NAMESPACE_SUBRESOURCES.contains(next));
                (*namespace, if own { parts } else { inner })
            }
            _ => ("", parts),
        };
        let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
        let mut attributes = Self {
            verb: verb.into(),
            is_resource: true,
            path: path.to_string(),
            group: group.into(),
            namespace: namespace.into(),
            resource: part(0),
            name: part(1),
            subresource: part(2),
        };
        attributes.settle_verb(query);
        attributes
    }

    /// A request without a name is about a collection, or about the one object that its field selector names.
    fn settle_verb(&mut self, query: Option<&str>) {
        if !self.name.is_empty() {
            return;
        }
        match self.verb.as_str() {
            "get" => {
                let query = Query::parse(query);
                let watch = query.is_set("watch");
                self.verb = if watch { "watch" } else { "list" }.into();
                if let Some(name) = selected_name(&query) {
                    self.name = name;
                }
            }
            "delete" => self.verb = "deletecollection".into(),
            _ => {}
        }
    }

    /// 403, with what the authorizer has to say about it.
    pub(crate) fn forbidden(&self, user: &User, reason: &str) -> Failure {
        let mut why = self.refusal(user);
        if !reason.is_empty() {
            why = format!("{why}: {reason}");
        }
        let mut failure = Failure::forbidden(&self.group, &self.resource, &self.name, &why);
        if self.resource.is_empty() {
            failure.message = format!("forbidden: {why}");
        }
        failure
    }

    /// The text is made harmless where it might be taken for HTML.
    fn refusal(&self, user: &User) -> String {
        let (who, verb) = (quote(&user.name), &self.verb);
        let text = if self.is_resource {
            let resource = if self.subresource.is_empty() {
                quote(&self.resource)
            } else {
                quote(&format!("{}/{}", self.resource, self.subresource))
            };
            let place = if self.namespace.is_empty() {
                "at the cluster scope".into()
            } else {
                format!("in the namespace {}", quote(&self.namespace))
            };
            let group = quote(&self.group);
            format!("User {who} cannot {verb} resource {resource} in API group {group} {place}")
        } else {
            format!("User {who} cannot {verb} path {}", quote(&self.path))
        };
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    }

    /// The same question about another verb.
    pub(crate) fn with_verb(&self, verb: impl Into<String>) -> Self {
        Self {
            verb: verb.into(),
            ..self.clone()
        }
    }
}

/// A question about a resource at the cluster scope.
impl Attributes {
    pub(crate) fn resource(verb: &str, group: &str, resource: &str, name: &str) -> Self {
        Self {
            verb: verb.into(),
            is_resource: true,
            group: group.into(),
            resource: resource.into(),
            name: name.into(),
            ..Self::default()
        }
    }
}

fn verb_of(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::GET | Method::HEAD => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

/// The name that `fieldSelector` asks for alone. None where the options of the list cannot be read.
fn selected_name(query: &Query) -> Option<String> {
    for number in ["limit", "timeoutSeconds"] {
        query.number(number).ok()?;
    }
    let mut name = None;
    for term in query
        .get("fieldSelector")?
        .split(',')
        .filter(|term| !term.is_empty())
    {
        let (key, value) = term.split_once('=')?;
        if !key.ends_with('!') && key == "metadata.name" && name.is_none() {
            name = Some(value.strip_prefix('=').unwrap_or(value));
        }
    }
    name.filter(|name| {
        !name.is_empty() && !matches!(*name, "." | "..") && !name.contains(['/', '%'])
    })
    .map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        for (method, path, want) in [
            (
                "GET",
                "/api/v1/namespaces/x/configmaps",
                "list  configmaps  x ",
            ),
            (
                "GET",
                "/api/v1/namespaces/x/configmaps?watch=1",
                "watch  configmaps  x ",
            ),
            (
                "GET",
                "/api/v1/namespaces/x/configmaps?watch",
                "watch  configmaps  x ",
            ),
            (
                "GET",
                "/api/v1/watch/namespaces/x/configmaps",
                "watch  configmaps  x ",
            ),
            (
                "GET",
                "/api/v1/namespaces/x/configmaps?fieldSelector=metadata.name%3Da",
                "list  configmaps  x a",
            ),
            (
                "GET",
                "/api/v1/namespaces/x/configmaps?fieldSelector=metadata.name!%3Da",
                "list  configmaps  x ",
            ),
            (
                "GET",
                "/api/v1/namespaces/x/configmaps?fieldSelector=metadata.name%3Da&limit=x",
                "list  configmaps  x ",
            ),
            (
                "DELETE",
                "/api/v1/namespaces/x/configmaps?fieldSelector=metadata.name%3Da",
                "deletecollection  configmaps  x ",
            ),
            ("GET", "/api/v1/namespaces/x", "get  namespaces  x x"),
            (
                "PUT",
                "/api/v1/namespaces/x/finalize",
                "update  namespaces finalize x x",
            ),
            ("GET", "/api/v1/namespaces", "list  namespaces   "),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/x/deployments/a/status",
                "patch apps deployments status x a",
            ),
            (
                "POST",
                "/apis/none.example.com/v1/things",
                "create none.example.com things   ",
            ),
            ("HEAD", "/api/v1/nodes/n", "get  nodes   n"),
            ("GET", "/api/v1", "get /api/v1"),
            ("GET", "/apis/apps/v1/", "get /apis/apps/v1/"),
            ("POST", "/metrics", "post /metrics"),
            ("GET", "/", "get /"),
        ] {
            let (bare, query) = path
                .split_once('?')
                .map_or((path, None), |(bare, query)| (bare, Some(query)));
            let found = Attributes::of(
                &Method::from_bytes(method.as_bytes()).expect("a method"),
                bare,
                query,
            );
            let shown = if found.is_resource {
                format!(
                    "{} {} {} {} {} {}",
                    found.verb,
                    found.group,
                    found.resource,
                    found.subresource,
                    found.namespace,
                    found.name
                )
            } else {
                format!("{} {}", found.verb, found.path)
            };
            assert_eq!(shown, want, "{method} {path}");
        }
    }
}
