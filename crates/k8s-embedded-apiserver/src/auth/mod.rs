//! Who asks and what they may do: authentication, impersonation, RBAC, service account tokens, and the reviews.

mod access;
mod attributes;
mod authentication;
mod bootstrap;
mod escalation;
mod impersonation;
mod owner_references;
mod rbac;
pub(crate) mod reviews;
mod rules;
mod service_account;
mod token_request;
mod tokens;
mod user;

pub(crate) use access::Access;
pub(crate) use attributes::Attributes;
pub(crate) use authentication::caller;
pub(crate) use bootstrap::install as install_policy;
pub(crate) use escalation::check as check_escalation;
pub(crate) use owner_references::check as check_owner_references;
pub(crate) use reviews::{Review, handle as review};
pub(crate) use token_request::create as request_token;
pub(crate) use tokens::{ISSUER, Signer};
pub use tokens::{TokenFileError, parse_token_file};
pub use user::User;
