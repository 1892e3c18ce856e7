//! The built-in kinds' types.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::model::{
    Either, EitherKind, Empty, Field, List, ListKind, Map, Patch, Scalar, Schema, Struct, Type,
    TypeId,
};
use crate::text::{Published, PublishedField, published};

static BUILTIN: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(read()));

/// The types of the built-in kinds, read when they are first asked for.
///
/// ```
/// use k8s_api_schema::{Type, builtin};
///
/// let pod = builtin().find("", "v1", "Pod").expect("a built-in kind");
/// let Type::Struct(pod) = builtin().get(pod) else {
///     panic!("a pod has fields");
/// };
/// assert!(pod.fields.contains_key("spec"));
/// ```
#[must_use]
pub fn builtin() -> &'static Arc<Schema> {
    &BUILTIN
}

fn read() -> Schema {
    let all: Vec<Published> = published().collect();
    let mut reader = Reader::default();
    // Types refer to later ones.
    for type_ in &all {
        let id = reader.schema.push(Type::Any);
        reader.schema.name(id, type_.name, type_.go);
        reader.known.insert((type_.short(), ListType::None), id);
        for [group, version, kind] in &type_.kinds {
            reader.schema.add_kind(group, version, kind, id);
        }
    }
    for (number, type_) in all.iter().enumerate() {
        let id = TypeId(u32::try_from(number).unwrap_or(u32::MAX));
        reader.fill(id, type_);
    }
    reader.copy_granular();
    reader.schema
}

/// What tells types apart that are written alike.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum ListType {
    None,
    AtomicMap,
    Granular,
    Set,
    Keys(Vec<&'static str>),
}

#[derive(Default)]
struct Reader {
    schema: Schema,
    known: HashMap<(&'static str, ListType), TypeId>,
    /// Copies of types that are atomic elsewhere: the type, and the copy.
    granular: Vec<(TypeId, TypeId)>,
}

impl Reader {
    fn fill(&mut self, id: TypeId, type_: &Published) {
        if let Some(value) = type_.value {
            self.mark_either(id, value);
            self.schema.replace(id, value_type(value));
            return;
        }
        let fields = type_
            .fields
            .iter()
            .zip(0..)
            .map(|(field, position)| {
                let read = self.field(field);
                (field.name.to_owned(), Field { position, ..read })
            })
            .collect();
        let struct_ = Struct {
            fields,
            atomic: type_.map == Some("atomic"),
            rest: None,
        };
        self.schema.replace(id, Type::Struct(struct_));
    }

    fn mark_either(&mut self, id: TypeId, value: &str) {
        if let Some(kind) = either(value) {
            let schema = self.id("apiextensions.v1.JSONSchemaProps", ListType::None);
            self.schema.set_either(id, Either { schema, kind });
        }
    }

    /// Makes the copies, when all types are there.
    fn copy_granular(&mut self) {
        for (id, copy) in std::mem::take(&mut self.granular) {
            let mut type_ = self.schema.get(id).clone();
            if let Type::Struct(type_) = &mut type_ {
                type_.atomic = false;
            }
            self.schema.replace(copy, type_);
        }
    }

    fn field(&mut self, field: &PublishedField) -> Field {
        let list = match (field.list, field.map) {
            (Some("set"), _) => ListType::Set,
            (Some("map"), _) => ListType::Keys(field.list_keys.clone()),
            (_, Some("atomic")) => ListType::AtomicMap,
            (_, Some("granular")) => ListType::Granular,
            _ => ListType::None,
        };
        let type_ = self.id(field.type_, list);
        let is_pointer = field.type_.starts_with('*');
        let strategies = field.patch.unwrap_or_default();
        Field {
            type_,
            required: field.required,
            default: field
                .default
                .and_then(|text| serde_json::from_str(text).ok()),
            empty: Self::empty(field, is_pointer),
            patch: Patch {
                merge: strategies.split(',').any(|strategy| strategy == "merge"),
                retain_keys: strategies
                    .split(',')
                    .any(|strategy| strategy == "retainKeys"),
                replace: strategies.split(',').any(|strategy| strategy == "replace"),
                key: field.key.map(Into::into),
            },
            inlined: field.inlined.into(),
            position: 0,
            protobuf: field
                .protobuf
                .split('.')
                .filter_map(|number| number.parse().ok())
                .collect(),
        }
    }

    fn empty(field: &PublishedField, is_pointer: bool) -> Empty {
        let is_struct = field
            .type_
            .chars()
            .next()
            .is_some_and(|first| !matches!(first, '[' | '{' | '<' | '*'))
            && !matches!(
                field.type_,
                "string" | "bool" | "int32" | "int64" | "float64" | "bytes"
            );
        match (is_pointer, field.omit_empty || field.omit_zero) {
            (true, true) => Empty::Pointer,
            (true, false) => Empty::Null,
            // `omitempty` never leaves out a struct of Go, whatever its JSON is.
            (false, _) if is_struct && !field.omit_zero => Empty::Written,
            (false, true) => Empty::Omitted,
            (false, false) => Empty::Written,
        }
    }

    /// The type of a token, made if it is new.
    fn id(&mut self, token: &'static str, list: ListType) -> TypeId {
        let token = token.strip_prefix('*').unwrap_or(token);
        if let Some(id) = self.known.get(&(token, list.clone())) {
            return *id;
        }
        let id = self.schema.push(Type::Any);
        self.known.insert((token, list.clone()), id);
        if list == ListType::Granular
            && let Some(original) = self.known.get(&(token, ListType::None))
            && !token.starts_with('{')
        {
            let name = self.schema.go_name(*original).to_owned();
            self.schema.name(id, "", &name);
            self.granular.push((*original, id));
            return id;
        }
        let (named, bare) = split_name(token);
        let (type_, go) = self.build(bare, list);
        self.schema.name(id, "", named.unwrap_or(&go));
        self.schema.replace(id, type_);
        self.mark_either(id, bare);
        id
    }

    fn build(&mut self, bare: &'static str, list: ListType) -> (Type, String) {
        if bare == "bytes" {
            return (Type::Scalar(Scalar::Bytes), "[]uint8".into());
        }
        if let Some(items) = bare.strip_prefix("[]") {
            let items = self.id(items, ListType::None);
            let go = format!("[]{}", self.schema.go_name(items));
            let kind = match list {
                ListType::Set => ListKind::Set,
                ListType::Keys(keys) => {
                    ListKind::Map(keys.into_iter().map(ToOwned::to_owned).collect())
                }
                _ => ListKind::Atomic,
            };
            return (Type::List(List { items, kind }), go);
        }
        if let Some((key, values)) = bare.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            let values = self.id(values, ListType::None);
            let key = if key.is_empty() { "string" } else { key };
            let go = format!("map[{key}]{}", self.schema.go_name(values));
            let atomic = list == ListType::AtomicMap;
            return (Type::Map(Map { values, atomic }), go);
        }
        (value_type(bare), go_scalar(bare).into())
    }
}

/// The name before a type that has one.
fn split_name(token: &'static str) -> (Option<&'static str>, &'static str) {
    match token
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
    {
        Some((name, rest)) => (Some(name), rest),
        None => (None, token),
    }
}

fn value_type(name: &str) -> Type {
    Type::Scalar(match name {
        "string" => Scalar::String,
        "bool" => Scalar::Boolean,
        "int32" => Scalar::Int32,
        "int64" => Scalar::Int64,
        "float64" => Scalar::Number,
        "time" => Scalar::Time,
        "microtime" => Scalar::MicroTime,
        "duration" => Scalar::Duration,
        "quantity" => Scalar::Quantity,
        "intorstring" => Scalar::IntOrString,
        _ => return Type::Any,
    })
}

fn go_scalar(name: &str) -> &str {
    match name {
        "time" => "v1.Time",
        "microtime" => "v1.MicroTime",
        "duration" => "v1.Duration",
        "quantity" => "resource.Quantity",
        "intorstring" => "intstr.IntOrString",
        "raw" => "runtime.RawExtension",
        "fields" => "v1.FieldsV1",
        "json" => "v1.JSON",
        "schemaorbool" => "v1.JSONSchemaPropsOrBool",
        "schemaorarray" => "v1.JSONSchemaPropsOrArray",
        "schemaorstrings" => "v1.JSONSchemaPropsOrStringArray",
        other => other,
    }
}

fn either(value: &str) -> Option<EitherKind> {
    match value {
        "schemaorbool" => Some(EitherKind::Boolean),
        "schemaorarray" => Some(EitherKind::List),
        "schemaorstrings" => Some(EitherKind::Strings),
        _ => None,
    }
}
