//! The admission plugin OwnerReferencesPermissionEnforcement: owners decide when an object goes, so that whoever sets
//! them needs leave to delete it.

use serde_json::Value;

use super::attributes::Attributes;
use crate::lifecycle::State;
use crate::metadata;
use crate::status::Failure;
use crate::verbs::Call;

/// 403 for a change of owner references that the user has no right to.
pub(crate) fn check(
    state: &mut State,
    call: &Call,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Failure> {
    let kind = call.kind();
    if state.access.may_do_all(&call.user) {
        return Ok(());
    }
    let subresource = call.target.subresource.as_deref().unwrap_or_default();
    let references = |object: &Value| object.pointer("/metadata/ownerReferences").cloned();
    if kind.storage == "pods" && subresource == "status"
        || references(object) == old.and_then(references)
    {
        return Ok(());
    }
    let namespace = call.target.namespace.as_deref().unwrap_or_default();
    let name = metadata::name(object);
    let refuse = |why: &str, reason: &str| {
        let why = format!("{why}: {reason}, <nil>");
        Err(Failure::forbidden(&kind.group, &kind.plural, name, &why))
    };
    let user = call.user.clone();
    if old.is_some() {
        let asked = Attributes {
            namespace: namespace.into(),
            subresource: subresource.into(),
            ..Attributes::resource("delete", &kind.group, &kind.plural, name)
        };
        let decision = state.access.decide(&state.store, &user, &asked);
        if !decision.allowed {
            return refuse(
                "cannot set an ownerRef on a resource you can't delete",
                &decision.reason,
            );
        }
    }
    let before = old.map(metadata::owners).unwrap_or_default();
    let new_blocking = metadata::owners(object).into_iter().filter(|owner| {
        let known = before.iter().find(|known| known.uid == owner.uid);
        owner.blocks && known.is_none_or(|known| !known.blocks)
    });
    for owner in new_blocking {
        let Some(owner_kind) = state.registry.by_kind(&owner.api_version, &owner.kind) else {
            let (version, kind_name) = (&owner.api_version, &owner.kind);
            let why = format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version} Kind {kind_name}: no matches for kind {} in version {}",
                k8s_api_schema::quote(kind_name),
                k8s_api_schema::quote(version),
            );
            return Err(Failure::forbidden(&kind.group, &kind.plural, name, &why));
        };
        let asked = Attributes {
            namespace: if owner_kind.namespaced { namespace } else { "" }.into(),
            subresource: "finalizers".into(),
            ..Attributes::resource("update", &owner_kind.group, &owner_kind.plural, &owner.name)
        };
        let decision = state.access.decide(&state.store, &user, &asked);
        if !decision.allowed {
            let why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
            return refuse(why, &decision.reason);
        }
    }
    Ok(())
}
