//! A Kubernetes API server inside the process, behind `kube::Client`.
//!
//! [`EmbeddedApiServer`] is a [`tower::Service`] that answers what a kube-apiserver answers. It opens no socket and
//! starts no thread or task, so tests of controllers run on it in milliseconds, and under tokio's paused time whole
//! days of virtual time do. What it answers is compared with recorded answers of kube-apiserver 1.37.2.
//!
//! ```
//! use std::time::Duration;
//!
//! use k8s_embedded_apiserver::EmbeddedApiServer;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, DeleteParams, PostParams};
//! use kube::{Client, ResourceExt};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), kube::Error> {
//! let server = EmbeddedApiServer::builder().seed(7).build();
//! let client = Client::new(server.clone(), "default");
//!
//! let api: Api<ConfigMap> = Api::default_namespaced(client);
//! let mut config_map = ConfigMap::default();
//! config_map.metadata.generate_name = Some("settings-".into());
//! config_map.metadata.finalizers = Some(vec!["example.com/hold".into()]);
//! let created = api.create(&PostParams::default(), &config_map).await?;
//!
//! // With paused time this takes no time, but the server's timestamps move by a day.
//! tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
//! api.delete(&created.name_any(), &DeleteParams::default()).await?;
//! let held = api.get(&created.name_any()).await?;
//! let (begun, deleted) = (held.metadata.creation_timestamp, held.metadata.deletion_timestamp);
//! assert_eq!(deleted.unwrap().0.duration_since(begun.unwrap().0).as_hours(), 24);
//! # Ok(())
//! # }
//! ```
//!
//! # What it does
//!
//! - ConfigMap, Secret, Namespace, Pod, Service, ServiceAccount, Node, Deployment, ReplicaSet, Lease, Role,
//!   ClusterRole, RoleBinding, ClusterRoleBinding, Event (one store behind core/v1 and events.k8s.io/v1; events expire
//!   after an hour), CustomResourceDefinition, and the custom resources that definitions make, in all their versions. A
//!   definition is served at once.
//! - Create (with `generateName`), get, list (selectors, `limit` and `continue`, lists of the past), replace, patch
//!   (JSON, merge and, for built-in kinds, strategic merge), delete and deletecollection, with dry runs, conflicts,
//!   preconditions, finalizers, generations, the `status` and `scale` subresources and `Status` bodies of the real
//!   server.
//! - Watches from any version that is still kept, with bookmarks, initial events, selectors and timeouts; 410 Expired
//!   for what is older.
//! - Answers as `Table` and as `PartialObjectMetadata`, discovery, OpenAPI v3 documents for kubectl.
//! - What controllers of a cluster do, done before the request that causes it is answered: deletion of the content of
//!   a namespace or definition, and garbage collection by owner references (background, foreground and orphaning).
//!   The order is fixed, so with [a seed](Builder::seed) and [a clock](Builder::clock) two runs are the same.
//!
//! # What it does not do
//!
//! - No authentication or authorization: every request may do everything.
//! - No server-side apply (415) and no `managedFields`.
//! - No protobuf in answers, and in bodies only of the kinds that `kubectl create KIND` makes (others: 400). YAML is
//!   read, but not written.
//! - Custom resources are not checked against their schema, neither pruned nor defaulted.
//! - Built-in kinds are read into the fields that the chosen version of `k8s-openapi` knows. Defaults are those of the
//!   fields that most objects have; a Service gets no address, and references to other objects are not followed.
//! - No other built-in kinds than those above.
//! - An Event whose `eventTime` is Go's zero time (`0001-01-01T00:00:00.000000Z`) is refused as if it had none; a real
//!   server takes it. A null in a map of texts (`data`) is refused with 400; a real server takes it for an empty text.
//! - The answer to a dry run of a delete shows the object as it is, not as it would be.
//! - No controllers but those above: Deployments make no Pods, namespaces have no `default` ServiceAccount, nodes do
//!   not run Pods. A Pod is deleted at once, without a grace period.
//! - A namespace that goes away gets no conditions that tell what holds it. A watch of custom resources goes on as it
//!   began when their definition is changed.
//! - No admission plugins or webhooks, no conversion webhooks, no quotas, no priority or fairness.
//! - No `exec`, `log`, `binding`, `eviction` and other subresources than `status`, `scale` and `finalize`.
//! - Nothing is written to disk.
//!
//! # Limits
//!
//! Bodies of more than 3 MiB are refused, and objects and lists nested more than 127 deep (a real server takes 10,000).
//! A watch ends after a year. Of each kind 10,000 changes are kept for watches ([`Builder::history_limit`]). Work is
//! done when a request or the body of a watch is polled: events that have expired go with the next request.
//!
//! Watches, and reads of a version that is still to come, need a tokio runtime with time.

#![doc = include_str!("kubectl.md")]

mod admission;
mod api_body;
mod as_user;
mod auth;
mod background;
mod body;
mod builder;
mod builtin;
mod convert;
mod custom;
mod defaults;
mod definitions;
mod discovery;
mod encoding;
mod finish;
mod go_json;
#[cfg(feature = "http")]
pub mod http;
mod json_error;
mod kinds;
mod lifecycle;
mod managed;
mod metadata;
mod object;
mod ordered;
mod patch;
mod plugins;
mod pod_warnings;
mod query;
mod registered;
mod registry;
mod routes;
mod selector;
mod served;
mod server;
mod services;
mod source;
mod start;
mod status;
mod store;
mod table;
mod validation;
mod verbs;
mod watch;
mod yaml;

pub use api_body::ApiBody;
pub use as_user::AsUser;
pub use auth::{TokenFileError, User, parse_token_file};
pub use builder::Builder;
pub use server::{ApiFuture, EmbeddedApiServer};
