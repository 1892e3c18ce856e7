//! Every namespace has a ServiceAccount `default`.

use serde_json::json;

use super::{State, Task};
use crate::metadata::Meta as _;
use crate::object::Object;
use crate::store::{self, Place};

/// Collection of the service accounts.
const SERVICE_ACCOUNTS: &str = "serviceaccounts";
const DEFAULT: &str = "default";

impl State {
    /// Notes that the account of a namespace went, so that it comes again.
    pub(super) fn note_missing_account(&mut self, place: &Place, removed: &Object) {
        let missing = self.controllers.service_accounts
            && place.storage == SERVICE_ACCOUNTS
            && removed.name() == DEFAULT;
        if missing {
            let delay = self.controllers.delay;
            let task = Task::DefaultAccount(removed.namespace().to_owned());
            self.agenda.after(delay, task);
        }
    }

    /// Makes the account of a namespace that has none and is not going away.
    pub(super) fn default_account(&mut self, namespace: &str) {
        let place = Place {
            storage: SERVICE_ACCOUNTS.into(),
            key: store::key(Some(namespace), DEFAULT),
        };
        let active = self
            .namespace(namespace)
            .is_some_and(|found| !found.is_deleting());
        if !active || self.store.at(&place).is_some() {
            return;
        }
        let object = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {
                "name": DEFAULT,
                "namespace": namespace,
                "uid": self.source.uid(),
                "creationTimestamp": self.source.stamp(),
            },
        });
        self.put(&place, object);
    }
}
