//! The schema of a definition, read once.

use std::collections::BTreeMap;

use k8s_api_schema::{TakenApart, print_ordered};
use serde_json::{Map, Value};

use crate::pattern::Pattern;

/// A node of a schema. Everything that JSON cannot say otherwise is read leniently: what is wrong with a schema is
/// told when its definition is checked.
#[derive(Clone, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "keywords of a schema, independent of each other"
)]
pub(crate) struct Structural {
    /// Empty where the schema has none.
    pub(crate) type_: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) preserve: bool,
    pub(crate) embedded: bool,
    pub(crate) int_or_string: bool,
    pub(crate) list_type: Option<String>,
    pub(crate) list_keys: Vec<String>,
    pub(crate) map_type: Option<String>,
    pub(crate) properties: BTreeMap<String, Structural>,
    pub(crate) items: Option<Box<Structural>>,
    pub(crate) additional: Option<Additional>,
    pub(crate) checks: Checks,
    pub(crate) rules: Vec<Rule>,
}

/// `additionalProperties`.
#[derive(Clone, Debug)]
pub(crate) enum Additional {
    Allowed(bool),
    Schema(Box<Structural>),
}

/// What a schema demands of values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    /// As the schema says it, checked or not.
    pub(crate) format: String,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) required: Vec<String>,
    pub(crate) enum_: Vec<Value>,
    pub(crate) all_of: Vec<Structural>,
    pub(crate) any_of: Vec<Structural>,
    pub(crate) one_of: Vec<Structural>,
    pub(crate) not: Option<Box<Structural>>,
}

/// An entry of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_field_names,
    reason = "Kubernetes calls the expression of a rule so"
)]
pub(crate) struct Rule {
    pub(crate) rule: String,
    pub(crate) message: String,
    pub(crate) message_expression: String,
    pub(crate) reason: Option<String>,
    pub(crate) field_path: String,
    pub(crate) optional_old_self: Option<bool>,
}

impl Structural {
    /// The same schema, with nothing said of the type of what is an integer or a string.
    pub(crate) fn without_int_or_string(&self) -> Self {
        let boxed = |of: &Option<Box<Self>>| {
            let of = of.as_deref();
            of.map(|of| Box::new(of.without_int_or_string()))
        };
        let all = |of: &[Self]| of.iter().map(Self::without_int_or_string).collect();
        Self {
            int_or_string: false,
            properties: self
                .properties
                .iter()
                .map(|(name, of)| (name.clone(), of.without_int_or_string()))
                .collect(),
            items: boxed(&self.items),
            additional: self.additional.as_ref().map(|of| match of {
                Additional::Schema(of) => Additional::Schema(Box::new(of.without_int_or_string())),
                Additional::Allowed(allowed) => Additional::Allowed(*allowed),
            }),
            checks: Checks {
                all_of: all(&self.checks.all_of),
                any_of: all(&self.checks.any_of),
                one_of: all(&self.checks.one_of),
                not: boxed(&self.checks.not),
                ..self.checks.clone()
            },
            ..self.clone()
        }
    }
}

struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn text(&self, key: &str) -> String {
        let text = self.0.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    }

    fn optional_text(&self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::as_str).map(str::to_owned)
    }

    fn flag(&self, key: &str) -> bool {
        self.0.get(key) == Some(&Value::Bool(true))
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key).and_then(Value::as_f64)
    }

    fn count(&self, key: &str) -> Option<i64> {
        self.0.get(key).and_then(Value::as_i64)
    }

    fn list(&self, key: &str) -> &'a [Value] {
        let list = self.0.get(key).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let texts = self.list(key).iter().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    fn schemas(&self, key: &str) -> Vec<Structural> {
        self.list(key).iter().map(Structural::read).collect()
    }

    fn schema(&self, key: &str) -> Option<Box<Structural>> {
        let schema = self.0.get(key).filter(|schema| schema.is_object());
        schema.map(|schema| Box::new(Structural::read(schema)))
    }
}

impl Structural {
    /// Reads an `openAPIV3Schema`.
    pub(crate) fn read(schema: &Value) -> Self {
        let empty = Map::new();
        let fields = Fields(schema.as_object().unwrap_or(&empty));
        let properties = fields.0.get("properties").and_then(Value::as_object);
        Self {
            type_: fields.text("type"),
            title: fields.text("title"),
            description: fields.text("description"),
            nullable: fields.flag("nullable"),
            default: fields.0.get("default").filter(|v| !v.is_null()).cloned(),
            preserve: fields.flag("x-kubernetes-preserve-unknown-fields"),
            embedded: fields.flag("x-kubernetes-embedded-resource"),
            int_or_string: fields.flag("x-kubernetes-int-or-string"),
            list_type: fields.optional_text("x-kubernetes-list-type"),
            list_keys: fields.texts("x-kubernetes-list-map-keys"),
            map_type: fields.optional_text("x-kubernetes-map-type"),
            properties: properties
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.clone(), Self::read(schema)))
                .collect(),
            items: fields.schema("items"),
            additional: match fields.0.get("additionalProperties") {
                Some(Value::Bool(allowed)) => Some(Additional::Allowed(*allowed)),
                Some(schema @ Value::Object(_)) => {
                    Some(Additional::Schema(Box::new(Self::read(schema))))
                }
                _ => None,
            },
            checks: Checks::read(&fields),
            rules: fields
                .list("x-kubernetes-validations")
                .iter()
                .map(Rule::read)
                .collect(),
        }
    }

    /// The schema of the values beside the properties.
    pub(crate) fn additional_schema(&self) -> Option<&Structural> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The schema of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&Structural> {
        self.properties
            .get(name)
            .or_else(|| self.additional_schema())
    }

    /// The same schema as the root of an object, which has type and metadata.
    pub(crate) fn as_resource(&self) -> Self {
        let mut root = self.clone();
        root.embedded = true;
        root
    }
}

impl Checks {
    /// Whether it demands nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.format.is_empty()
            && !self.exclusive_maximum
            && !self.exclusive_minimum
            && !self.unique_items
            && self.pattern.is_none()
            && [self.maximum, self.minimum, self.multiple_of]
                .iter()
                .all(Option::is_none)
            && [
                self.max_length,
                self.min_length,
                self.max_items,
                self.min_items,
                self.max_properties,
                self.min_properties,
            ]
            .iter()
            .all(Option::is_none)
            && self.required.is_empty()
            && self.enum_.is_empty()
            && self.all_of.is_empty()
            && self.any_of.is_empty()
            && self.one_of.is_empty()
            && self.not.is_none()
    }

    fn read(fields: &Fields<'_>) -> Self {
        Self {
            format: fields.text("format"),
            maximum: fields.number("maximum"),
            exclusive_maximum: fields.flag("exclusiveMaximum"),
            minimum: fields.number("minimum"),
            exclusive_minimum: fields.flag("exclusiveMinimum"),
            multiple_of: fields.number("multipleOf"),
            max_length: fields.count("maxLength"),
            min_length: fields.count("minLength"),
            pattern: fields
                .optional_text("pattern")
                .filter(|pattern| !pattern.is_empty())
                .map(|pattern| Pattern::new(&pattern)),
            max_items: fields.count("maxItems"),
            min_items: fields.count("minItems"),
            unique_items: fields.flag("uniqueItems"),
            max_properties: fields.count("maxProperties"),
            min_properties: fields.count("minProperties"),
            required: fields.texts("required"),
            enum_: fields.list("enum").to_vec(),
            all_of: fields.schemas("allOf"),
            any_of: fields.schemas("anyOf"),
            one_of: fields.schemas("oneOf"),
            not: fields.schema("not"),
        }
    }
}

impl Rule {
    fn read(rule: &Value) -> Self {
        let empty = Map::new();
        let fields = Fields(rule.as_object().unwrap_or(&empty));
        Self {
            rule: fields.text("rule"),
            message: fields.text("message"),
            message_expression: fields.text("messageExpression"),
            reason: fields.optional_text("reason"),
            field_path: fields.text("fieldPath"),
            optional_old_self: fields.0.get("optionalOldSelf").and_then(Value::as_bool),
        }
    }

    /// As the real server prints one in an error.
    pub(crate) fn print(&self) -> String {
        let text = |text: &str| print_ordered(&text.into(), None, &TakenApart::Nothing);
        let reason = self
            .reason
            .as_ref()
            .map_or("null".to_owned(), |reason| text(reason));
        let optional = self
            .optional_old_self
            .map_or("null".to_owned(), |flag| flag.to_string());
        format!(
            "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\"FieldPath\":{},\"OptionalOldSelf\":{optional}}}",
            text(&self.rule),
            text(&self.message),
            text(&self.message_expression),
            text(&self.field_path),
        )
    }
}
