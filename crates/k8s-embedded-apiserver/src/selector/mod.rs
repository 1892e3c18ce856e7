//! Label and field selectors: parsing and matching.

mod field;
mod label;
mod object;

pub(crate) use field::{FieldRules, FieldSelector};
pub(crate) use label::LabelSelector;
pub(crate) use object::ObjectSelector;
