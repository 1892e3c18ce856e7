//! Whether a configuration that is applied fits its type.

use std::fmt;

use k8s_api_schema::{Scalar, go_type, go_value};
use serde_json::Value;

use crate::element::{PathElement, print};
use crate::shape::{ListShape, MapShape, Shape, item_element, shape};
use crate::typed::TypeRef;

/// Why a value does not fit its type: one problem a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misfits(Vec<(String, String)>);

impl Misfits {
    /// Paths of the fields with what is wrong with each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, why)| (&**path, &**why))
    }
}

impl std::error::Error for Misfits {}

impl fmt::Display for Misfits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |(path, why): &(String, String)| {
            if path.is_empty() {
                why.clone()
            } else {
                format!("{path}: {why}")
            }
        };
        match self.0.as_slice() {
            [single] => f.write_str(&text(single)),
            many => {
                f.write_str("errors:")?;
                many.iter()
                    .try_for_each(|one| write!(f, "\n  {}", text(one)))
            }
        }
    }
}

/// Whether lists of types `set` and `map` may hold an item twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// As in an object that is stored.
    Allowed,
    /// As in a configuration.
    Refused,
}

impl TypeRef<'_> {
    /// Checks a value against the type.
    ///
    /// # Errors
    ///
    /// [`Misfits`] with every field that does not fit.
    pub fn check(self, value: &Value, duplicates: Duplicates) -> Result<(), Misfits> {
        let mut misfits = Misfits::default();
        self.check_value(value, duplicates, &mut String::new(), &mut misfits);
        if misfits.0.is_empty() {
            return Ok(());
        }
        Err(misfits)
    }

    fn check_value(
        self,
        value: &Value,
        duplicates: Duplicates,
        path: &mut String,
        out: &mut Misfits,
    ) {
        if value.is_null() {
            return;
        }
        let why = match shape(self.schema, self.id, Some(value)) {
            Shape::Scalar(scalar) => scalar_misfit(scalar, value),
            Shape::Map(map) if value.is_object() => {
                self.check_map(&map, value, duplicates, path, out);
                None
            }
            Shape::Map(_) => Some(format!("expected map, got &{{{}}}", go_value(value))),
            Shape::List(list) if value.is_array() => {
                self.check_list(&list, value, duplicates, path, out);
                None
            }
            Shape::List(_) => Some(format!("expected list, got &{{{}}}", go_value(value))),
        };
        out.0.extend(why.map(|why| (path.clone(), why)));
    }

    fn check_map(
        self,
        map: &MapShape<'_>,
        value: &Value,
        duplicates: Duplicates,
        path: &mut String,
        out: &mut Misfits,
    ) {
        let length = path.len();
        for (key, value) in value.as_object().into_iter().flatten() {
            path.push('.');
            path.push_str(key);
            match map.type_of(key) {
                Some(id) => {
                    TypeRef { id, ..self }.check_value(value, duplicates, path, out);
                }
                None => {
                    out.0
                        .push((path.clone(), "field not declared in schema".into()));
                }
            }
            path.truncate(length);
        }
    }

    fn check_list(
        self,
        list: &ListShape<'_>,
        value: &Value,
        duplicates: Duplicates,
        path: &mut String,
        out: &mut Misfits,
    ) {
        let length = path.len();
        let mut seen = std::collections::BTreeSet::new();
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            let element = if list.is_atomic() {
                PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))
            } else {
                match item_element(self.schema, list, item) {
                    Ok(element) => element,
                    Err(why) => {
                        out.0
                            .push((path.clone(), format!("element {index}: {why}")));
                        return;
                    }
                }
            };
            let text = element.to_string();
            if !list.is_atomic() && !seen.insert(element) && duplicates == Duplicates::Refused {
                let why = format!("duplicate entries for key {text}");
                out.0.push((path.clone(), why));
            }
            path.push_str(&text);
            let items = TypeRef {
                id: list.items,
                ..self
            };
            items.check_value(item, duplicates, path, out);
            path.truncate(length);
        }
    }
}

fn scalar_misfit(scalar: Scalar, value: &Value) -> Option<String> {
    match scalar {
        Scalar::Int32 | Scalar::Int64 | Scalar::Number => (!value.is_number())
            .then(|| format!("expected numeric (int or float), got {}", go_type(value))),
        Scalar::String | Scalar::Bytes => (!value.is_string()).then(|| {
            format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go_syntax(value)
            )
        }),
        Scalar::Boolean => {
            (!value.is_boolean()).then(|| format!("expected boolean, got &{{{}}}", go_value(value)))
        }
        _ => (value.is_object() || value.is_array())
            .then(|| format!("expected any scalar, got &{{{}}}", go_value(value))),
    }
}

/// A value as Go's `%#v` prints it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(map) => {
            let fields: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", k8s_api_schema::quote(key), go_syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => print(other),
    }
}
