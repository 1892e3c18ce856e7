//! Role-based access control: roles and bindings as they are stored, indexed by who is bound.
//!
//! The index follows the store by its versions: before a question is answered it takes in the writes that came since
//! the last one. A question then looks at the bindings of its user and groups alone, cluster-wide and in its namespace.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use k8s_api_schema::quote;
use serde_json::Value;

use super::attributes::Attributes;
use super::rules::Rule;
use super::service_account;
use super::user::User;
use crate::metadata::{self, text};
use crate::selector::ObjectSelector;
use crate::store::Store;

pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
pub(crate) const ROLES: &str = "roles.rbac.authorization.k8s.io";
pub(crate) const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
pub(crate) const ROLE_BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";
pub(crate) const CLUSTER_ROLE_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";

const FOLLOWED: [&str; 4] = [ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS];

/// Whom a binding binds. Service accounts are users.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Subject {
    User(String),
    Group(String),
}

/// The role that a binding refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoleRef {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl RoleRef {
    pub(crate) fn of(binding: &Value) -> Self {
        Self {
            group: text(binding, "/roleRef/apiGroup").into(),
            kind: text(binding, "/roleRef/kind").into(),
            name: text(binding, "/roleRef/name").into(),
        }
    }
}

#[derive(Clone, Debug)]
struct Binding {
    name: String,
    role: RoleRef,
    /// In the order of the binding, each with how it is told.
    subjects: Vec<(Subject, String)>,
}

#[derive(Debug)]
struct ClusterRole {
    rules: Arc<[Rule]>,
    labels: Value,
    /// Empty where the role does not aggregate others.
    selectors: Vec<ObjectSelector>,
}

/// The answer of the authorizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    pub(crate) reason: String,
}

/// The index.
#[derive(Debug, Default)]
pub(crate) struct Rbac {
    /// Version of the store that the index is of.
    version: Option<u64>,
    roles: HashMap<String, Arc<[Rule]>>,
    cluster_roles: BTreeMap<String, ClusterRole>,
    /// By namespace, `None` for cluster-wide ones, and name.
    bindings: HashMap<Option<String>, BTreeMap<String, Arc<Binding>>>,
    bound: HashMap<Option<String>, HashMap<Subject, BTreeSet<String>>>,
    /// Rules of roles that aggregate others; emptied when any cluster role changes.
    aggregated: RefCell<HashMap<String, Arc<[Rule]>>>,
}

/// A role that a user has: where from, and its rules or why there are none.
struct Grant {
    source: String,
    rules: Result<Arc<[Rule]>, Missing>,
}

/// A role that a binding refers to and that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing(pub(crate) RoleRef);

impl Missing {
    pub(crate) fn message(&self) -> String {
        let name = quote(&self.0.name);
        match self.0.kind.as_str() {
            "Role" => format!("role.{GROUP} {name} not found"),
            "ClusterRole" => format!("clusterrole.{GROUP} {name} not found"),
            other => format!("unsupported role reference kind: {}", quote(other)),
        }
    }
}

impl Rbac {
    /// Takes in what was written since the last time.
    pub(crate) fn follow(&mut self, store: &Store) {
        let version = store.version();
        if self.version == Some(version) {
            return;
        }
        for storage in FOLLOWED {
            let changes = self.version.map(|since| store.changes(storage, since, 0));
            if let Some(Ok((changes, _))) = changes {
                for change in changes {
                    let after = change.after.as_ref().map(|object| object.value());
                    self.take(storage, &change.key, after.as_ref());
                }
            } else {
                self.forget(storage);
                for (key, object) in store.range(storage, None, None) {
                    self.take(storage, key, Some(&object.value()));
                }
            }
        }
        self.version = Some(version);
    }

    fn forget(&mut self, storage: &str) {
        match storage {
            ROLES => self.roles.clear(),
            CLUSTER_ROLES => self.cluster_roles.clear(),
            _ => {
                let cluster = storage == CLUSTER_ROLE_BINDINGS;
                self.bindings
                    .retain(|namespace, _| namespace.is_none() != cluster);
                self.bound
                    .retain(|namespace, _| namespace.is_none() != cluster);
            }
        }
        self.aggregated.get_mut().clear();
    }

    fn take(&mut self, storage: &str, key: &str, after: Option<&Value>) {
        match storage {
            ROLES => match after {
                Some(role) => {
                    self.roles.insert(key.into(), Rule::all_of(role).into());
                }
                None => {
                    self.roles.remove(key);
                }
            },
            CLUSTER_ROLES => {
                self.aggregated.get_mut().clear();
                match after {
                    Some(role) => {
                        self.cluster_roles.insert(key.into(), ClusterRole::of(role));
                    }
                    None => {
                        self.cluster_roles.remove(key);
                    }
                }
            }
            ROLE_BINDINGS => {
                if let Some((namespace, name)) = key.split_once('/') {
                    self.bind(Some(namespace), name, after);
                }
            }
            _ => self.bind(None, key, after),
        }
    }

    fn bind(&mut self, namespace: Option<&str>, name: &str, after: Option<&Value>) {
        let place = namespace.map(String::from);
        let bindings = self.bindings.entry(place.clone()).or_default();
        let bound = self.bound.entry(place.clone()).or_default();
        if let Some(before) = bindings.remove(name) {
            for (subject, _) in &before.subjects {
                if let Some(names) = bound.get_mut(subject) {
                    names.remove(name);
                    if names.is_empty() {
                        bound.remove(subject);
                    }
                }
            }
        }
        if let Some(binding) = after {
            let binding = Binding::of(binding, namespace);
            for (subject, _) in &binding.subjects {
                bound
                    .entry(subject.clone())
                    .or_default()
                    .insert(name.into());
            }
            bindings.insert(name.into(), Arc::new(binding));
        }
        if bindings.is_empty() {
            self.bindings.remove(&place);
            self.bound.remove(&place);
        }
    }

    /// The bindings of a user, cluster-wide ones first, each kind in the order of names.
    fn grants<'a>(
        &'a self,
        user: &'a User,
        namespace: &'a str,
    ) -> impl Iterator<Item = Grant> + 'a {
        let local = (!namespace.is_empty()).then(|| Some(namespace.to_owned()));
        std::iter::once(None).chain(local).flat_map(move |place| {
            self.bindings_of(user, place.as_ref())
                .into_iter()
                .map(move |(binding, told)| self.grant(&binding, &told, place.as_deref()))
        })
    }

    fn bindings_of(&self, user: &User, place: Option<&String>) -> Vec<(Arc<Binding>, String)> {
        let place = place.cloned();
        let (Some(bindings), Some(bound)) = (self.bindings.get(&place), self.bound.get(&place))
        else {
            return Vec::new();
        };
        let groups = user
            .groups
            .iter()
            .map(|group| Subject::Group(group.clone()));
        let own: Vec<Subject> = std::iter::once(Subject::User(user.name.clone()))
            .chain(groups)
            .collect();
        let names: BTreeSet<&String> = own
            .iter()
            .filter_map(|subject| bound.get(subject))
            .flatten()
            .collect();
        names
            .into_iter()
            .filter_map(|name| bindings.get(name))
            .filter_map(|binding| {
                let (_, told) = binding
                    .subjects
                    .iter()
                    .find(|(subject, _)| own.contains(subject))?;
                Some((binding.clone(), told.clone()))
            })
            .collect()
    }

    fn grant(&self, binding: &Binding, subject: &str, namespace: Option<&str>) -> Grant {
        let role = &binding.role;
        let (kind, name) = match namespace {
            None => ("ClusterRoleBinding", binding.name.clone()),
            Some(namespace) => ("RoleBinding", format!("{}/{namespace}", binding.name)),
        };
        let source = format!(
            "{kind} {} of {} {} to {subject}",
            quote(&name),
            role.kind,
            quote(&role.name)
        );
        Grant {
            source,
            rules: self.role(role, namespace.unwrap_or_default()),
        }
    }

    /// The rules of the role that a binding in a namespace refers to.
    pub(crate) fn role(&self, role: &RoleRef, namespace: &str) -> Result<Arc<[Rule]>, Missing> {
        let found = match role.kind.as_str() {
            "Role" => self
                .roles
                .get(&format!("{namespace}/{}", role.name))
                .cloned(),
            "ClusterRole" => self.cluster_role(&role.name),
            _ => None,
        };
        found.ok_or_else(|| Missing(role.clone()))
    }

    /// The rules of a cluster role, those that it aggregates among them.
    fn cluster_role(&self, name: &str) -> Option<Arc<[Rule]>> {
        let role = self.cluster_roles.get(name)?;
        if role.selectors.is_empty() {
            return Some(role.rules.clone());
        }
        if let Some(known) = self.aggregated.borrow().get(name) {
            return Some(known.clone());
        }
        let mut rules = Vec::new();
        self.aggregate(name, &mut BTreeSet::new(), &mut rules);
        let rules: Arc<[Rule]> = rules.into();
        self.aggregated
            .borrow_mut()
            .insert(name.into(), rules.clone());
        Some(rules)
    }

    fn aggregate(&self, name: &str, seen: &mut BTreeSet<String>, rules: &mut Vec<Rule>) {
        let Some(role) = self
            .cluster_roles
            .get(name)
            .filter(|_| seen.insert(name.into()))
        else {
            return;
        };
        for rule in role.rules.iter() {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        for selector in &role.selectors {
            let selected = |other: &ClusterRole| selector.matches(other.labels.as_object());
            for (other, _) in self
                .cluster_roles
                .iter()
                .filter(|(_, other)| selected(other))
            {
                self.aggregate(other, seen, rules);
            }
        }
    }

    /// Whether a user may do what is asked.
    pub(crate) fn decide(&self, user: &User, asked: &Attributes) -> Decision {
        let mut missing = Vec::new();
        for grant in self.grants(user, &asked.namespace) {
            match grant.rules {
                Ok(rules) if rules.iter().any(|rule| rule.allows(asked)) => {
                    return Decision {
                        allowed: true,
                        reason: format!("RBAC: allowed by {}", grant.source),
                    };
                }
                Ok(_) => {}
                Err(role) => missing.push(role.message()),
            }
        }
        Decision {
            allowed: false,
            reason: together(missing).map_or(String::new(), |text| format!("rbac: RBAC: {text}")),
        }
    }

    /// All rules of a user in a namespace, and what could not be found.
    pub(crate) fn rules(&self, user: &User, namespace: &str) -> (Vec<Rule>, Option<String>) {
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        for grant in self.grants(user, namespace) {
            match grant.rules {
                Ok(found) => rules.extend(found.iter().cloned()),
                Err(role) => missing.push(role.message()),
            }
        }
        (rules, together(missing))
    }
}

/// Several errors as one text, each told once.
fn together(mut texts: Vec<String>) -> Option<String> {
    let mut seen = BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    match texts.len() {
        0 => None,
        1 => texts.pop(),
        _ => Some(format!("[{}]", texts.join(", "))),
    }
}

impl ClusterRole {
    fn of(role: &Value) -> Self {
        let selectors = role
            .pointer("/aggregationRule/clusterRoleSelectors")
            .and_then(Value::as_array);
        Self {
            rules: Rule::all_of(role).into(),
            labels: role
                .pointer("/metadata/labels")
                .cloned()
                .unwrap_or_default(),
            selectors: selectors
                .into_iter()
                .flatten()
                .map(ObjectSelector::of)
                .collect(),
        }
    }
}

impl Binding {
    fn of(binding: &Value, namespace: Option<&str>) -> Self {
        let subjects = binding.get("subjects").and_then(Value::as_array);
        Self {
            name: metadata::name(binding).into(),
            role: RoleRef::of(binding),
            subjects: subjects
                .into_iter()
                .flatten()
                .filter_map(|subject| subject_of(subject, namespace))
                .collect(),
        }
    }
}

/// Whom an entry of `subjects` means; nobody where it is a service account without a namespace.
fn subject_of(subject: &Value, namespace: Option<&str>) -> Option<(Subject, String)> {
    let (kind, name) = (text(subject, "/kind"), text(subject, "/name"));
    match kind {
        "User" => Some((
            Subject::User(name.into()),
            format!("{kind} {}", quote(name)),
        )),
        "Group" => Some((
            Subject::Group(name.into()),
            format!("{kind} {}", quote(name)),
        )),
        "ServiceAccount" => {
            let own = Some(text(subject, "/namespace")).filter(|own| !own.is_empty());
            let namespace = own.or(namespace)?;
            let told = format!("{kind} {}", quote(&format!("{name}/{namespace}")));
            Some((
                Subject::User(service_account::user_name(namespace, name)),
                told,
            ))
        }
        _ => None,
    }
}
