//! A Kubernetes API server inside the process, behind `kube::Client`.
//!
//! [`EmbeddedApiServer`] is a [`tower::Service`] that answers what a kube-apiserver answers. It opens no socket and
//! starts no thread, so tests of controllers run on it in milliseconds, and under tokio's paused time whole days of
//! virtual time do. What it answers is compared with answers of kube-apiserver 1.37.2.
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
//! - All built-in kinds of a real server, with its defaults, tables and discovery; those that operators use are also
//!   validated as there (see below for what is not), Pods get their priority and tolerations, Services their addresses
//!   and ports. Custom resources of every CustomResourceDefinition, in all their versions: pruned, defaulted and
//!   checked by their schema and its CEL rules, with ratcheting. A definition is served at once.
//! - Every verb, in JSON, YAML and (bodies of built-in kinds) protobuf, with dry runs, conflicts, preconditions,
//!   `fieldValidation` and warnings; patches of each kind, and server-side apply. `managedFields` tell who owns what.
//! - Lists and watches by every form of resource version, with selectors, chunks, bookmarks, initial events and
//!   timeouts; 410 Expired for what is no longer kept; `Table` and `PartialObjectMetadata`; gzip. The watch cache can be
//!   made to [lag](Builder::watch_cache_lag).
//! - Users by token or [in process](EmbeddedApiServer::as_user), impersonation, [RBAC](Builder::rbac) where it is
//!   switched on, reviews, tokens of service accounts, and [admission webhooks](Builder::webhook).
//! - What controllers of a cluster do, a moment later: garbage collection by owner references, namespaces that go away
//!   with their content, and the ServiceAccount `default` of each namespace. Each can be switched off, and its
//!   [delay](Builder::controller_delay) chosen. A task does it while there is something to do; it ends with the server.
//! - With [a seed](Builder::seed) and [a clock](Builder::clock) two runs are the same.
//!
//! # Over HTTP
//!
//! With the feature `http`, which is on by default, the module `http` has a front that listens on an address, in plain
//! HTTP or HTTPS, and webhooks are called over HTTPS. Tests that only use `kube::Client::new` need neither: depend on
//! the crate with `default-features = false`. With the feature there is also a program, for kubectl and other clients:
//!
//! ```text
//! cargo run -p k8s-embedded-apiserver -- --listen 127.0.0.1:8080 --kubeconfig ./embedded.kubeconfig
//! ```
//!
//! Roles count in it by default (`--authorization-mode`), but without a file of users (`--token-auth-file`) everybody is
//! `admin` of the group `system:masters`, who may do everything. `--help` lists the rest.
//!
//! # What it does not do
//!
//! - No controllers but those above: Deployments make no Pods, nodes do not run Pods, and a Pod on a node that was
//!   deleted stays until it is deleted without grace, as in a cluster whose nodes are gone.
//! - Users: no client certificates. Tokens are signed with HMAC, and no keys are published. The rules of aggregated
//!   ClusterRoles take effect, but are not written into them.
//! - Admission: there is no `authorizer` in the `matchConditions` of webhooks; admission policies are stored only, and so
//!   are quotas and limit ranges. Webhooks are not called for reviews, evictions and bindings. No priority and fairness.
//! - Custom resources: what CEL rules will cost is not estimated (what they do cost is limited), and conversion
//!   webhooks are not called. Errors inside of CEL's library functions may be told in other words.
//! - OpenAPI: documents hold no descriptions of fields, and few of operations; `/openapi/v2` is nearly empty.
//! - Errors of YAML syntax are told in other words.
//! - Stored with type and metadata checks only: resource.k8s.io, flowcontrol, certificates, storagemigration,
//!   apiregistration, admission policies, IPAddress, ServiceCIDR, CSINode, CSIStorageCapacity, VolumeAttachment,
//!   VolumeAttributesClass.
//! - Not validated of Pods: rules of operating systems, AppArmor, SELinux and seccomp annotations, resource claims in
//!   full, details of rare volumes and of restart rules. Of their status: addresses, and the order of states of
//!   containers. What differs in a refused change of a Pod is not shown.
//! - Not validated of others: certificates in TLS Secrets, names of time zones beyond their form, path overlaps of
//!   Jobs, sources of PersistentVolumes other than hostPath, nfs, csi and local, resizing of claims whose class forbids
//!   it.
//! - Services: one range of IPv4 addresses (10.0.0.0/24), no dual stack.
//! - Subresources that need a node (`exec`, `log`, `attach`, `portforward`, `proxy`), `ephemeralcontainers`, `resize`
//!   and `approval` are listed, and answer 404.
//! - `/metrics` has two metrics. Nothing is written to disk.
//!
//! # Limits
//!
//! Bodies of more than 3 MiB are refused, and kept values nested more than 127 deep (a real server takes 10,000). A
//! watch ends after a year. Rules and patterns that are nested deeply are worked on in a thread with more stack, which
//! ends with the request. Of each kind 10,000 changes are kept for watches ([`Builder::history_limit`]).
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
mod media_type;
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
