//! Who owns which fields: what writes do to `metadata.managedFields`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use k8s_api_schema::{Field, Scalar, Schema, Struct, Type, TypeId};
use k8s_structured_merge::{
    Managed, Path, PathElement, ReplicasPaths, Set, TypeRef, Versions, Writer, empty_object,
};
use serde_json::{Value, json};

use crate::body;
use crate::definitions;
use crate::kinds::Kind;
use crate::metadata::{self, metadata_mut};
use crate::registry::Registry;
use crate::source::Source;

/// The longest name of a manager, in bytes.
pub(crate) const MAX_MANAGER: usize = 128;

/// What writes of the server itself are made as.
pub(crate) const SERVER: &str = "kube-apiserver";

/// What writes of the built-in controllers are made as.
pub(crate) const CONTROLLERS: &str = "kube-controller-manager";

/// Whether a character may be in the name of a manager: no control or format characters, and no space but the usual one.
pub(crate) fn is_printable(c: char) -> bool {
    let is_format = matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{e000}'..='\u{f8ff}'
    );
    c == ' ' || !(c.is_control() || c.is_whitespace() || is_format)
}

/// The manager of a request that names none: the beginning of its user agent.
pub(crate) fn from_user_agent(user_agent: &str) -> String {
    let name = user_agent.split('/').next().unwrap_or_default();
    let mut manager = String::with_capacity(name.len().min(MAX_MANAGER));
    for c in name.chars().filter(|c| is_printable(*c)) {
        if manager.len() + c.len_utf8() > MAX_MANAGER {
            break;
        }
        manager.push(c);
    }
    manager
}

/// A kind in all its versions, as one of its resources is written.
struct KindVersions<'a> {
    registry: &'a Registry,
    kind: &'a Kind,
    api_version: String,
    reset: Option<&'static Set>,
}

impl<'a> KindVersions<'a> {
    fn new(registry: &'a Registry, kind: &'a Kind, subresource: &str) -> Self {
        Self {
            registry,
            kind,
            api_version: kind.api_version(),
            reset: reset_fields(kind, subresource),
        }
    }

    fn kind(&self, api_version: &str) -> Option<&Kind> {
        if api_version == self.api_version {
            return Some(self.kind);
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        // From one group to another, the server converts no entries, but drops them.
        if group != self.kind.group {
            return None;
        }
        self.registry
            .kinds()
            .find(|kind| {
                kind.version == version
                    && kind.group == group
                    && kind.storage == self.kind.storage
                    && kind.kind == self.kind.kind
            })
            .map(|kind| &**kind)
    }
}

/// The type of custom kinds whose schema is not known: the metadata of any object, and what else there is.
fn anything() -> TypeRef<'static> {
    static SCHEMA: OnceLock<(Schema, TypeId)> = OnceLock::new();
    let (schema, id) = SCHEMA.get_or_init(|| {
        let mut schema = Schema::new();
        let any = schema.push(Type::Any);
        let text = schema.push(Type::Scalar(Scalar::String));
        let builtin = k8s_api_schema::builtin();
        let metadata = builtin
            .by_name("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
            .map_or(any, |id| {
                copy_type(builtin, id, &mut schema, &mut BTreeMap::new())
            });
        let fields = [("apiVersion", text), ("kind", text), ("metadata", metadata)];
        let id = schema.push(Type::Struct(Struct {
            fields: fields
                .into_iter()
                .map(|(name, type_)| (name.to_owned(), Field::new(type_)))
                .collect(),
            atomic: false,
            rest: Some(any),
        }));
        (schema, id)
    });
    TypeRef::new(schema, *id)
}

/// Copies a type with all that it refers to into another schema.
fn copy_type(
    from: &Schema,
    id: TypeId,
    to: &mut Schema,
    copied: &mut BTreeMap<TypeId, TypeId>,
) -> TypeId {
    if let Some(known) = copied.get(&id) {
        return *known;
    }
    let new = to.push(Type::Any);
    copied.insert(id, new);
    let mut copy = |id| copy_type(from, id, to, copied);
    let type_ = match from.get(id).clone() {
        Type::Struct(mut struct_) => {
            for field in struct_.fields.values_mut() {
                field.type_ = copy(field.type_);
            }
            struct_.rest = struct_.rest.map(copy);
            Type::Struct(struct_)
        }
        Type::Map(mut map) => {
            map.values = copy(map.values);
            Type::Map(map)
        }
        Type::List(mut list) => {
            list.items = copy(list.items);
            Type::List(list)
        }
        other => other,
    };
    to.replace(new, type_);
    new
}

fn type_of(kind: &Kind) -> TypeRef<'_> {
    match &kind.types {
        Some((schema, id)) => TypeRef::new(schema, *id),
        None => anything(),
    }
}

/// The object that a create is compared with.
fn empty(kind: &Kind) -> Value {
    let mut object = match &kind.types {
        Some((schema, id)) if !kind.is_custom() => empty_object(schema, *id),
        _ => json!({}),
    };
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.as_ref().into();
    object
}

impl Versions for KindVersions<'_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.kind(api_version).map(type_of)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let from = self.kind(metadata::text(object, "/apiVersion"))?;
        let to = self.kind(api_version)?;
        let stored = (from.to_storage)(object.clone());
        Some(body::to_view(&stored, to))
    }

    fn empty(&self, api_version: &str) -> Value {
        self.kind(api_version).map(empty).unwrap_or_default()
    }

    fn reset_fields(&self, _: &str) -> Option<&Set> {
        self.reset
    }
}

/// What a write by way of a resource or subresource cannot own, since the server puts it back.
fn reset_fields(kind: &Kind, subresource: &str) -> Option<&'static Set> {
    macro_rules! fields {
        ($($path:expr),*) => {{
            static SET: OnceLock<Set> = OnceLock::new();
            Some(SET.get_or_init(|| Set::of_names(&[$(&$path),*])))
        }};
    }
    match (subresource, &*kind.storage) {
        ("" | "approval", "certificatesigningrequests.certificates.k8s.io") => {
            if subresource.is_empty() {
                fields!(["spec"], ["status"])
            } else {
                fields!(["spec"], ["status", "certificate"])
            }
        }
        ("status", "certificatesigningrequests.certificates.k8s.io") => {
            fields!(["spec"], ["status", "conditions"])
        }
        ("" | "finalize", _) if kind.status => fields!(["status"]),
        ("status", "pods") => fields!(
            ["spec"],
            ["metadata", "deletionTimestamp"],
            ["metadata", "ownerReferences"]
        ),
        ("status", "deployments.apps") => fields!(["spec"], ["metadata", "labels"]),
        ("status", storage) if kind.is_custom() || keeps_metadata(storage) => {
            fields!(["metadata"], ["spec"])
        }
        ("status", _) => fields!(["spec"]),
        _ => None,
    }
}

/// Whether a write of the status leaves the metadata of a built-in kind alone.
fn keeps_metadata(storage: &str) -> bool {
    storage == definitions::STORAGE
        || [
            "volumeattachments.storage.k8s.io",
            "csinodes.storage.k8s.io",
            "validatingadmissionpolicies.admissionregistration.k8s.io",
            "flowschemas.flowcontrol.apiserver.k8s.io",
            "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
            "servicecidrs.networking.k8s.io",
        ]
        .contains(&storage)
}

/// Who writes what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    pub(crate) kind: &'a Kind,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    pub(crate) manager: &'a str,
}

/// Writes into `new` who owns its fields after it was written over `live`; without a `live` it is a create. Both are in
/// the stored form.
pub(crate) fn track(
    registry: &Registry,
    source: &Source,
    write: Write<'_>,
    live: Option<&Value>,
    new: &mut Value,
) {
    let kind = write.kind;
    let versions = KindVersions::new(registry, kind, write.subresource);
    let now = source.stamp();
    let writer = Writer {
        manager: write.manager,
        api_version: &versions.api_version,
        subresource: write.subresource,
        now: &now,
    };
    let as_stored = !kind.is_view && metadata::text(new, "/apiVersion") == versions.api_version;
    if as_stored {
        match live {
            Some(live) => k8s_structured_merge::update(&versions, live, new, &writer),
            None => k8s_structured_merge::update(&versions, &empty(kind), new, &writer),
        }
        return;
    }
    let live = live.map_or_else(|| empty(kind), |live| body::to_view(live, kind));
    let mut view = body::to_view(new, kind);
    k8s_structured_merge::update(&versions, &live, &mut view, &writer);
    set(new, &view);
}

/// Gives `object` the entries of another.
pub(crate) fn set(object: &mut Value, from: &Value) {
    match from.pointer("/metadata/managedFields") {
        Some(fields) => {
            metadata_mut(object).insert("managedFields".into(), fields.clone());
        }
        None => {
            metadata_mut(object).remove("managedFields");
        }
    }
}

/// What a configuration makes of an object; without a `live` one it is made.
///
/// `live` and the result are in the version of the kind.
pub(crate) fn apply(
    registry: &Registry,
    source: &Source,
    write: Write<'_>,
    live: Option<&Value>,
    config: &Value,
    force: bool,
) -> Result<k8s_structured_merge::Applied, k8s_structured_merge::ApplyError> {
    let versions = KindVersions::new(registry, write.kind, write.subresource);
    let now = source.stamp();
    let writer = Writer {
        manager: write.manager,
        api_version: &versions.api_version,
        subresource: write.subresource,
        now: &now,
    };
    let made;
    let live = if let Some(live) = live {
        live
    } else {
        made = empty(write.kind);
        &made
    };
    k8s_structured_merge::apply(&versions, live, config, &writer, force)
}

/// `Scale`, which has one version.
struct ScaleVersions(Option<(Arc<Schema>, TypeId)>);

impl ScaleVersions {
    fn new() -> Self {
        let schema = k8s_api_schema::builtin();
        let id = schema.find("autoscaling", "v1", "Scale");
        Self(id.map(|id| (schema.clone(), id)))
    }
}

impl Versions for ScaleVersions {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        if api_version != SCALE {
            return None;
        }
        Some(match &self.0 {
            Some((schema, id)) => TypeRef::new(schema, *id),
            None => anything(),
        })
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        (api_version == SCALE).then(|| object.clone())
    }

    fn empty(&self, api_version: &str) -> Value {
        json!({"apiVersion": api_version, "kind": "Scale"})
    }

    fn reset_fields(&self, _: &str) -> Option<&Set> {
        None
    }
}

/// The version of `Scale`.
const SCALE: &str = "autoscaling/v1";

/// Where the versions of a kind have their replica counts.
fn replicas_paths(registry: &Registry, kind: &Kind) -> ReplicasPaths {
    let path = |pointer: &str| -> Path {
        let names = pointer.split('/').skip(1);
        names.map(PathElement::field).collect()
    };
    registry
        .kinds()
        .filter(|other| other.storage == kind.storage && other.kind == kind.kind)
        .map(|other| {
            let scale = other.scale.as_ref();
            let path = scale.map(|scale| path(&scale.spec_replicas));
            (other.api_version(), path)
        })
        .collect()
}

/// Gives a `Scale` those entries of its object that own the replica count.
pub(crate) fn into_scale(registry: &Registry, kind: &Kind, parent: &Value, scale: &mut Value) {
    let managed = Managed::of(parent).unwrap_or_default();
    let paths = replicas_paths(registry, kind);
    k8s_structured_merge::to_scale(&managed, &paths).write_to(scale);
}

/// Gives an object the entries of its `Scale` after that was written.
pub(crate) fn out_of_scale(registry: &Registry, kind: &Kind, parent: &mut Value, scale: &Value) {
    let managed = Managed::of(parent).unwrap_or_default();
    let of_scale = Managed::of(scale).unwrap_or_default();
    let paths = replicas_paths(registry, kind);
    k8s_structured_merge::from_scale(&managed, of_scale, &kind.api_version(), &paths)
        .write_to(parent);
}

fn scale_writer<'a>(manager: &'a str, now: &'a str) -> Writer<'a> {
    Writer {
        manager,
        api_version: SCALE,
        subresource: "scale",
        now,
    }
}

/// Writes into a `Scale` who owns its fields after it was written over `live`.
pub(crate) fn track_scale(source: &Source, manager: &str, live: &Value, scale: &mut Value) {
    let now = source.stamp();
    let writer = scale_writer(manager, &now);
    k8s_structured_merge::update(&ScaleVersions::new(), live, scale, &writer);
}

/// What a configuration makes of a `Scale`.
pub(crate) fn apply_scale(
    source: &Source,
    manager: &str,
    live: &Value,
    config: &Value,
    force: bool,
) -> Result<Value, k8s_structured_merge::ApplyError> {
    let now = source.stamp();
    let writer = scale_writer(manager, &now);
    let applied = k8s_structured_merge::apply(&ScaleVersions::new(), live, config, &writer, force)?;
    Ok(applied.object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agents() {
        for (agent, manager) in [
            ("kubectl/v1.37.2 (linux/amd64)", "kubectl"),
            ("a\u{1}b/c", "ab"),
            ("", ""),
            ("/x", ""),
        ] {
            assert_eq!(from_user_agent(agent), manager);
        }
        assert_eq!(from_user_agent(&"é".repeat(100)).len(), MAX_MANAGER);
    }
}
