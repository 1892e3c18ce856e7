//! The custom resources that scenarios use.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A namespaced kind with a status.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[kube(
    group = "e2e.example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus"
)]
pub(crate) struct WidgetSpec {
    #[serde(default)]
    pub(crate) text: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WidgetStatus {
    pub(crate) seen: Option<String>,
    pub(crate) observed_generation: Option<i64>,
}

/// A cluster-scoped kind that owns namespaced children.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[kube(group = "e2e.example.com", version = "v1", kind = "Realm")]
pub(crate) struct RealmSpec {
    #[serde(default)]
    pub(crate) namespaces: Vec<String>,
}

pub(crate) fn definitions() -> [CustomResourceDefinition; 2] {
    [Widget::crd(), Realm::crd()]
}
