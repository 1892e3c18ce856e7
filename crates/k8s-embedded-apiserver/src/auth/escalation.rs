//! Nobody grants what they do not have themselves, unless a role lets them.

use serde_json::Value;

use super::attributes::Attributes;
use super::rbac::{GROUP, Missing, Rbac, RoleRef};
use super::rules::{Rule, missing, quote_all};
use super::user::User;
use crate::lifecycle::State;
use crate::metadata::{self, copy_key, metadata_mut};
use crate::status::Failure;
use crate::verbs::Call;

/// 403 for a role or binding that grants more than its writer has.
pub(crate) fn check(
    state: &mut State,
    call: &Call,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Failure> {
    let kind = call.kind();
    if kind.group != GROUP || old.is_some_and(|old| only_for_garbage_collection(object, old)) {
        return Ok(());
    }
    let user = &*call.user;
    let Some(rbac) = state.access.roles_of(&state.store, user) else {
        return Ok(());
    };
    let namespace = call.target.namespace.as_deref().unwrap_or_default();
    let checked = Checked {
        rbac,
        user,
        namespace,
    };
    let refused = match &*kind.plural {
        "roles" | "clusterroles" => {
            let name = call.target.name.as_deref().unwrap_or_default();
            if checked.may("escalate", &kind.plural, name) {
                return Ok(());
            }
            checked.role(object, old)
        }
        "rolebindings" | "clusterrolebindings" => {
            let role = RoleRef::of(object);
            if checked.may_bind(&role) {
                return Ok(());
            }
            match rbac.role(&role, namespace) {
                Ok(rules) => checked.escalation(&rules),
                Err(Missing(role)) if matches!(&*role.kind, "Role" | "ClusterRole") => {
                    return Err(Failure::not_found(GROUP, &kind.plural, &role.name));
                }
                Err(missing) => return Err(Failure::unclassified(missing.message())),
            }
        }
        _ => None,
    };
    match refused {
        Some(why) => Err(Failure::forbidden(
            GROUP,
            &kind.plural,
            metadata::name(object),
            &why,
        )),
        None => Ok(()),
    }
}

struct Checked<'a> {
    rbac: &'a Rbac,
    user: &'a User,
    namespace: &'a str,
}

impl Checked<'_> {
    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let asked = Attributes {
            namespace: self.namespace.into(),
            ..Attributes::resource(verb, GROUP, resource, name)
        };
        self.rbac.decide(self.user, &asked).allowed
    }

    fn may_bind(&self, role: &RoleRef) -> bool {
        let resource = match role.kind.as_str() {
            "Role" => "roles",
            "ClusterRole" => "clusterroles",
            _ => return false,
        };
        let asked = Attributes {
            namespace: self.namespace.into(),
            ..Attributes::resource("bind", &role.group, resource, &role.name)
        };
        self.rbac.decide(self.user, &asked).allowed
    }

    fn role(&self, object: &Value, old: Option<&Value>) -> Option<String> {
        let aggregates = |role: &Value| {
            let selectors = role.pointer("/aggregationRule/clusterRoleSelectors");
            selectors
                .and_then(Value::as_array)
                .is_some_and(|list| !list.is_empty())
        };
        self.escalation(&Rule::all_of(object)).or_else(|| {
            let any = aggregates(object) || old.is_some_and(aggregates);
            let refused = any && self.escalation(&full_authority()).is_some();
            refused.then(|| "must have cluster-admin privileges to use the aggregationRule".into())
        })
    }

    /// What the user lacks of `rules`, in the words of the real server.
    fn escalation(&self, rules: &[Rule]) -> Option<String> {
        let (owned, unresolved) = self.rbac.rules(self.user, self.namespace);
        let lacking = missing(&owned, rules);
        if lacking.is_empty() {
            return None;
        }
        let mut why = format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            k8s_api_schema::quote(&self.user.name),
            quote_all(&self.user.groups),
            lacking.join("\n")
        );
        if let Some(unresolved) = unresolved {
            why = format!("{why}; resolution errors: [{unresolved}]");
        }
        Some(why)
    }
}

fn full_authority() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    [
        Rule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            ..Rule::default()
        },
        Rule {
            verbs: all(),
            non_resource_urls: all(),
            ..Rule::default()
        },
    ]
}

/// Whether an update changes but what the garbage collector needs to change.
fn only_for_garbage_collection(object: &Value, old: &Value) -> bool {
    let mut object = object.clone();
    let before = old.get("metadata").cloned().unwrap_or_default();
    let metadata = metadata_mut(&mut object);
    for key in [
        "ownerReferences",
        "finalizers",
        "managedFields",
        "resourceVersion",
    ] {
        copy_key(&before, metadata, key);
    }
    object == *old
}
