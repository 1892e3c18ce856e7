//! Schemas of custom resources: structural rules, pruning, defaults, validation, CEL.
//!
//! Logic over JSON: nothing here knows of a server, a clock or a network. A [`CustomSchema`] is what the
//! `openAPIV3Schema` of one version of a CustomResourceDefinition says, read once; it prunes, fills defaults and
//! checks objects in the words of a real kube-apiserver.
//!
//! ```
//! use k8s_custom_schema::CustomSchema;
//! use serde_json::json;
//!
//! let schema = CustomSchema::new(&json!({"type": "object", "properties": {
//!     "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}},
//! }}));
//! let mut object = json!({"kind": "Widget", "spec": {"colour": "red"}});
//! assert_eq!(schema.prune(&mut object), ["spec.colour"]);
//! schema.default(&mut object);
//! assert_eq!(object, json!({"kind": "Widget", "spec": {"size": 1}}));
//! ```
//!
//! What it does not do: it does not estimate what CEL rules will cost; what they do cost is limited.

mod cel;
mod condition;
mod correlate;
mod default;
mod definition;
mod embedded;
mod field_path;
mod formats;
mod lists;
mod path;
mod pattern;
mod prune;
mod stack;
mod structural;
mod structure;
mod types;
mod values;

pub use condition::Condition;
pub use definition::{check_schema, check_selectable_fields, has_defaults, schema_warnings};

use k8s_api_schema::{FieldError, Schema, TypeId};
use serde_json::Value;

use cel::{Ratchet, Report, Rules};
use correlate::Old;
use path::Path;
use structural::Structural;

/// What the server knows of the metadata that every object has.
#[derive(Clone, Copy, Debug)]
pub struct Metadata {
    /// Reads metadata into the form in which it is kept; gives back the unknown fields too, or why it cannot be read.
    #[allow(clippy::type_complexity, reason = "one function, said in one place")]
    pub read: fn(&Value) -> Result<(Value, Vec<String>), String>,
    /// Every error of metadata that has been read and is at a path.
    pub check: fn(&Value, &str) -> Vec<FieldError>,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Why the object is refused; empty if it is not.
    pub errors: Vec<FieldError>,
    /// What is wrong and was so before.
    pub warnings: Vec<String>,
}

/// Which part of an object an update writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Its status.
    Status,
}

/// The schema of one version of a CustomResourceDefinition.
#[derive(Clone, Debug)]
pub struct CustomSchema {
    schema: Structural,
    rules: Option<Rules>,
}

impl CustomSchema {
    /// Reads an `openAPIV3Schema`. What is wrong with it is ignored here; the check of its definition tells it.
    #[must_use]
    pub fn new(schema: &Value) -> Self {
        let schema = Structural::read(schema);
        let rules = Rules::new(&schema, true);
        Self { schema, rules }
    }

    /// Drops the fields that the schema does not name, and gives back their paths in order. Type and metadata stay.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(object, &self.schema, true)
    }

    /// Drops nulls that the schema does not allow and no default replaces.
    pub fn drop_nulls(&self, object: &mut Value) {
        default::drop_nulls(object, Some(&self.schema));
    }

    /// Fills the defaults.
    pub fn default(&self, object: &mut Value) {
        default::default(object, &self.schema);
    }

    /// Reads the metadata of embedded objects, and gives back the unknown fields in it.
    ///
    /// # Errors
    ///
    /// The first type or metadata that cannot be read.
    pub fn coerce(
        &self,
        object: &mut Value,
        metadata: &Metadata,
    ) -> Result<Vec<String>, FieldError> {
        let mut unknown = Vec::new();
        embedded::coerce(object, &self.schema, &Path::root(), metadata, &mut unknown)?;
        unknown.sort();
        Ok(unknown)
    }

    /// Checks a new object. `before` are the errors that other checks found: with some kinds of them rules are skipped.
    #[must_use]
    pub fn check(&self, object: &Value, metadata: &Metadata, before: &[FieldError]) -> Findings {
        let root = Path::root();
        let mut errors = values::check(&self.schema, object, &root, None);
        embedded::check(object, &self.schema, &root, metadata, &mut errors);
        lists::check(&self.schema, object, &root, &mut errors);
        self.check_rules(object, None, Ratchet::default(), before, errors)
    }

    /// Checks what an object becomes: what was wrong before and stays as it is may do so.
    #[must_use]
    pub fn check_update(
        &self,
        object: &Value,
        old: &Value,
        part: Part,
        metadata: &Metadata,
        before: &[FieldError],
    ) -> Findings {
        let root = Path::root();
        let before_update = Old {
            value: old,
            schema: Some(&self.schema),
        };
        let mut errors = Vec::new();
        match part {
            Part::Whole => {
                errors = values::check(&self.schema, object, &root, Some(before_update));
                embedded::check(object, &self.schema, &root, metadata, &mut errors);
            }
            Part::Status => {
                let schema = self.schema.properties.get("status");
                if let (Some(schema), Some(status)) = (schema, object.get("status")) {
                    let old = correlate::field(before_update, "status");
                    errors = values::check(schema, status, &Path::new("status"), old);
                }
            }
        }
        let mut old_lists = Vec::new();
        lists::check(&self.schema, old, &root, &mut old_lists);
        if old_lists.is_empty() {
            lists::check(&self.schema, object, &root, &mut errors);
        }
        let ratchet = Ratchet::new(object, old);
        self.check_rules(object, Some(old), ratchet, before, errors)
    }

    /// Adds what breaks a rule, unless the object is too wrong for that.
    fn check_rules(
        &self,
        object: &Value,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
        before: &[FieldError],
        errors: Vec<FieldError>,
    ) -> Findings {
        let mut found = Findings {
            errors,
            warnings: Vec::new(),
        };
        let Some(rules) = &self.rules else {
            return found;
        };
        if found
            .errors
            .iter()
            .chain(before)
            .any(FieldError::is_blocking)
        {
            found.errors.push(FieldError::invalid(
                Path::root().text(),
                Value::Null,
                "some validation rules were not checked because the object was invalid; correct the existing errors \
                 to complete validation",
            ));
            return found;
        }
        let Findings { errors, warnings } = &mut found;
        let mut report = Report::new(errors, warnings);
        rules.check(object, old, &Path::root(), ratchet, &mut report);
        found
    }

    /// The schema as types, added to `types`; `metadata` is the type of the metadata there.
    #[must_use]
    pub fn types(&self, types: Schema, metadata: Option<TypeId>) -> (Schema, TypeId) {
        types::types(&self.schema, types, metadata)
    }
}
