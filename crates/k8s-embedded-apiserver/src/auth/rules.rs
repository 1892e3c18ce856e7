//! Rules of roles: what they allow, and whether some rules grant all that others do.

use std::collections::BTreeMap;

use k8s_api_schema::quote;
use serde::Deserialize;
use serde_json::Value;

use super::attributes::Attributes;

/// One entry of `rules`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) api_groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    pub(crate) non_resource_urls: Vec<String>,
}

fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|found| found == text)
}

fn has_or_all(list: &[String], text: &str) -> bool {
    list.iter().any(|found| found == "*" || found == text)
}

impl Rule {
    /// The rules of a role; what is no rule is passed over.
    pub(crate) fn all_of(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules
            .into_iter()
            .flatten()
            .filter_map(|rule| Self::deserialize(rule).ok())
            .collect()
    }

    /// Whether the rule allows what is asked for.
    pub(crate) fn allows(&self, asked: &Attributes) -> bool {
        if !has_or_all(&self.verbs, &asked.verb) {
            return false;
        }
        if !asked.is_resource {
            return self
                .non_resource_urls
                .iter()
                .any(|url| matches_url(url, &asked.path));
        }
        has_or_all(&self.api_groups, &asked.group)
            && self.allows_resource(&asked.resource, &asked.subresource)
            && (self.resource_names.is_empty() || has(&self.resource_names, &asked.name))
    }

    fn allows_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|found| {
            if found == "*" {
                return true;
            }
            match found.split_once('/') {
                None => subresource.is_empty() && found == resource,
                Some((of, inner)) => {
                    !subresource.is_empty() && inner == subresource && (of == "*" || of == resource)
                }
            }
        })
    }

    /// Rules of one verb, resource and name each that grant the same together.
    fn broken_down(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let names: Vec<Vec<String>> = if self.resource_names.is_empty() {
            vec![Vec::new()]
        } else {
            self.resource_names
                .iter()
                .map(|name| vec![name.clone()])
                .collect()
        };
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    all.extend(names.iter().map(|names| Self {
                        verbs: vec![verb.clone()],
                        api_groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        resource_names: names.clone(),
                        ..Self::default()
                    }));
                }
            }
        }
        for url in &self.non_resource_urls {
            all.extend(self.verbs.iter().map(|verb| Self {
                verbs: vec![verb.clone()],
                non_resource_urls: vec![url.clone()],
                ..Self::default()
            }));
        }
        all
    }

    /// Whether this rule grants all that `part`, which is broken down, does.
    fn covers(&self, part: &Self) -> bool {
        let all_in =
            |own: &[String], wanted: &[String]| wanted.iter().all(|text| has_or_all(own, text));
        all_in(&self.verbs, &part.verbs)
            && all_in(&self.api_groups, &part.api_groups)
            && part
                .resources
                .iter()
                .all(|resource| self.covers_resource(resource))
            && part.non_resource_urls.iter().all(|url| {
                self.non_resource_urls
                    .iter()
                    .any(|own| covers_url(own, url))
            })
            && (self.resource_names.is_empty()
                || !part.resource_names.is_empty()
                    && part
                        .resource_names
                        .iter()
                        .all(|name| has(&self.resource_names, name)))
    }

    fn covers_resource(&self, resource: &str) -> bool {
        has_or_all(&self.resources, resource)
            || resource
                .split_once('/')
                .is_some_and(|(_, inner)| has(&self.resources, &format!("*/{inner}")))
    }

    /// The rule as refusals of an escalation show it.
    fn compact(&self) -> String {
        let parts: Vec<String> = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ]
        .into_iter()
        .filter(|(_, texts)| !texts.is_empty())
        .map(|(name, texts)| format!("{name}:{}", quote_all(texts)))
        .collect();
        format!("{{{}}}", parts.join(", "))
    }
}

/// Texts as Go prints a list of quoted ones.
pub(super) fn quote_all(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(" "))
}

fn matches_url(rule: &str, path: &str) -> bool {
    rule == "*" || covers_url(rule, path)
}

fn covers_url(own: &str, path: &str) -> bool {
    own == path || own.ends_with('*') && path.starts_with(own.trim_end_matches('*'))
}

/// What `wanted` grants and `owned` does not, in words, sorted. Empty where nothing is missing.
pub(super) fn missing(owned: &[Rule], wanted: &[Rule]) -> Vec<String> {
    let mut whole = Vec::new();
    // Rules that differ in their verbs alone are told as one.
    let mut by_resource: BTreeMap<(String, String, Vec<String>), Rule> = BTreeMap::new();
    for part in wanted.iter().flat_map(Rule::broken_down) {
        if owned.iter().any(|rule| rule.covers(&part)) {
            continue;
        }
        if !part.non_resource_urls.is_empty() {
            whole.push(part);
            continue;
        }
        let key = (
            part.api_groups[0].clone(),
            part.resources[0].clone(),
            part.resource_names.clone(),
        );
        match by_resource.get_mut(&key) {
            Some(rule) => rule.verbs.extend(part.verbs),
            None => {
                by_resource.insert(key, part);
            }
        }
    }
    let mut texts: Vec<String> = whole
        .iter()
        .chain(by_resource.values())
        .map(Rule::compact)
        .collect();
    texts.sort();
    texts.dedup();
    texts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(rule: Value) -> Rule {
        Rule::deserialize(rule).expect("a rule")
    }

    fn resource(
        verb: &str,
        group: &str,
        resource: &str,
        subresource: &str,
        name: &str,
    ) -> Attributes {
        Attributes {
            subresource: subresource.into(),
            ..Attributes::resource(verb, group, resource, name)
        }
    }

    #[test]
    fn rules_of_resources() {
        let pods = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]});
        let all = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
        let logs = json!({"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]});
        let statuses = json!({"apiGroups": ["apps"], "resources": ["*/status"], "verbs": ["get"]});
        let named = json!({"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["*"]});
        for (rules, asked, want) in [
            (&pods, resource("get", "", "pods", "", "x"), true),
            (&pods, resource("watch", "", "pods", "", ""), false),
            (&pods, resource("get", "apps", "pods", "", "x"), false),
            (&pods, resource("get", "", "pods", "log", "x"), false),
            (&all, resource("anything", "x.y", "pods", "log", "x"), true),
            (&logs, resource("get", "", "pods", "log", "x"), true),
            (&logs, resource("get", "", "pods", "", "x"), false),
            (
                &statuses,
                resource("get", "apps", "deployments", "status", "x"),
                true,
            ),
            (
                &statuses,
                resource("get", "apps", "deployments", "scale", "x"),
                false,
            ),
            (
                &statuses,
                resource("get", "apps", "deployments", "", "x"),
                false,
            ),
            (&named, resource("get", "", "pods", "", "a"), true),
            (&named, resource("get", "", "pods", "", "b"), false),
            (&named, resource("list", "", "pods", "", ""), false),
            (&named, resource("create", "", "pods", "", ""), false),
        ] {
            assert_eq!(
                rule(rules.clone()).allows(&asked),
                want,
                "{rules} {asked:?}"
            );
        }
    }

    #[test]
    fn rules_of_paths() {
        let path = |verb: &str, path: &str| Attributes {
            verb: verb.into(),
            path: path.into(),
            ..Attributes::default()
        };
        for (url, asked, want) in [
            ("/healthz", "/healthz", true),
            ("/healthz", "/healthz/ping", false),
            ("/healthz/*", "/healthz/ping", true),
            ("/healthz/*", "/healthz", false),
            ("/api*", "/apis/apps", true),
            ("*", "/metrics", true),
        ] {
            let own = rule(json!({"nonResourceURLs": [url], "verbs": ["get"]}));
            assert_eq!(own.allows(&path("get", asked)), want, "{url} {asked}");
            assert!(!own.allows(&path("post", asked)));
            assert!(!own.allows(&resource("get", "", "pods", "", "")));
        }
    }

    #[test]
    fn what_is_missing_is_told_by_resource() {
        let owned = [rule(
            json!({"apiGroups": [""], "resources": ["configmaps", "*/status"], "verbs": ["get", "list"]}),
        )];
        let wanted = [
            rule(
                json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "delete", "patch"]}),
            ),
            rule(json!({"apiGroups": [""], "resources": ["pods/status"], "verbs": ["get"]})),
            rule(
                json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["x", "y"], "verbs": ["get"]}),
            ),
            rule(json!({"nonResourceURLs": ["/metrics"], "verbs": ["get", "post"]})),
        ];
        assert_eq!(
            missing(&owned, &wanted),
            [
                r#"{APIGroups:[""], Resources:["configmaps"], Verbs:["delete" "patch"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["x"], Verbs:["get"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["y"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/metrics"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/metrics"], Verbs:["post"]}"#,
            ]
        );
        let named = [rule(
            json!({"apiGroups": ["*"], "resources": ["*"], "resourceNames": ["x"], "verbs": ["*"]}),
        )];
        assert_eq!(missing(&named, &wanted[2..3]).len(), 1);
    }
}
