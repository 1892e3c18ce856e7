//! Admission: what may still change or refuse a write before it is validated and stored.
//!
//! Built-in plugins come first, in the order of the real server; then webhooks.

mod client;
mod dispatch;
mod hook;
#[cfg(feature = "http")]
mod https;
mod matching;
mod review;
mod session;

use serde_json::Value;

use crate::lifecycle::State;
use crate::metadata;
use crate::object::Object;
use crate::status::Failure;
use crate::verbs::Call;

pub(crate) use client::Client;
use hook::Hooks;
pub(crate) use session::Session;

/// What a request does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A write as admission sees it; objects are in their stored form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes<'a> {
    pub(crate) call: &'a Call,
    pub(crate) operation: Operation,
    /// Name of the object; empty where the server is still to make one.
    pub(crate) name: &'a str,
    /// The object before the write; none for a create.
    pub(crate) old: Option<&'a Value>,
    pub(crate) dry_run: bool,
}

impl Attributes<'_> {
    pub(crate) fn subresource(&self) -> &str {
        self.call.target.subresource.as_deref().unwrap_or_default()
    }

    /// The namespace of the request; that of a Namespace itself is its name.
    pub(crate) fn namespace(&self) -> &str {
        if self.call.kind().storage == crate::lifecycle::NAMESPACES {
            return self.name;
        }
        self.call.target.namespace.as_deref().unwrap_or_default()
    }
}

/// What admission keeps: the webhooks, and the write that is being admitted.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    hooks: Hooks,
    pub(crate) session: Session,
}

/// Whether a write may have to wait for webhooks.
pub(crate) fn has_webhooks(state: &mut State) -> bool {
    state.admission.hooks.follow(&state.store);
    !state.admission.hooks.is_empty()
}

/// Plugins and webhooks that may change the object. There is none for a delete.
pub(crate) fn mutate(
    state: &mut State,
    attributes: Attributes<'_>,
    mut object: Option<&mut Value>,
) -> Result<(), Failure> {
    if let Some(object) = object.as_deref_mut() {
        plugins(state, attributes, object)?;
    }
    dispatch::mutate(state, attributes, object)
}

/// The built-in plugins that may change the object.
fn plugins(
    state: &mut State,
    attributes: Attributes<'_>,
    object: &mut Value,
) -> Result<(), Failure> {
    if !attributes.subresource().is_empty() {
        return Ok(());
    }
    crate::plugins::mutate(state, attributes.call.kind(), object, attributes.old)
}

/// Plugins and webhooks that may refuse the object as it would be stored.
pub(crate) fn validate(
    state: &mut State,
    attributes: Attributes<'_>,
    object: Option<&Value>,
) -> Result<(), Failure> {
    if let Some(object) = object {
        crate::auth::check_owner_references(state, attributes.call, object, attributes.old)?;
    }
    dispatch::validate(state, attributes, object)
}

/// Both for a delete, whose object is gone afterwards.
pub(crate) fn delete(
    state: &mut State,
    call: &Call,
    old: &Object,
    dry_run: bool,
) -> Result<(), Failure> {
    if state.admission.hooks.is_empty() {
        return Ok(());
    }
    let value = old.value();
    let attributes = Attributes {
        call,
        operation: Operation::Delete,
        name: metadata::name(&value),
        old: Some(&value),
        dry_run,
    };
    dispatch::mutate(state, attributes, None)?;
    dispatch::validate(state, attributes, None)
}

/// What is asked of every create that is not a POST: leave to create.
pub(crate) fn authorize_create(
    state: &mut State,
    call: &Call,
    object: &Value,
) -> Result<(), Failure> {
    let kind = call.kind();
    let asked = crate::auth::Attributes {
        namespace: call.target.namespace.clone().unwrap_or_default(),
        ..crate::auth::Attributes::resource(
            "create",
            &kind.group,
            &kind.plural,
            metadata::name(object),
        )
    };
    state.access.authorize(&state.store, &call.user, &asked)
}
