//! A Kubernetes API server inside the process, behind kube::Client

mod api_body;
mod body;
mod builtin;
mod codec;
mod convert;
mod defaults;
mod definitions;
mod discovery;
mod field_error;
#[cfg(feature = "http")]
pub mod http;
mod json_error;
mod kinds;
mod lifecycle;
mod metadata;
mod patch;
mod query;
mod registry;
mod routes;
mod selector;
mod served;
mod server;
mod source;
mod status;
mod store;
mod table;
mod times;
mod validation;
mod verbs;
mod watch;

pub use api_body::ApiBody;
pub use server::{ApiFuture, Builder, EmbeddedApiServer};
