//! A user, as `authentication.k8s.io` describes one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Its members may do everything, whatever the roles say.
pub(crate) const MASTERS: &str = "system:masters";
/// Every user but the anonymous one is a member.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The anonymous user's group.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Name of who shows no credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// Who makes a request.
///
/// ```
/// use k8s_embedded_apiserver::User;
///
/// let user = User::new("jane", ["developers"]);
/// assert_eq!(user.groups, ["developers", "system:authenticated"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// The name, unique among all users.
    pub name: String,
    /// Tells users apart who have had the same name.
    pub uid: String,
    /// The groups that the user is a member of.
    pub groups: Vec<String>,
    /// What else is known of the user.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user with a name, in the groups given and, as every user whom a real server knows, in `system:authenticated`.
    pub fn new<G: Into<String>>(
        name: impl Into<String>,
        groups: impl IntoIterator<Item = G>,
    ) -> Self {
        let mut user = Self {
            name: name.into(),
            groups: groups.into_iter().map(Into::into).collect(),
            ..Self::default()
        };
        user.join(AUTHENTICATED);
        user
    }

    /// The user `admin` in the group `system:masters`, who may do everything.
    #[must_use]
    pub fn admin() -> Self {
        Self::new("admin", [MASTERS])
    }

    /// Who shows no credentials: `system:anonymous` in the group `system:unauthenticated`.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.into(),
            groups: vec![UNAUTHENTICATED.into()],
            ..Self::default()
        }
    }

    /// A service account of a namespace, in the groups of service accounts.
    #[must_use]
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self::new(
            super::service_account::user_name(namespace, name),
            super::service_account::groups(namespace),
        )
    }

    /// Sets the uid.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = uid.into();
        self
    }

    /// Adds values under a key of `extra`.
    #[must_use]
    pub fn extra<V: Into<String>>(
        mut self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.extra
            .entry(key.into())
            .or_default()
            .extend(values.into_iter().map(Into::into));
        self
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|found| found == group)
    }

    /// Whether roles do not matter for this user.
    pub(crate) fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    /// Makes the user a member of a group.
    pub(crate) fn join(&mut self, group: &str) {
        if !self.is_in(group) {
            self.groups.push(group.into());
        }
    }

    /// The `UserInfo` of the API; what is empty is left out.
    pub(crate) fn to_json(&self) -> Value {
        let mut map = Map::new();
        for (key, text) in [("username", &self.name), ("uid", &self.uid)] {
            if !text.is_empty() {
                map.insert(key.into(), text.as_str().into());
            }
        }
        if !self.groups.is_empty() {
            map.insert("groups".into(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            map.insert("extra".into(), json!(self.extra));
        }
        Value::Object(map)
    }
}
