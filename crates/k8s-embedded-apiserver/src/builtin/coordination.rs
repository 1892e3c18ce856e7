//! The group `coordination.k8s.io`.

use crate::kinds::Kind;
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(("coordination.k8s.io", "v1", "Lease"), "leases", "lease")
            .created_by_put()
            .needs_version()
            .defaults(defaults::coordination::lease)
            .on_create(defaults::coordination::drop_disabled)
            .on_update(|object, _, _| defaults::coordination::drop_disabled(object))
            .validated(validation::coordination::lease),
    ]
}
