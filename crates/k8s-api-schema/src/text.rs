//! The text that holds the built-in types: a line for each type, and below it one for each field.
//!
//! Columns are parted by tabs. A type has its OpenAPI name, its name in Go, and `key=value` columns: `kinds`
//! (group/version/kind), `map` (`x-kubernetes-map-type`), `unions`, and `value` for types that are one JSON value. A
//! field, whose line begins with a tab, has its name, its type, and after that: `#` protobuf number (with the numbers of
//! the messages around it, parted by dots), `in` the Go fields of the structs that it is inlined from, `o` omitempty and `z` omitzero of its Go tag, `!` required, `list`
//! (`x-kubernetes-list-type` with its keys), `map`, `patch` and `key` (`x-kubernetes-patch-*`), `default`, `enum`.
//!
//! A type is written as in Go: `*` pointer, `[]` list, `{}` map (with the name of the keys' type), `<name>` before a
//! named type that is no struct, and the name of a struct without what most names begin with.

/// Made by `cargo xtask schemas` from a running server and from the Go types.
const TEXT: &str = include_str!("builtin.txt");

/// What OpenAPI names begin with where [`Published::name`] has a short form.
const PREFIXES: [&str; 5] = [
    "io.k8s.api.",
    "io.k8s.apimachinery.pkg.apis.",
    "io.k8s.apimachinery.pkg.",
    "io.k8s.apiextensions-apiserver.pkg.apis.",
    "io.k8s.kube-aggregator.pkg.apis.",
];

/// One built-in type as the server publishes it.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// Its name in OpenAPI.
    pub name: &'static str,
    /// Its name in Go, such as `v1.Pod`.
    pub go: &'static str,
    /// Group, version and kind of each.
    pub kinds: Vec<[&'static str; 3]>,
    /// `x-kubernetes-map-type`.
    pub map: Option<&'static str>,
    /// `x-kubernetes-unions` as JSON.
    pub unions: Option<&'static str>,
    /// What the value is, for types that are no JSON object with fields.
    pub value: Option<&'static str>,
    /// In the order of the Go type.
    pub fields: Vec<PublishedField>,
}

/// A field of a [`Published`] type.
#[derive(Clone, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "marks that a field has or has not, independent of each other"
)]
pub struct PublishedField {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its type.
    pub type_: &'static str,
    /// The path of its protobuf number, parted by dots; empty where it has none.
    pub protobuf: &'static str,
    /// The Go fields of the structs that it is inlined from, parted by dots.
    pub inlined: &'static str,
    /// `omitempty`.
    pub omit_empty: bool,
    /// `omitzero`.
    pub omit_zero: bool,
    /// The schema lists it under `required`.
    pub required: bool,
    /// `x-kubernetes-list-type`.
    pub list: Option<&'static str>,
    /// `x-kubernetes-list-map-keys`.
    pub list_keys: Vec<&'static str>,
    /// `x-kubernetes-map-type`.
    pub map: Option<&'static str>,
    /// `x-kubernetes-patch-strategy`.
    pub patch: Option<&'static str>,
    /// `x-kubernetes-patch-merge-key`.
    pub key: Option<&'static str>,
    /// The default as JSON.
    pub default: Option<&'static str>,
    /// The valid values as JSON.
    pub values: Option<&'static str>,
    /// The server does not publish it.
    pub hidden: bool,
}

impl Published {
    /// The name without what most names begin with, as [`PublishedField::type_`] has it.
    #[must_use]
    pub fn short(&self) -> &'static str {
        short(self.name)
    }
}

/// The name without what most names begin with.
fn short(name: &'static str) -> &'static str {
    PREFIXES
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

/// The built-in types, sorted by name.
pub fn published() -> impl Iterator<Item = Published> {
    let mut lines = TEXT.lines().peekable();
    std::iter::from_fn(move || {
        let mut type_ = type_line(lines.next()?);
        while let Some(line) = lines.next_if(|line| line.starts_with('\t')) {
            type_.fields.push(field_line(&line[1..]));
        }
        Some(type_)
    })
}

fn type_line(line: &'static str) -> Published {
    let mut columns = line.split('\t');
    let mut type_ = Published {
        name: columns.next().unwrap_or_default(),
        go: columns.next().unwrap_or_default(),
        ..Published::default()
    };
    for column in columns {
        match column.split_once('=') {
            Some(("kinds", kinds)) => type_.kinds = kinds.split(',').filter_map(kind).collect(),
            Some(("map", map)) => type_.map = Some(map),
            Some(("unions", unions)) => type_.unions = Some(unions),
            Some(("value", value)) => type_.value = Some(value),
            _ => {}
        }
    }
    type_
}

fn kind(text: &'static str) -> Option<[&'static str; 3]> {
    let mut parts = text.split('/');
    Some([parts.next()?, parts.next()?, parts.next()?])
}

fn field_line(line: &'static str) -> PublishedField {
    let mut columns = line.split('\t');
    let mut field = PublishedField {
        name: columns.next().unwrap_or_default(),
        type_: columns.next().unwrap_or_default(),
        ..PublishedField::default()
    };
    for column in columns {
        match (column, column.split_once('=')) {
            ("o", _) => field.omit_empty = true,
            ("z", _) => field.omit_zero = true,
            ("oz", _) => (field.omit_empty, field.omit_zero) = (true, true),
            ("!", _) => field.required = true,
            ("hidden", _) => field.hidden = true,
            (_, Some(("in", inlined))) => field.inlined = inlined,
            (_, Some(("list", list))) => {
                let (list, keys) = list.split_once(':').unwrap_or((list, ""));
                field.list = Some(list);
                field.list_keys = keys.split(',').filter(|key| !key.is_empty()).collect();
            }
            (_, Some(("map", map))) => field.map = Some(map),
            (_, Some(("patch", patch))) => field.patch = Some(patch),
            (_, Some(("key", key))) => field.key = Some(key),
            (_, Some(("default", default))) => field.default = Some(default),
            (_, Some(("enum", values))) => field.values = Some(values),
            _ => field.protobuf = column.strip_prefix('#').unwrap_or_default(),
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whole() {
        let all: Vec<Published> = published().collect();
        assert!(all.is_sorted_by_key(|type_| type_.name));
        let ports = all
            .iter()
            .find(|type_| type_.short() == "core.v1.Container")
            .and_then(|type_| type_.fields.iter().find(|field| field.name == "ports"))
            .unwrap();
        assert_eq!(ports.type_, "[]core.v1.ContainerPort");
        assert_eq!(ports.list_keys, ["containerPort", "protocol"]);
        assert_eq!(
            (ports.list, ports.patch, ports.key, ports.protobuf),
            (Some("map"), Some("merge"), Some("containerPort"), "6")
        );
        let names = all.iter().flat_map(|type_| &type_.fields);
        assert!(names.clone().all(|field| !field.type_.is_empty()));
        assert!(names.filter(|field| field.required).count() > 500);
    }

    #[test]
    fn short_names_are_unique() {
        let mut names: Vec<&str> = published().map(|type_| type_.short()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
