//! Sets of fields.

use std::cmp::Ordering;

use k8s_api_schema::{Schema, TypeId};

use crate::element::{Path, PathElement};
use crate::shape;

/// A set of fields of an object.
///
/// A field is in the set with or without those below it: `spec` and `spec.replicas` are two members.
///
/// ```
/// use k8s_structured_merge::{PathElement, Set};
///
/// let mut set = Set::new();
/// set.insert(&[PathElement::field("data"), PathElement::field("key")]);
/// assert_eq!(set.encode().to_string(), r#"{"f:data":{"f:key":{}}}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted by element; none is empty.
    pub(crate) nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) element: PathElement,
    /// The field itself is in the set.
    pub(crate) member: bool,
    /// What is in the set below it.
    pub(crate) children: Set,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl Set {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// A set of fields given by their names.
    #[must_use]
    pub fn of_names(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            let path: Path = path.iter().copied().map(PathElement::field).collect();
            set.insert(&path);
        }
        set
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn find(&self, element: &PathElement) -> Result<usize, usize> {
        self.nodes
            .binary_search_by(|node| node.element.cmp(element))
    }

    pub(crate) fn node(&self, element: &PathElement) -> Option<&Node> {
        self.find(element).ok().map(|at| &self.nodes[at])
    }

    /// The node of an element, made where there is none.
    pub(crate) fn node_mut(&mut self, element: &PathElement) -> &mut Node {
        let at = match self.find(element) {
            Ok(at) => at,
            Err(at) => {
                let node = Node {
                    element: element.clone(),
                    member: false,
                    children: Self::new(),
                };
                self.nodes.insert(at, node);
                at
            }
        };
        &mut self.nodes[at]
    }

    /// Adds a field. The fields above it are not added. The empty path, the object itself, cannot be in a set.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => self.node_mut(last).member = true,
            [first, rest @ ..] => self.node_mut(first).children.insert(rest),
        }
    }

    /// Adds what a walk over a value found for one element.
    pub(crate) fn add(&mut self, element: &PathElement, member: bool, children: Self) {
        if !member && children.is_empty() {
            return;
        }
        let node = self.node_mut(element);
        node.member |= member;
        if node.children.is_empty() {
            node.children = children;
        } else {
            node.children = node.children.union(&children);
        }
    }

    /// Whether a field is in the set.
    #[must_use]
    pub fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.node(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self
                .node(first)
                .is_some_and(|node| node.children.contains(rest)),
        }
    }

    /// What is in one of the two or in both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.merge(other, |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(Node {
                element: a.element.clone(),
                member: a.member || b.member,
                children: a.children.union(&b.children),
            }),
            (a, b) => a.or(b).cloned(),
        })
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.merge(other, |a, b| {
            let (a, b) = (a?, b?);
            Some(Node {
                element: a.element.clone(),
                member: a.member && b.member,
                children: a.children.intersection(&b.children),
            })
        })
    }

    /// What is in this set and not in the other. A field stays when one below it is taken away, and the reverse.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.merge(other, |a, b| match (a?, b) {
            (a, None) => Some(a.clone()),
            (a, Some(b)) => Some(Node {
                element: a.element.clone(),
                member: a.member && !b.member,
                children: a.children.difference(&b.children),
            }),
        })
    }

    /// Like [`difference`](Self::difference), but with a field goes all that is below it.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.merge(other, |a, b| match (a?, b) {
            (_, Some(b)) if b.member => None,
            (a, None) => Some(a.clone()),
            (a, Some(b)) => Some(Node {
                element: a.element.clone(),
                member: a.member,
                children: a.children.recursive_difference(&b.children),
            }),
        })
    }

    /// Walks both in order; what `pick` makes of a pair is kept if it is not empty.
    fn merge(
        &self,
        other: &Self,
        pick: impl Fn(Option<&Node>, Option<&Node>) -> Option<Node>,
    ) -> Self {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Self { nodes },
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.element.cmp(&b.element),
            };
            let a = left.next_if(|_| order != Ordering::Greater);
            let b = right.next_if(|_| order != Ordering::Less);
            nodes.extend(pick(a, b).filter(|node| !node.is_empty()));
        }
    }

    /// The fields of the set below which there is none.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let nodes = self.nodes.iter().map(|node| Node {
            element: node.element.clone(),
            member: node.member && node.children.is_empty(),
            children: node.children.leaves(),
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// The set with all named fields on the way to its members: `spec` of `spec.replicas`, but not a key of a map.
    #[must_use]
    pub fn with_named_fields(&self, schema: &Schema, type_: TypeId) -> Self {
        self.with_fields(schema, Some(type_))
    }

    fn with_fields(&self, schema: &Schema, type_: Option<TypeId>) -> Self {
        let nodes = self.nodes.iter().map(|node| {
            let (named, below) = match type_ {
                Some(type_) => shape::below(schema, type_, &node.element),
                None => (false, None),
            };
            Node {
                element: node.element.clone(),
                member: node.member || (named && !node.children.is_empty()),
                children: node.children.with_fields(schema, below),
            }
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Calls `visit` with every member: those of a level first, then those below each.
    pub fn for_each(&self, mut visit: impl FnMut(&[PathElement])) {
        self.visit(&mut Vec::new(), &mut visit);
    }

    fn visit(&self, path: &mut Path, visit: &mut impl FnMut(&[PathElement])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            path.push(node.element.clone());
            visit(path);
            path.pop();
        }
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            path.push(node.element.clone());
            node.children.visit(path, visit);
            path.pop();
        }
    }

    /// The members, as [`for_each`](Self::for_each) visits them.
    #[must_use]
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.for_each(|path| paths.push(path.to_vec()));
        paths
    }
}

impl FromIterator<Path> for Set {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path);
        }
        set
    }
}
