//! CustomResourceDefinitions: which names they get, and the kinds that they make.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_custom_schema::CustomSchema;
use serde_json::{Map, Value, json};

use crate::custom::{self, Schemas};
use crate::kinds::{Custom, Deleted, Generation, Kind, NameRule, Scale, VERBS};
use crate::metadata::{entry_mut, is_deleting, object_mut, text, texts};
use crate::selector::FieldRules;

/// Collection of the definitions.
pub(crate) const STORAGE: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Holds a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Collection of the objects of a definition.
pub(crate) fn storage_of(definition: &Value) -> Cow<'static, str> {
    format!(
        "{}.{}",
        text(definition, "/spec/names/plural"),
        text(definition, "/spec/group")
    )
    .into()
}

fn condition<'a>(definition: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = definition.pointer("/status/conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| text(condition, "/type") == type_)
}

pub(crate) fn is_established(definition: &Value) -> bool {
    condition(definition, "Established")
        .is_some_and(|condition| text(condition, "/status") == "True")
}

/// Sets a condition; its time moves only with its status.
pub(crate) fn set_condition(
    definition: &mut Value,
    type_: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    let since = condition(definition, type_)
        .filter(|condition| text(condition, "/status") == status)
        .map_or(now.to_owned(), |condition| {
            text(condition, "/lastTransitionTime").to_owned()
        });
    let new = json!({
        "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    let status = entry_mut(object_mut(definition), "status");
    let list = status.entry("conditions").or_insert(Value::Null);
    if !list.is_array() {
        *list = json!([]);
    }
    if let Value::Array(list) = list {
        match list
            .iter_mut()
            .find(|condition| text(condition, "/type") == type_)
        {
            Some(found) => *found = new,
            None => list.push(new),
        }
    }
}

/// Gives `definition` the names that no other definition of the group has, and says so in its status.
///
/// The names of a built-in resource are nobody else's.
pub(crate) fn accept_names(
    definition: &Value,
    others: &[Value],
    is_builtin: bool,
    now: &str,
) -> Value {
    let mut new = definition.clone();
    let names = definition
        .pointer("/spec/names")
        .cloned()
        .unwrap_or_default();
    let taken = |path: &str| -> Vec<&str> {
        others
            .iter()
            .map(|other| text(other, &format!("/status/acceptedNames/{path}")))
            .collect()
    };
    let short_taken: Vec<&str> = others
        .iter()
        .flat_map(|other| texts(other.pointer("/status/acceptedNames/shortNames")))
        .collect();
    let resources: Vec<&str> = taken("plural")
        .into_iter()
        .chain(taken("singular"))
        .chain(short_taken.iter().copied())
        .collect();
    let kinds: Vec<&str> = taken("kind").into_iter().chain(taken("listKind")).collect();

    let mut accepted = Map::new();
    let mut problem: Option<(&str, String)> = None;
    for (field, reason, used) in [
        ("plural", "PluralConflict", &resources),
        ("singular", "SingularConflict", &resources),
        ("kind", "KindConflict", &kinds),
        ("listKind", "ListKindConflict", &kinds),
    ] {
        if field == "kind" {
            accept_short_names(&names, &resources, &mut accepted, &mut problem);
        }
        let name = text(&names, &format!("/{field}"));
        if used.contains(&name) || (is_builtin && field == "plural") {
            problem = Some((reason, format!("{name:?} is already in use")));
        } else if !name.is_empty() {
            accepted.insert(field.into(), name.into());
        }
    }
    if let Some(categories) = names.get("categories") {
        accepted.insert("categories".into(), categories.clone());
    }
    for key in ["kind", "plural"] {
        accepted.entry(key).or_insert_with(|| json!(""));
    }
    entry_mut(object_mut(&mut new), "status").insert("acceptedNames".into(), accepted.into());
    match problem {
        None => {
            set_condition(
                &mut new,
                "NamesAccepted",
                "True",
                "NoConflicts",
                "no conflicts found",
                now,
            );
            let why = "the initial names have been accepted";
            set_condition(
                &mut new,
                "Established",
                "True",
                "InitialNamesAccepted",
                why,
                now,
            );
        }
        Some((reason, message)) => {
            set_condition(&mut new, "NamesAccepted", "False", reason, &message, now);
            if !is_established(definition) {
                let why = "not all names are accepted";
                set_condition(&mut new, "Established", "False", "NotAccepted", why, now);
            }
        }
    }
    set_approval(&mut new, now);
    new
}

/// What the approval of a definition in a group of the community is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

/// The approval, in words too; none where the group needs none.
pub(crate) fn approval(definition: &Value) -> Option<(Approval, String)> {
    let group = text(definition, "/spec/group");
    let is_protected = [".k8s.io", ".kubernetes.io"]
        .iter()
        .any(|suffix| group.ends_with(suffix))
        || ["k8s.io", "kubernetes.io"].contains(&group);
    if !is_protected {
        return None;
    }
    let annotation = text(
        definition,
        "/metadata/annotations/api-approved.kubernetes.io",
    );
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let must = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
    let has_host = annotation.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/')
    });
    Some(if annotation.is_empty() {
        (Approval::Missing, format!("{must}, {see}"))
    } else if annotation.starts_with("unapproved") {
        (Approval::Bypassed, format!("not approved: {annotation:?}"))
    } else if has_host {
        (Approval::Approved, format!("approved in {annotation}"))
    } else {
        let why = "with either a URL or a reason starting with \"unapproved\"";
        (Approval::Invalid, format!("{must} {why}, {see}"))
    })
}

fn set_approval(definition: &mut Value, now: &str) {
    let Some((approval, message)) = approval(definition) else {
        return;
    };
    let (status, reason) = match approval {
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Invalid => ("False", "InvalidAnnotation"),
    };
    let type_ = "KubernetesAPIApprovalPolicyConformant";
    set_condition(definition, type_, status, reason, &message, now);
}

fn accept_short_names(
    names: &Value,
    used: &[&str],
    accepted: &mut Map<String, Value>,
    problem: &mut Option<(&'static str, String)>,
) {
    let short = texts(names.get("shortNames"));
    match short.iter().find(|name| used.contains(name)) {
        Some(name) => {
            *problem = Some(("ShortNamesConflict", format!("{name:?} is already in use")));
        }
        None if short.is_empty() => {}
        None => {
            accepted.insert("shortNames".into(), short.into());
        }
    }
}

/// The kinds that an established definition serves, one per served version.
///
/// `before` are those that it served until now: what has not changed is not read again.
pub(crate) fn kinds_of(definition: &Value, before: &[Arc<Kind>]) -> Vec<Kind> {
    if !is_established(definition) {
        return Vec::new();
    }
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array);
    let is = |version: &Value, what: &str| version.get(what) == Some(&Value::Bool(true));
    let all: Vec<&Value> = versions.into_iter().flatten().collect();
    let storage = all
        .iter()
        .find(|version| is(version, "storage"))
        .map_or("", |version| text(version, "/name"));
    let (schemas, stale) = schemas(&all, before);
    all.iter()
        .filter(|version| is(version, "served"))
        .map(|version| kind_of(definition, version, storage, &all, (&schemas, stale)))
        .collect()
}

/// The schemas of the versions, and whether any differs from what it was.
fn schemas(versions: &[&Value], before: &[Arc<Kind>]) -> (Schemas, bool) {
    const SCHEMA: &str = "/schema/openAPIV3Schema";
    let custom = |kind: &Arc<Kind>| kind.custom.clone();
    let mut stale = before.iter().filter_map(custom).any(|custom| custom.stale);
    let mut schemas = BTreeMap::new();
    for version in versions {
        let Some(schema) = version.pointer(SCHEMA).filter(|schema| schema.is_object()) else {
            continue;
        };
        let name = text(version, "/name");
        // A create drops the status, and every read fills its default again.
        stale |= version.pointer("/subresources/status").is_some()
            && schema.pointer("/properties/status/default").is_some();
        let old = before
            .iter()
            .find(|kind| kind.version == name)
            .and_then(custom);
        let known = old
            .as_ref()
            .filter(|old| old.version.pointer(SCHEMA) == Some(schema))
            .and_then(|old| old.schemas.get(name).cloned());
        stale |= known.is_none() && old.is_some();
        let schema = known.unwrap_or_else(|| Arc::new(CustomSchema::new(schema)));
        schemas.insert(name.to_owned(), schema);
    }
    (Arc::new(schemas), stale)
}

fn kind_of(
    definition: &Value,
    version: &Value,
    storage_version: &str,
    all: &[&Value],
    (schemas, stale): (&Schemas, bool),
) -> Kind {
    let names = definition
        .pointer("/status/acceptedNames")
        .cloned()
        .unwrap_or_default();
    let owned = |pointer: &str| Cow::Owned(text(&names, pointer).to_owned());
    let list = |key: &str| {
        texts(names.get(key))
            .into_iter()
            .map(|text| Cow::Owned(text.to_owned()))
            .collect()
    };
    let status = version
        .pointer("/subresources/status")
        .is_some_and(|status| !status.is_null());
    let row = Custom {
        version: version.clone(),
        schemas: schemas.clone(),
        stale,
        storage_version: storage_version.to_owned(),
        warning: warning(definition, version, all),
        terminating: is_deleting(definition),
        selectable: selectable(version),
    };
    Kind {
        group: text(definition, "/spec/group").to_owned().into(),
        version: text(version, "/name").to_owned().into(),
        kind: owned("/kind"),
        list_kind: owned("/listKind"),
        plural: owned("/plural"),
        singular: owned("/singular"),
        short_names: list("shortNames"),
        categories: list("categories"),
        namespaced: text(definition, "/spec/scope") == "Namespaced",
        storage: storage_of(definition),
        verbs: VERBS,
        subresources: &[],
        deprecated: None,
        status,
        status_on_create: false,
        status_without_metadata: true,
        scale: scale(version),
        create_on_update: false,
        unconditional_update: false,
        deleted: Deleted::Status,
        generation: Generation::Content,
        names: NameRule::Subdomain,
        fields: FieldRules::Listed(&[]),
        types: schemas
            .get(text(version, "/name"))
            .map(|schema| custom::types(schema)),
        is_view: false,
        to_storage: |object| object,
        from_storage: |object| object,
        default: |_| {},
        on_create: |_| {},
        on_update: |_, _, _| {},
        validate: |_, _| Vec::new(),
        warn: |_, _| Vec::new(),
        review: None,
        custom: Some(Arc::new(row)),
    }
}

/// The path of a scale field, `.spec.replicas`, as a JSON pointer.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
}

fn scale(version: &Value) -> Option<Scale> {
    let scale = version
        .pointer("/subresources/scale")
        .filter(|scale| scale.is_object())?;
    let selector = text(scale, "/labelSelectorPath");
    Some(Scale {
        spec_replicas: pointer(text(scale, "/specReplicasPath")),
        status_replicas: pointer(text(scale, "/statusReplicasPath")),
        selector: Some(selector).filter(|path| !path.is_empty()).map(pointer),
    })
}

fn selectable(version: &Value) -> Vec<(String, String)> {
    let fields = version.get("selectableFields").and_then(Value::as_array);
    fields
        .into_iter()
        .flatten()
        .map(|field| {
            let path = text(field, "/jsonPath").trim_start_matches('.').to_owned();
            (path.clone(), path)
        })
        .collect()
}

fn warning(definition: &Value, version: &Value, all: &[&Value]) -> Option<String> {
    if version.get("deprecated") != Some(&Value::Bool(true)) {
        return None;
    }
    let own = version.get("deprecationWarning").and_then(Value::as_str);
    if let Some(own) = own {
        return Some(own.to_owned());
    }
    let (group, kind) = (
        text(definition, "/spec/group"),
        text(definition, "/spec/names/kind"),
    );
    let name = text(version, "/name");
    let newer = all.iter().find(|other| {
        other.get("served") == Some(&Value::Bool(true))
            && other.get("deprecated") != Some(&Value::Bool(true))
    });
    Some(match newer {
        Some(newer) => {
            let newer = text(newer, "/name");
            format!("{group}/{name} {kind} is deprecated; use {group}/{newer} {kind}")
        }
        None => format!("{group}/{name} {kind} is deprecated"),
    })
}
