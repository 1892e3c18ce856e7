//! Values with their types: their fields as a set, their differences, their merge, and items taken away.

use k8s_api_schema::{Schema, TypeId};
use serde_json::{Map, Value};

use crate::element::PathElement;
use crate::set::Set;
use crate::shape::{ListShape, MapShape, Shape, item_element, shape};

/// A type: the schema it is in, and which of its types it is.
#[derive(Clone, Copy, Debug)]
pub struct TypeRef<'s> {
    /// The schema.
    pub schema: &'s Schema,
    /// The type in it.
    pub id: TypeId,
}

impl<'s> TypeRef<'s> {
    /// A type of a schema.
    #[must_use]
    pub fn new(schema: &'s Schema, id: TypeId) -> Self {
        Self { schema, id }
    }

    fn at(self, id: TypeId) -> Self {
        Self { id, ..self }
    }

    fn shape(self, value: Option<&Value>) -> Shape<'s> {
        shape(self.schema, self.id, value)
    }

    fn element(self, list: &ListShape<'_>, item: &Value) -> Option<PathElement> {
        item_element(self.schema, list, item).ok()
    }

    /// The fields that a value has: its single values, its lists and objects that are one value, and the items of lists.
    #[must_use]
    pub fn field_set(self, value: &Value) -> Set {
        self.fields_of(value).1
    }

    /// Whether the value is itself a field of the set, and the set of what is below it.
    fn fields_of(self, value: &Value) -> (bool, Set) {
        match self.shape(Some(value)) {
            Shape::Scalar(_) => (true, Set::new()),
            Shape::Map(map) if map.atomic => (true, Set::new()),
            Shape::List(list) if list.is_atomic() => (true, Set::new()),
            Shape::Map(map) => (false, self.fields_of_map(&map, value)),
            Shape::List(list) => (false, self.fields_of_list(&list, value)),
        }
    }

    fn fields_of_map(self, map: &MapShape<'_>, value: &Value) -> Set {
        let mut set = Set::new();
        for (key, value) in value.as_object().into_iter().flatten() {
            let (member, below) = match map.type_of(key) {
                Some(id) => self.at(id).fields_of(value),
                None => (true, Set::new()),
            };
            let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
            let member = member || is_empty || !map.is_named(key);
            set.add(&PathElement::field(key), member, below);
        }
        set
    }

    fn fields_of_list(self, list: &ListShape<'_>, value: &Value) -> Set {
        let mut set = Set::new();
        for items in self.items(list, value) {
            let below = match items.values.as_slice() {
                [single] => self.at(list.items).fields_of(single).1,
                _ => Set::new(),
            };
            set.add(&items.element, true, below);
        }
        set
    }

    /// The items of a list by element, in order of their first appearance. Items without an element are left out.
    fn items<'v>(self, list: &ListShape<'_>, value: &'v Value) -> Vec<Items<'v>> {
        let mut found: Vec<Items<'v>> = Vec::new();
        let mut index = std::collections::BTreeMap::new();
        for (place, item) in value.as_array().into_iter().flatten().enumerate() {
            let Some(element) = self.element(list, item) else {
                continue;
            };
            let at = *index.entry(element.clone()).or_insert_with(|| {
                found.push(Items {
                    element,
                    values: Vec::new(),
                    places: Vec::new(),
                });
                found.len() - 1
            });
            found[at].values.push(item);
            found[at].places.push(place);
        }
        found
    }
}

/// Items of a list that share an element: more than one where the list has duplicates.
struct Items<'v> {
    element: PathElement,
    values: Vec<&'v Value>,
    places: Vec<usize>,
}

/// What the second of two values changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields that only the first has.
    pub removed: Set,
    /// Fields that both have with other values.
    pub modified: Set,
    /// Fields that only the second has.
    pub added: Set,
}

/// Which of the sets of a [`Comparison`] a field is in.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    removed: bool,
    modified: bool,
    added: bool,
}

impl Comparison {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// The comparison without some fields and all below them.
    #[must_use]
    pub fn without(&self, fields: &Set) -> Self {
        Self {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }

    fn add(&mut self, element: &PathElement, marks: Marks, below: Self) {
        self.removed.add(element, marks.removed, below.removed);
        self.modified.add(element, marks.modified, below.modified);
        self.added.add(element, marks.added, below.added);
    }
}

impl TypeRef<'_> {
    /// What `new` changed of `old`.
    #[must_use]
    pub fn compare(self, old: &Value, new: &Value) -> Comparison {
        let mut comparison = Comparison::default();
        self.compare_into(Some(old), Some(new), &mut comparison);
        comparison
    }

    fn compare_into(self, old: Option<&Value>, new: Option<&Value>, out: &mut Comparison) -> Marks {
        let mut marks = Marks::default();
        let (old_shape, new_shape) = (self.shape(old), self.shape(new));
        let is_leaf = match (old, new) {
            (_, None) => self.compare_as(old_shape, old, new, out, &mut marks),
            (None, _) => self.compare_as(new_shape, old, new, out, &mut marks),
            _ => {
                if !old_shape.is_same_kind(&new_shape) {
                    self.compare_as(old_shape, old, new, out, &mut marks);
                }
                self.compare_as(new_shape, old, new, out, &mut marks)
            }
        };
        if !is_leaf {
            marks.added |= old.is_none();
            marks.removed |= new.is_none();
        }
        marks
    }

    /// Returns whether the value was taken as one.
    fn compare_as(
        self,
        shape: Shape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut Comparison,
        marks: &mut Marks,
    ) -> bool {
        let is_leaf = match shape {
            Shape::Scalar(_) => true,
            Shape::Map(map) => {
                let is_empty = |value: Option<&Value>| {
                    value
                        .and_then(Value::as_object)
                        .is_none_or(serde_json::Map::is_empty)
                };
                map.atomic || (is_empty(old) && is_empty(new))
            }
            Shape::List(list) => {
                let is_empty = |value: Option<&Value>| {
                    value.and_then(Value::as_array).is_none_or(Vec::is_empty)
                };
                list.is_atomic() || (is_empty(old) && is_empty(new))
            }
        };
        if is_leaf {
            match (old, new) {
                (None, _) => marks.added = true,
                (_, None) => marks.removed = true,
                (Some(old), Some(new)) if !crate::value::equal(old, new) => marks.modified = true,
                _ => {}
            }
            return true;
        }
        match shape {
            Shape::Map(map) => self.compare_maps(&map, old, new, out),
            Shape::List(list) => self.compare_lists(&list, old, new, out),
            Shape::Scalar(_) => {}
        }
        false
    }

    fn compare_maps(
        self,
        map: &MapShape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut Comparison,
    ) {
        let old = old.and_then(Value::as_object);
        let new = new.and_then(Value::as_object);
        let (has_old, has_new) = (old.is_some(), new.is_some());
        let mut field = |key: &str, old: Option<&Value>, new: Option<&Value>| {
            if old == new {
                return;
            }
            // A field that is always there may be left out of an object, and is then empty.
            let empty = match (old, new) {
                (Some(_), Some(_)) => None,
                _ => map.shown_empty(self.schema, key),
            };
            let old = old.or(empty.as_ref().filter(|_| has_old));
            let new = new.or(empty.as_ref().filter(|_| has_new));
            if old == new {
                return;
            }
            let mut below = Comparison::default();
            let marks = match map.type_of(key) {
                Some(id) => self.at(id).compare_into(old, new, &mut below),
                None => Marks {
                    removed: new.is_none(),
                    modified: old.is_some() && new.is_some(),
                    added: old.is_none(),
                },
            };
            if marks.removed || marks.modified || marks.added || !below.is_same() {
                out.add(&PathElement::field(key), marks, below);
            }
        };
        for (key, value) in old.into_iter().flatten() {
            field(key, Some(value), new.and_then(|new| new.get(key)));
        }
        for (key, value) in new.into_iter().flatten() {
            if old.is_none_or(|old| !old.contains_key(key)) {
                field(key, None, Some(value));
            }
        }
    }

    fn compare_lists(
        self,
        list: &ListShape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        out: &mut Comparison,
    ) {
        if old == new {
            return;
        }
        let null = Value::Null;
        let old_items = self.items(list, old.unwrap_or(&null));
        let new_items = self.items(list, new.unwrap_or(&null));
        let by_element: std::collections::BTreeMap<_, _> = new_items
            .iter()
            .map(|items| (&items.element, &items.values))
            .collect();
        let known: std::collections::BTreeSet<_> =
            old_items.iter().map(|items| &items.element).collect();
        let none = Vec::new();
        for items in &old_items {
            let new = by_element.get(&items.element).copied().unwrap_or(&none);
            self.compare_items(list, &items.element, &items.values, new, out);
        }
        for items in new_items
            .iter()
            .filter(|items| !known.contains(&items.element))
        {
            self.compare_items(list, &items.element, &none, &items.values, out);
        }
    }

    /// Compares the items of one element. Duplicates are one value.
    fn compare_items(
        self,
        list: &ListShape<'_>,
        element: &PathElement,
        old: &[&Value],
        new: &[&Value],
        out: &mut Comparison,
    ) {
        let mut below = Comparison::default();
        let items = self.at(list.items);
        let (first_old, first_new) = (old.first().copied(), new.first().copied());
        let marks = if old.len() <= 1 && new.len() <= 1 {
            items.compare_into(first_old, first_new, &mut below)
        } else if old.len() >= 2 && new.len() >= 2 {
            let same = old.len() == new.len()
                && old.iter().zip(new).all(|(a, b)| crate::value::equal(a, b));
            Marks {
                modified: !same,
                ..Marks::default()
            }
        } else if old.len() >= 2 {
            let mut marks = match first_new {
                Some(new) => items.compare_into(None, Some(new), &mut below),
                None => Marks::default(),
            };
            marks.removed = true;
            marks
        } else {
            let mut marks = match first_old {
                Some(old) => items.compare_into(Some(old), None, &mut below),
                None => Marks::default(),
            };
            marks.added = true;
            marks
        };
        out.add(element, marks, below);
    }
}

impl TypeRef<'_> {
    /// `live` with what `config` says put over it. Nothing is taken away.
    #[must_use]
    pub fn merge(self, live: &Value, config: &Value) -> Value {
        self.merge_values(Some(live), Some(config))
            .unwrap_or_default()
    }

    fn merge_values(self, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
        if config.is_none() {
            return live.cloned();
        }
        let shape = self.shape(config);
        let leaf = || config.cloned();
        match shape {
            Shape::Scalar(_) => leaf(),
            Shape::Map(map) => {
                let maps = [live, config].map(|value| value.and_then(Value::as_object));
                let is_empty = maps.iter().all(|map| map.is_none_or(Map::is_empty));
                if map.atomic || is_empty {
                    return leaf();
                }
                self.merge_maps(&map, maps[0], maps[1])
            }
            Shape::List(list) => {
                let lists = [live, config].map(|value| value.and_then(Value::as_array));
                let is_empty = lists.iter().all(|list| list.is_none_or(Vec::is_empty));
                if list.is_atomic() || is_empty {
                    return leaf();
                }
                let out = self.merge_lists(&list, live, config);
                (!out.is_empty()).then_some(Value::Array(out))
            }
        }
    }

    fn merge_maps(
        self,
        map: &MapShape<'_>,
        live: Option<&Map<String, Value>>,
        config: Option<&Map<String, Value>>,
    ) -> Option<Value> {
        let mut out = Map::new();
        let mut field = |key: &String, live: Option<&Value>, config: Option<&Value>| {
            let merged = match map.type_of(key) {
                Some(id) => self.at(id).merge_values(live, config),
                None => config.or(live).cloned(),
            };
            if let Some(value) = merged {
                out.insert(key.clone(), value);
            }
        };
        for (key, value) in live.into_iter().flatten() {
            field(key, Some(value), config.and_then(|config| config.get(key)));
        }
        for (key, value) in config.into_iter().flatten() {
            if live.is_none_or(|live| !live.contains_key(key)) {
                field(key, None, Some(value));
            }
        }
        (!out.is_empty()).then_some(Value::Object(out))
    }

    /// Merges lists item by item: items of both keep the order of `config`, those of `live` alone stay where they are
    /// relative to them, as far as that can be.
    fn merge_lists(
        self,
        list: &ListShape<'_>,
        live: Option<&Value>,
        config: Option<&Value>,
    ) -> Vec<Value> {
        use std::collections::{BTreeMap, BTreeSet};

        let null = Value::Null;
        let items = self.at(list.items);
        let live_values = live
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let live_items = self.items(list, live.unwrap_or(&null));
        let config_items = self.items(list, config.unwrap_or(&null));
        // Duplicates are not merged with what is applied, but replaced.
        let of_live: BTreeMap<&PathElement, &Value> = live_items
            .iter()
            .map(|items| match items.values.as_slice() {
                [single] => (&items.element, *single),
                _ => (&items.element, &null),
            })
            .collect();
        let of_config: BTreeMap<&PathElement, &Value> = config_items
            .iter()
            .filter_map(|items| Some((&items.element, *items.values.first()?)))
            .collect();
        let mut left: Vec<(usize, &PathElement)> = live_items
            .iter()
            .flat_map(|items| items.places.iter().map(|place| (*place, &items.element)))
            .collect();
        left.sort_unstable_by_key(|(place, _)| *place);
        let right: Vec<&PathElement> = config_items.iter().map(|items| &items.element).collect();
        let mut shared = right.iter().copied().filter(|e| of_live.contains_key(e));
        let mut next_shared = shared.next();

        let mut out = Vec::with_capacity(left.len().max(right.len()));
        let mut merged = BTreeSet::new();
        let mut push = |live: Option<&Value>, config: Option<&Value>| {
            out.extend(items.merge_values(live, config));
        };
        let (mut l, mut r) = (0, 0);
        while l < left.len() || r < right.len() {
            if let (Some((_, element)), Some(applied)) = (left.get(l), right.get(r)) {
                if element == applied {
                    merged.insert(*element);
                    push(
                        of_live.get(element).copied(),
                        of_config.get(element).copied(),
                    );
                    l += 1;
                    r += 1;
                    next_shared = shared.next();
                    continue;
                }
                if of_config.contains_key(element)
                    && next_shared.is_some_and(|next| next != *element)
                {
                    l += 1;
                    continue;
                }
            }
            if let Some((place, element)) = left.get(l) {
                if !of_config.contains_key(element) {
                    push(live_values.get(*place), None);
                    l += 1;
                    continue;
                }
                if merged.contains(element) {
                    l += 1;
                }
            }
            if let Some(element) = right.get(r) {
                merged.insert(element);
                push(
                    of_live.get(element).copied(),
                    of_config.get(element).copied(),
                );
                r += 1;
                if next_shared == Some(element) {
                    next_shared = shared.next();
                }
            }
        }
        out
    }

    /// `value` without the fields and items of a set.
    #[must_use]
    pub fn remove(self, value: &Value, fields: &Set) -> Value {
        if fields.is_empty() {
            return value.clone();
        }
        match self.shape(Some(value)) {
            Shape::Scalar(_) => value.clone(),
            Shape::Map(map) => self.remove_from_map(&map, value, fields),
            Shape::List(list) => self.remove_from_list(&list, value, fields),
        }
    }

    fn remove_from_map(self, shape: &MapShape<'_>, value: &Value, fields: &Set) -> Value {
        let Some(map) = value.as_object().filter(|_| !shape.atomic) else {
            return Value::Null;
        };
        let mut out = Map::new();
        for (key, value) in map {
            let kept = match fields.node(&PathElement::field(key)) {
                None => value.clone(),
                Some(node) if node.member => continue,
                Some(node) => match shape.type_of(key) {
                    Some(id) => self.at(id).remove(value, &node.children),
                    None => value.clone(),
                },
            };
            out.insert(key.clone(), kept);
        }
        if out.is_empty() {
            return Value::Null;
        }
        Value::Object(out)
    }

    fn remove_from_list(self, list: &ListShape<'_>, value: &Value, fields: &Set) -> Value {
        let Some(items) = value.as_array().filter(|_| !list.is_atomic()) else {
            return Value::Null;
        };
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            let node = self
                .element(list, item)
                .and_then(|element| fields.node(&element));
            match node {
                None => out.push(item.clone()),
                Some(node) if node.member => {}
                Some(node) => out.push(self.at(list.items).remove(item, &node.children)),
            }
        }
        if out.is_empty() {
            return Value::Null;
        }
        Value::Array(out)
    }
}

impl TypeRef<'_> {
    /// A set of fields as it is now that the type has changed since it was written: below a list or an object that has
    /// become one value, only that value is left. `None` if nothing is to be changed.
    #[must_use]
    pub fn reconcile(self, set: &Set) -> Option<Set> {
        let mut atomic = Set::new();
        self.find_atomic(Some(set), false, &mut Vec::new(), &mut atomic);
        if atomic.is_empty() {
            return None;
        }
        Some(set.recursive_difference(&atomic).union(&atomic))
    }

    /// Whether fields below a value of the type are its own (`true`) or within one value (`false`); `None` if that cannot
    /// be told, so that they stay as they are.
    pub(crate) fn is_walked(self) -> Option<bool> {
        match self.shape(None) {
            Shape::Scalar(_) => None,
            Shape::Map(map) if map.is_deduced(self.schema) => None,
            Shape::Map(map) => Some(!map.atomic),
            Shape::List(list) => Some(!list.is_atomic()),
        }
    }

    /// The type below a key of `fieldsV1`, as far as it is known.
    pub(crate) fn below(self, key: &str) -> Option<Self> {
        let id = match self.shape(None) {
            Shape::List(list) => Some(list.items),
            Shape::Map(map) => key.strip_prefix("f:").and_then(|name| map.type_of(name)),
            Shape::Scalar(_) => None,
        };
        id.map(|id| self.at(id))
    }

    fn find_atomic(
        self,
        set: Option<&Set>,
        is_atomic: bool,
        path: &mut Vec<PathElement>,
        found: &mut Set,
    ) {
        let shape = self.shape(None);
        match &shape {
            Shape::Scalar(_) => return,
            Shape::Map(map) => {
                // Of a type that allows anything, none knows what it was.
                if map.is_deduced(self.schema) {
                    return;
                }
                if !is_atomic && map.atomic {
                    if set.is_some_and(|set| !set.is_empty()) {
                        found.insert(path);
                    }
                    return;
                }
            }
            Shape::List(list) => {
                if !is_atomic && list.is_atomic() {
                    found.insert(path);
                    return;
                }
            }
        }
        for node in set.into_iter().flat_map(|set| &set.nodes) {
            let below = match (&shape, &node.element) {
                (Shape::List(list), _) => Some(list.items),
                (Shape::Map(map), PathElement::Field(name)) => map.type_of(name),
                _ => None,
            };
            let Some(below) = below else { continue };
            let children = Some(&node.children).filter(|children| !children.is_empty());
            path.push(node.element.clone());
            self.at(below)
                .find_atomic(children, node.member && children.is_none(), path, found);
            path.pop();
        }
    }
}
