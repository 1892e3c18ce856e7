//! RuntimeClass: there is none, so a Pod can neither name one nor have the overhead of one.

use serde_json::Value;

use super::PODS;
use crate::metadata::{name, text};
use crate::status::Failure;

pub(super) fn check(pod: &Value) -> Result<(), Failure> {
    let class = text(pod, "/spec/runtimeClassName");
    let why = if !class.is_empty() {
        format!("pod rejected: RuntimeClass {class:?} not found")
    } else if pod.pointer("/spec/overhead").is_some() {
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead".into()
    } else {
        return Ok(());
    };
    Err(Failure::forbidden("", PODS, name(pod), &why))
}
