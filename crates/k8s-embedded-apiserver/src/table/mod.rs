//! Other representations of objects: `Table` and `PartialObjectMetadata`.

mod accept;
mod age;
mod cells;
mod columns;
mod jsonpath;
mod kinds;
mod rendering;

pub(crate) use accept::{
    MEDIA_TYPES, STREAM_TYPES, for_documents, for_errors, negotiate, route, route_to,
};
pub(crate) use rendering::{IncludeObject, Rendering, Representation};
