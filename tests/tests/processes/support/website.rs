//! The kind that the website example reconciles, as its users know it.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "example.dev",
    version = "v1",
    kind = "Website",
    namespaced,
    status = "WebsiteStatus"
)]
pub(crate) struct WebsiteSpec {
    pub content: String,
    pub replicas: i32,
    pub host: String,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebsiteStatus {
    pub observed_generation: Option<i64>,
    pub phase: String,
    pub message: Option<String>,
}
