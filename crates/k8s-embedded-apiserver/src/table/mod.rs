//! Other representations of objects: `Table` and `PartialObjectMetadata`.

mod accept;
mod age;
mod cells;
mod columns;
mod events;
mod jsonpath;
mod nodes;
mod pods;
mod rendering;
mod services;

pub(crate) use accept::{MEDIA_TYPES, clauses};
pub(crate) use rendering::{IncludeObject, Rendering, Representation};
