//! What a kind is to the server. A new built-in kind is one row of [`crate::builtin::builtin`].

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::object::Object;
use crate::selector::FieldRules;
use crate::source::Source;
use k8s_api_schema::{FieldError, Schema, TypeId, builtin};

type Text = Cow<'static, str>;

/// When a write raises `metadata.generation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Never; what a create sent is kept.
    Untouched,
    /// A change of `spec`.
    Spec,
    /// A change of `spec` or of the annotations.
    SpecAndAnnotations,
    /// A change of anything but `metadata`, and but `status` where that is a subresource.
    Content,
    /// A change of anything but `metadata`, or of the labels.
    ContentAndLabels,
    /// A change of `spec`; a new object has none.
    SpecFromZero,
    /// A change of the member at a pointer.
    Member(&'static str),
}

/// Which names are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// A DNS subdomain: most kinds.
    Subdomain,
    /// A DNS label: namespaces.
    Label,
    /// Whatever can be one segment of a path: RBAC kinds.
    PathSegment,
    /// No rule: core events.
    Any,
}

/// What a delete answers with once the object is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deleted {
    Status,
    Object,
}

/// Verbs of most built-in resources.
pub(crate) const VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
/// Verbs of `status` and its like.
pub(crate) const SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];

/// A subresource as discovery lists it, beside `status` and `scale`, which have columns of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subresource {
    pub(crate) name: &'static str,
    /// Group and version of what it takes, empty where they are the resource's own.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    /// Empty where it is the resource's own.
    pub(crate) kind: &'static str,
    pub(crate) verbs: &'static [&'static str],
}

impl Subresource {
    /// One that takes the resource itself.
    pub(crate) const fn own(name: &'static str, verbs: &'static [&'static str]) -> Self {
        Self::of(name, "", verbs)
    }

    /// One that takes another kind of the same group and version.
    pub(crate) const fn of(
        name: &'static str,
        kind: &'static str,
        verbs: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            group: "",
            version: "",
            kind,
            verbs,
        }
    }
}

/// The replica counts that `/scale` shows, as pointers into the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    /// Where the selector is; a `LabelSelector` or a text.
    pub(crate) selector: Option<String>,
}

/// What only kinds of a CustomResourceDefinition have.
#[derive(Clone, Debug)]
pub(crate) struct Custom {
    /// The entry of `spec.versions`.
    pub(crate) version: Value,
    /// The schemas of all versions.
    pub(crate) schemas: crate::custom::Schemas,
    /// Objects may be stored without what a read fills or with what it drops: a schema has changed since.
    pub(crate) stale: bool,
    /// The version that objects are stored in.
    pub(crate) storage_version: String,
    /// The `Warning` header of a deprecated version.
    pub(crate) warning: Option<String>,
    /// Creates are refused while the definition is going away.
    pub(crate) terminating: bool,
    /// The field labels that `selectableFields` adds, with their paths.
    pub(crate) selectable: Vec<(String, String)>,
}

/// One kind in one version of its group.
#[allow(
    clippy::struct_excessive_bools,
    reason = "a row of a table: each is a column"
)]
#[allow(
    clippy::struct_field_names,
    reason = "kind and list kind are the terms of the field"
)]
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) group: Text,
    pub(crate) version: Text,
    pub(crate) kind: Text,
    pub(crate) list_kind: Text,
    pub(crate) plural: Text,
    pub(crate) singular: Text,
    pub(crate) short_names: Vec<Text>,
    pub(crate) categories: Vec<Text>,
    pub(crate) namespaced: bool,
    /// Name of the collection that holds the objects; shared by kinds that are views of the same objects.
    pub(crate) storage: Text,
    /// What can be done with objects, as discovery lists it.
    pub(crate) verbs: &'static [&'static str],
    /// Subresources beside `status` and `scale`, as discovery lists them.
    pub(crate) subresources: &'static [Subresource],
    /// The `Warning` of every answer about a deprecated kind.
    pub(crate) deprecated: Option<&'static str>,
    pub(crate) status: bool,
    /// A create keeps the status that it sends.
    pub(crate) status_on_create: bool,
    /// A write of `/status` leaves labels, annotations, finalizers and owners alone.
    pub(crate) status_without_metadata: bool,
    pub(crate) scale: Option<Scale>,
    /// PUT of a missing object creates it.
    pub(crate) create_on_update: bool,
    /// PUT may leave the resourceVersion out.
    pub(crate) unconditional_update: bool,
    pub(crate) deleted: Deleted,
    pub(crate) generation: Generation,
    pub(crate) names: NameRule,
    /// Fields of fieldSelector beside name and namespace.
    pub(crate) fields: FieldRules<'static>,
    /// It is another form of the objects of another kind.
    pub(crate) is_view: bool,
    /// The kind's type: of built-in kinds as the server publishes it, of custom ones by their schema.
    pub(crate) types: Option<(Arc<Schema>, TypeId)>,
    /// From this version to the stored one and back.
    pub(crate) to_storage: fn(Value) -> Value,
    pub(crate) from_storage: fn(Value) -> Value,
    /// Fills what the real server fills, on the stored form.
    pub(crate) default: fn(&mut Value),
    /// Sets what a create may not choose (status), on the stored form.
    pub(crate) on_create: fn(&mut Value),
    /// Sets what an update may not choose, on the stored form, before it is validated; the second argument is the
    /// object before the update.
    pub(crate) on_update: fn(&mut Value, &Value, &Source),
    /// Checks the stored form; the second argument is the object before an update.
    pub(crate) validate: fn(&Value, Option<&Value>) -> Vec<FieldError>,
    /// The warnings about a valid object; the second argument is the object before an update.
    pub(crate) warn: fn(&Value, Option<&Value>) -> Vec<String>,
    pub(crate) custom: Option<Arc<Custom>>,
    /// Answers what is posted, for kinds that are not kept.
    pub(crate) review: Option<crate::auth::Review>,
}

impl Kind {
    /// `group/version`, or the version alone in the core group.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether an answer shows an object just as it is stored.
    pub(crate) fn shows_as_stored(&self, stored: &Object) -> bool {
        !self.is_view
            && stored.is_of_version(&self.group, &self.version)
            && self.custom.as_ref().is_none_or(|custom| !custom.stale)
    }

    pub(crate) fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// A row with the defaults of most built-in kinds.
    pub(crate) fn row(
        gvk: (&'static str, &'static str, &'static str),
        plural: &'static str,
        singular: &'static str,
    ) -> Self {
        let (group, version, kind) = gvk;
        let storage = if group.is_empty() {
            plural.into()
        } else {
            format!("{plural}.{group}")
        };
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            list_kind: format!("{kind}List").into(),
            plural: plural.into(),
            singular: singular.into(),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced: true,
            storage: storage.into(),
            verbs: VERBS,
            subresources: &[],
            deprecated: None,
            status: false,
            status_on_create: false,
            status_without_metadata: false,
            scale: None,
            create_on_update: false,
            unconditional_update: true,
            deleted: Deleted::Status,
            generation: Generation::Untouched,
            names: NameRule::Subdomain,
            fields: FieldRules::MetadataOnly,
            is_view: false,
            types: builtin()
                .find(group, version, kind)
                .map(|id| (Arc::clone(builtin()), id)),
            to_storage: |object| object,
            from_storage: |object| object,
            default: |_| {},
            on_create: |_| {},
            on_update: |_, _, _| {},
            validate: |_, _| Vec::new(),
            warn: |_, _| Vec::new(),
            custom: None,
            review: None,
        }
    }

    pub(crate) fn short(mut self, names: &[&'static str]) -> Self {
        self.short_names = names.iter().map(|name| Cow::Borrowed(*name)).collect();
        self
    }

    pub(crate) fn in_all(self) -> Self {
        self.in_category("all")
    }

    pub(crate) fn in_category(mut self, category: &'static str) -> Self {
        self.categories = vec![category.into()];
        self
    }

    pub(crate) fn list_kind(mut self, name: &'static str) -> Self {
        self.list_kind = name.into();
        self
    }

    pub(crate) fn answered(mut self, review: crate::auth::Review) -> Self {
        self.review = Some(review);
        self
    }

    pub(crate) fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
        self.verbs = verbs;
        self
    }

    pub(crate) fn subresources(mut self, subresources: &'static [Subresource]) -> Self {
        self.subresources = subresources;
        self
    }

    pub(crate) fn deprecated(mut self, warning: &'static str) -> Self {
        self.deprecated = Some(warning);
        self
    }

    pub(crate) fn keeps_status(mut self) -> Self {
        self.status_on_create = true;
        self
    }

    pub(crate) fn keeps_metadata_in_status(mut self) -> Self {
        self.status_without_metadata = true;
        self
    }

    pub(crate) fn warned(mut self, warn: fn(&Value, Option<&Value>) -> Vec<String>) -> Self {
        self.warn = warn;
        self
    }

    pub(crate) fn cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }

    pub(crate) fn with_status(mut self) -> Self {
        self.status = true;
        self
    }

    pub(crate) fn scaled(mut self) -> Self {
        self.scale = Some(Scale {
            spec_replicas: "/spec/replicas".into(),
            status_replicas: "/status/replicas".into(),
            selector: Some("/spec/selector".into()),
        });
        self
    }

    pub(crate) fn generation(mut self, rule: Generation) -> Self {
        self.generation = rule;
        self
    }

    pub(crate) fn names(mut self, rule: NameRule) -> Self {
        self.names = rule;
        self
    }

    pub(crate) fn fields(mut self, fields: FieldRules<'static>) -> Self {
        self.fields = fields;
        self
    }

    pub(crate) fn defaults(mut self, default: fn(&mut Value)) -> Self {
        self.default = default;
        self
    }

    pub(crate) fn on_create(mut self, hook: fn(&mut Value)) -> Self {
        self.on_create = hook;
        self
    }

    pub(crate) fn on_update(mut self, hook: fn(&mut Value, &Value, &Source)) -> Self {
        self.on_update = hook;
        self
    }

    pub(crate) fn validated(
        mut self,
        validate: fn(&Value, Option<&Value>) -> Vec<FieldError>,
    ) -> Self {
        self.validate = validate;
        self
    }

    pub(crate) fn answers_with_object(mut self) -> Self {
        self.deleted = Deleted::Object;
        self
    }

    pub(crate) fn created_by_put(mut self) -> Self {
        self.create_on_update = true;
        self
    }

    pub(crate) fn needs_version(mut self) -> Self {
        self.unconditional_update = false;
        self
    }

    pub(crate) fn view_of(
        mut self,
        storage: &'static str,
        to: fn(Value) -> Value,
        from: fn(Value) -> Value,
    ) -> Self {
        self.storage = storage.into();
        self.is_view = true;
        self.to_storage = to;
        self.from_storage = from;
        self
    }
}
