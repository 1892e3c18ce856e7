//! The group `node.k8s.io`.

use k8s_openapi::api::node::v1 as node;

use crate::codec::typed;
use crate::kinds::Kind;
use crate::validation;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("node.k8s.io", "v1", "RuntimeClass"),
            "runtimeclasses",
            "runtimeclass",
            typed::<node::RuntimeClass>,
        )
        .cluster()
        .created_by_put()
        .needs_version()
        .validated(validation::nodes::runtime_class),
    ]
}
