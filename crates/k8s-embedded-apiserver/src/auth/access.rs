//! What a server knows of users and their rights.

use std::collections::HashMap;
use std::sync::Arc;

use super::attributes::Attributes;
use super::impersonation::Mode;
use super::rbac::{Decision, Rbac};
use super::tokens::Signer;
use super::user::User;
use crate::status::Failure;
use crate::store::Store;

/// Users, tokens and, where it is switched on, RBAC.
#[derive(Debug)]
pub(crate) struct Access {
    /// Who asks without credentials; nobody if that is refused.
    pub(crate) default_user: Option<Arc<User>>,
    /// Users by their bearer tokens.
    pub(crate) tokens: HashMap<String, Arc<User>>,
    /// Signs tokens of service accounts.
    pub(crate) signer: Signer,
    rbac: Option<Rbac>,
    /// How each user last made a request in the name of another.
    pub(super) modes: HashMap<String, Mode>,
}

/// How many users' modes are remembered; beyond, all are forgotten.
const MODES: usize = 10_000;

impl Access {
    pub(crate) fn new(signer: Signer) -> Self {
        Self {
            default_user: Some(Arc::new(User::admin())),
            tokens: HashMap::new(),
            signer,
            rbac: None,
            modes: HashMap::new(),
        }
    }

    pub(super) fn remember_mode(&mut self, user: &str, mode: Mode) {
        if self.modes.get(user) == Some(&mode) {
            return;
        }
        if self.modes.len() >= MODES {
            self.modes.clear();
        }
        self.modes.insert(user.to_owned(), mode);
    }

    /// From now on only what roles allow may be done.
    pub(crate) fn enforce_roles(&mut self) {
        self.rbac = Some(Rbac::default());
    }

    /// The roles, where they matter for a user.
    pub(super) fn roles_of(&mut self, store: &Store, user: &User) -> Option<&Rbac> {
        let rbac = self.rbac.as_mut().filter(|_| !user.is_master())?;
        rbac.follow(store);
        Some(rbac)
    }

    /// The roles, where they are enforced at all.
    pub(super) fn roles(&mut self, store: &Store) -> Option<&Rbac> {
        let rbac = self.rbac.as_mut()?;
        rbac.follow(store);
        Some(rbac)
    }

    /// Whether a user may do what is asked.
    pub(crate) fn decide(&mut self, store: &Store, user: &User, asked: &Attributes) -> Decision {
        match self.roles_of(store, user) {
            Some(rbac) => rbac.decide(user, asked),
            None => Decision {
                allowed: true,
                reason: String::new(),
            },
        }
    }

    /// 403 unless a user may do what is asked.
    pub(crate) fn authorize(
        &mut self,
        store: &Store,
        user: &User,
        asked: &Attributes,
    ) -> Result<(), Failure> {
        let decision = self.decide(store, user, asked);
        if decision.allowed {
            return Ok(());
        }
        Err(asked.forbidden(user, &decision.reason))
    }

    /// Whether questions need not be asked for a user.
    pub(crate) fn may_do_all(&self, user: &User) -> bool {
        self.rbac.is_none() || user.is_master()
    }
}
