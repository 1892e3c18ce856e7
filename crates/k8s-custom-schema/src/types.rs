//! A schema as the types that merging and applying know.

use std::collections::BTreeMap;

use k8s_api_schema::{Empty, Field, List, ListKind, Map, Scalar, Schema, Struct, Type, TypeId};

use crate::structural::{Additional, Structural};

/// The types of a custom resource; `metadata` is the type of the metadata in `types`, if that is known.
pub(crate) fn types(
    schema: &Structural,
    mut types: Schema,
    metadata: Option<TypeId>,
) -> (Schema, TypeId) {
    let text = types.push(Type::Scalar(Scalar::String));
    let any = types.push(Type::Any);
    let mut builder = Builder {
        types,
        any,
        text,
        metadata: metadata.unwrap_or(any),
    };
    let root = builder.node(&schema.as_resource());
    (builder.types, root)
}

struct Builder {
    types: Schema,
    any: TypeId,
    text: TypeId,
    metadata: TypeId,
}

fn field(type_: TypeId, schema: Option<&Structural>, required: bool) -> Field {
    Field {
        required,
        default: schema.and_then(|schema| schema.default.clone()),
        empty: Empty::Pointer,
        ..Field::new(type_)
    }
}

impl Builder {
    fn node(&mut self, schema: &Structural) -> TypeId {
        let scalar = match schema.type_.as_str() {
            _ if schema.int_or_string => Scalar::IntOrString,
            "string" => Scalar::String,
            "boolean" => Scalar::Boolean,
            "integer" => Scalar::Int64,
            "number" => Scalar::Number,
            "array" => return self.list(schema),
            "object" => return self.object(schema),
            _ => return self.any,
        };
        self.types.push(Type::Scalar(scalar))
    }

    fn list(&mut self, schema: &Structural) -> TypeId {
        let items = match &schema.items {
            Some(items) => self.node(items),
            None => self.any,
        };
        let kind = match schema.list_type.as_deref() {
            Some("map") => ListKind::Map(schema.list_keys.clone()),
            Some("set") => ListKind::Set,
            _ => ListKind::Atomic,
        };
        self.types.push(Type::List(List { items, kind }))
    }

    fn object(&mut self, schema: &Structural) -> TypeId {
        let atomic = schema.map_type.as_deref() == Some("atomic");
        if schema.properties.is_empty() && !schema.embedded {
            let values = match &schema.additional {
                Some(Additional::Schema(values)) => self.node(values),
                _ if atomic => self.any,
                _ => return self.any,
            };
            return self.types.push(Type::Map(Map { values, atomic }));
        }
        let required = &schema.checks.required;
        let mut fields: BTreeMap<String, Field> = schema
            .properties
            .iter()
            .map(|(name, property)| {
                let type_ = self.node(property);
                let field = field(type_, Some(property), required.contains(name));
                (name.clone(), field)
            })
            .collect();
        if schema.embedded {
            for (name, type_) in [
                ("apiVersion", self.text),
                ("kind", self.text),
                ("metadata", self.metadata),
            ] {
                fields.insert(name.into(), field(type_, None, false));
            }
        }
        self.types.push(Type::Struct(Struct {
            fields,
            atomic,
            rest: schema.preserve.then_some(self.any),
        }))
    }
}
