//! Label and field selectors: parsing and matching.

mod field;
mod label;

pub(crate) use field::{FieldRules, FieldSelector};
pub(crate) use label::LabelSelector;
