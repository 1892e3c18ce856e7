//! What went wrong in a reconciliation, in a form that code can act upon.
//!
//! [`Error`] is the error of one pass over one object: the user's own error, an error of the
//! finalizer handling, or a pass that could not be carried out. It answers the questions that a
//! controller has about an error: what to tell a person ([`Error::display_chain`]), whether it
//! was only a concurrent write ([`Error::is_conflict`]), which kind of failure it is
//! ([`Error::classify`]), and whether trying again can help at all ([`Error::is_terminal`]).
//!
//! The same answers are there for any error: [`display_chain`], [`is_conflict`], [`classify`],
//! [`retry_after`], [`is_terminal`] and [`is_not_leading`] take a `&(dyn std::error::Error + 'static)`, so that this
//! crate is of use without the rest of `k8s-controller`.
//!
//! ```
//! use k8s_controller_error::{ErrorClass, classify, display_chain};
//! use kube::core::Status;
//!
//! #[derive(Debug, thiserror::Error)]
//! #[error("cannot read the settings")]
//! struct ReadSettings(#[source] kube::Error);
//!
//! let status = Status::failure("configmaps \"settings\" not found", "NotFound").with_code(404);
//! let error = ReadSettings(kube::Error::Api(status.boxed()));
//!
//! assert_eq!(
//!     display_chain(&error).to_string(),
//!     "cannot read the settings: ApiError: configmaps \"settings\" not found: NotFound",
//! );
//! assert_eq!(classify(&error), ErrorClass::NotFound);
//! ```
//!
//! This crate does not retry, log or send anything; it looks at errors.

mod chain;
mod class;
mod conflict;
mod display;
mod error;
mod leading;
mod terminal;

pub use class::{ErrorClass, classify, retry_after};
pub use conflict::{is_conflict, is_failed_patch_test};
pub use display::{DisplayChain, display_chain};
pub use error::{Error, Panic};
pub use leading::{NotLeading, is_not_leading};
pub use terminal::{TerminalError, is_terminal};
