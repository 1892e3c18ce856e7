//! The group `node.k8s.io`.

use crate::kinds::Kind;
use crate::validation;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("node.k8s.io", "v1", "RuntimeClass"),
            "runtimeclasses",
            "runtimeclass",
        )
        .cluster()
        .created_by_put()
        .needs_version()
        .validated(validation::nodes::runtime_class),
    ]
}
