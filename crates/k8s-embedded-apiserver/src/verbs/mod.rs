//! What a request does, verb by verb. Every function works on the whole state under its lock and never waits.

mod apply;
mod continuation;
mod create;
mod delete;
mod list;
mod patch;
mod pods;
mod read;
mod scale;
mod update;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::Method;
use k8s_custom_schema::Part;
use serde_json::{Value, json};

use crate::auth::{self, User};
use crate::body::{self, Decoded};
use crate::custom;
use crate::kinds::Kind;
use crate::lifecycle::State;
use crate::managed;
use crate::object::Object;
use crate::query::{FieldValidation, Query};
use crate::routes::Target;
use crate::status::Failure;
use crate::store::{self, Place};
use crate::validation;
use crate::watch::WatchPlan;

use continuation::Continue;
pub(crate) use create::set_namespace;
pub(crate) use list::Selection;

/// One request for a resource.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) query: Query,
    pub(crate) content_type: Option<String>,
    /// Of a write alone.
    pub(crate) user_agent: Option<String>,
    pub(crate) body: Bytes,
    /// Who asks.
    pub(crate) user: Arc<User>,
}

/// The answer to a request for a resource.
#[derive(Debug)]
pub(crate) enum Answer {
    /// An object in the version asked for.
    Object {
        code: u16,
        object: Item,
        warnings: Vec<String>,
    },
    /// A list in the version asked for; its items carry their type.
    List(List),
    /// A `Status`, a `Scale`: nothing that has another representation.
    Other {
        code: u16,
        object: Value,
    },
    Watch(WatchPlan),
    /// A watch that could not begin: its stream tells why, and ends.
    WatchFailed(Failure),
    /// The version asked for has not been reached; ask again when it was, or give up after a while.
    NotYet(u64),
}

/// An object of an answer, in the version asked for.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// As it is stored.
    Stored(Arc<Object>),
    Made(Value),
}

impl Item {
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Stored(object) => object.value(),
            Self::Made(value) => value,
        }
    }

    /// The JSON text with `apiVersion` and `kind`, as a line.
    pub(crate) fn line(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.text_len() + 1);
        self.write(true, &mut out);
        out.push(b'\n');
        out.into()
    }

    /// Appends the JSON text, with `apiVersion` and `kind` if it shall be `typed`.
    pub(crate) fn write(&self, typed: bool, out: &mut impl BufMut) {
        match self {
            Self::Stored(object) => object.write(typed, out),
            Self::Made(value) if typed => json_text(value, out),
            Self::Made(value) => Object::new(value).write(false, out),
        }
    }

    pub(crate) fn text_len(&self) -> usize {
        match self {
            Self::Stored(object) => object.text_len(),
            Self::Made(_) => 1024,
        }
    }
}

/// Appends JSON.
fn json_text(value: &Value, out: &mut impl BufMut) {
    out.put_slice(crate::ordered::text(value).as_bytes());
}

/// The parts of a list.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) version: String,
    pub(crate) continue_: Option<String>,
    pub(crate) remaining: Option<usize>,
    pub(crate) items: Vec<Item>,
}

impl List {
    /// The text of the list.
    pub(crate) fn text(&self, kind: &Kind) -> Bytes {
        let length: usize = self.items.iter().map(|item| item.text_len() + 1).sum();
        let mut out = BytesMut::with_capacity(length + 512);
        out.put_slice(b"{\"kind\":");
        json_text(&kind.list_kind.as_ref().into(), &mut out);
        out.put_slice(b",\"apiVersion\":");
        json_text(&kind.api_version().into(), &mut out);
        out.put_slice(b",\"metadata\":");
        json_text(&self.metadata(kind, true), &mut out);
        out.put_slice(b",\"items\":[");
        for (index, item) in self.items.iter().enumerate() {
            if index > 0 {
                out.put_u8(b',');
            }
            // Only items of custom resources tell their type.
            item.write(kind.is_custom(), &mut out);
        }
        out.put_slice(b"]}\n");
        out.freeze()
    }

    /// The list as a tree.
    pub(crate) fn value(&self, kind: &Kind) -> Value {
        // The text was just written.
        serde_json::from_slice(&self.text(kind)).unwrap_or_default()
    }

    /// The metadata of the list; `whole` if it is not made into a table or the like.
    pub(crate) fn metadata(&self, kind: &Kind, whole: bool) -> Value {
        let mut metadata = json!({"resourceVersion": self.version});
        if let Some(token) = &self.continue_ {
            metadata["continue"] = token.as_str().into();
        } else if kind.is_custom() && whole {
            metadata["continue"] = "".into();
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }
}

impl Call {
    pub(crate) fn kind(&self) -> &Kind {
        &self.target.kind
    }

    /// Whether it asks for a watch: only collections have the parameter, one object has the deprecated path.
    pub(crate) fn is_watch(&self) -> bool {
        self.target.watch || (self.target.name.is_none() && self.query.is_set("watch"))
    }

    fn namespace(&self) -> Option<&str> {
        self.target.namespace.as_deref()
    }

    /// What answers are of: the kind, or what its subresource gives.
    pub(crate) fn shown_kind(&self) -> &Arc<Kind> {
        match self.target.subresource.as_deref() {
            Some("scale") => scale::kind(),
            _ => &self.target.kind,
        }
    }

    /// The name in the path, empty for a collection.
    fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    fn place(&self, name: &str) -> Place {
        Place {
            storage: self.kind().storage.clone(),
            key: store::key(self.namespace(), name),
        }
    }

    /// The stored object that the request is about.
    fn existing(&self, state: &State) -> Result<Arc<Object>, Failure> {
        let kind = self.kind();
        let found = match self.namespace() {
            Some(namespace) => {
                let key = [namespace, "/", self.name()].concat();
                state.store.get(&kind.storage, &key)
            }
            None => state.store.get(&kind.storage, self.name()),
        };
        found.cloned().ok_or_else(|| self.not_found())
    }

    fn not_found(&self) -> Failure {
        Failure::not_found(&self.kind().group, &self.kind().plural, self.name())
    }

    /// The object in the body, in its stored form.
    pub(crate) fn decode(
        &self,
        state: &State,
        validation: FieldValidation,
    ) -> Result<Decoded, Failure> {
        let content_type = self.content_type.as_deref();
        let (kind, registry) = (self.kind(), &state.registry);
        body::decode(&self.body, content_type, kind, registry, validation)
    }

    /// Who owns the fields that the request sets.
    pub(crate) fn manager(&self) -> String {
        match self.query.get("fieldManager") {
            Some(manager) => manager.into(),
            None => managed::from_user_agent(self.user_agent.as_deref().unwrap_or_default()),
        }
    }

    /// Writes into `new` who owns its fields after it was written over `live`, both in the stored form.
    pub(crate) fn track(&self, state: &State, live: Option<&Value>, new: &mut Value) {
        let write = managed::Write {
            kind: self.kind(),
            subresource: self.target.subresource.as_deref().unwrap_or_default(),
            manager: &self.manager(),
        };
        managed::track(&state.registry, &state.source, write, live, new);
    }

    fn view(&self, stored: &Value) -> Value {
        body::to_view(stored, self.kind())
    }

    /// What a stored object is before a write: of a custom kind, in the version of the request.
    fn current<'a>(&self, stored: &'a Value) -> Cow<'a, Value> {
        if self.kind().is_custom() {
            Cow::Owned(custom::from_storage(stored, self.kind()))
        } else {
            Cow::Borrowed(stored)
        }
    }

    /// A stored object in the version asked for.
    fn shown(&self, stored: &Arc<Object>) -> Item {
        if self.kind().shows_as_stored(stored) {
            Item::Stored(stored.clone())
        } else {
            Item::Made(self.view(&stored.value()))
        }
    }

    /// Answers with an object.
    fn object(&self, code: u16, stored: &Arc<Object>, warnings: Vec<String>) -> Answer {
        Answer::Object {
            code,
            object: self.shown(stored),
            warnings,
        }
    }
}

/// Whether the entries of `managedFields` are to be made for a write, or are made already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    Track,
    Known,
}

/// Does what the request asks for, and all that follows from it.
pub(crate) fn handle(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    // What was due before the request came is seen by it.
    state.catch_up();
    let answer = dispatch(state, call);
    state.settle();
    answer
}

/// What the request does, as the server calls it; empty where it has no word for it.
fn verb(call: &Call) -> &'static str {
    let named = call.target.name.is_some();
    match call.method.as_str() {
        "GET" | "HEAD" if call.is_watch() => "watch",
        "GET" | "HEAD" if named => "get",
        "GET" | "HEAD" => "list",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if named => "delete",
        "DELETE" => "deletecollection",
        _ => "",
    }
}

/// Whether the resource has the verb; a few built-in ones have but some.
fn is_allowed(call: &Call) -> bool {
    let verb = verb(call);
    verb.is_empty() || call.kind().verbs.contains(&verb)
}

#[allow(clippy::match_same_arms, reason = "the order of the arms matters")]
fn dispatch(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    if let Some(review) = call.kind().review {
        return auth::review(state, call, review);
    }
    let target = &call.target;
    let subresource = target.subresource.as_deref();
    if subresource.is_none() && !is_allowed(call) {
        return Err(Failure::method_not_allowed());
    }
    if let Some(refused) = unserved_subresource(call) {
        return Err(refused);
    }
    let custom = call.kind().is_custom();
    match (call.method.as_str(), target.name.is_some(), subresource) {
        ("POST", true, Some("token")) => auth::request_token(state, call),
        (_, true, Some("token")) => Err(Failure::method_not_allowed()),
        ("GET" | "HEAD", true, Some("scale")) => scale::get(state, call),
        ("PUT", true, Some("scale")) => scale::replace(state, call),
        ("PATCH", true, Some("scale")) => scale::patch(state, call),
        ("POST", true, Some("binding")) => pods::bind(state, call),
        ("POST", true, Some("eviction")) => pods::evict(state, call),
        (_, true, Some("binding" | "eviction")) => Err(Failure::method_not_allowed()),
        ("POST", false, None) if call.kind().kind == "Binding" => pods::bind(state, call),
        ("GET" | "HEAD", true, Some("finalize")) => Err(Failure::method_not_allowed()),
        ("GET" | "HEAD", _, _) if call.is_watch() => list::watch(state, call),
        ("GET" | "HEAD", true, _) => read::get(state, call),
        ("GET" | "HEAD", false, _) => list::list(state, call),
        // Questions and orders, which are answered and not stored.
        ("POST", false, None) if call.kind().verbs == ["create"] => {
            Err(Failure::method_not_allowed())
        }
        ("POST", false, None) => create::create(state, call),
        ("POST", true, None) if custom => create::create(state, call),
        ("PATCH", false, None) if custom => {
            patch::kind_of_patch(call)?;
            Err(Failure::bad_request("name must be provided"))
        }
        ("PUT", false, None) if custom => Err(Failure::bad_request("name must be provided")),
        ("PUT", true, _) => update::replace(state, call),
        (_, true, Some("finalize")) => Err(Failure::method_not_allowed()),
        ("PATCH", true, _) => patch::patch(state, call),
        ("DELETE", true, None) => delete::delete(state, call),
        ("DELETE", false, None) if call.kind().storage != crate::lifecycle::NAMESPACES => {
            delete::collection(state, call)
        }
        _ if custom => {
            let kind = call.kind();
            let verb = verb(call);
            Err(Failure::verb_not_supported(&kind.group, &kind.plural, verb))
        }
        _ => Err(Failure::method_not_allowed()),
    }
}

/// Why a subresource that the kind has on a real server is not served here, or not by the verb.
fn unserved_subresource(call: &Call) -> Option<Failure> {
    const SERVED: &[&str] = &[
        "binding", "eviction", "finalize", "scale", "status", "token",
    ];
    let name = call.target.subresource.as_deref()?;
    let mut known = call.kind().subresources.iter();
    let found = known.find(|known| known.name == name && !SERVED.contains(&name))?;
    Some(if found.verbs.contains(&verb(call)) {
        Failure::no_such_resource()
    } else {
        Failure::method_not_allowed()
    })
}

/// Makes of an object what the storage makes of it, where that is not just the same.
fn settle(kind: &Kind, object: &mut Value) {
    if let Some((schema, id)) = kind
        .types
        .as_ref()
        .filter(|_| !kind.is_custom() && !kind.is_view)
    {
        k8s_api_schema::json::as_stored(object, schema, *id);
    }
}

/// Group and kind that validation errors name: those of the stored form.
fn subject(kind: &Kind) -> (&str, &str) {
    let group = kind.storage.split_once('.').map_or("", |(_, group)| group);
    (group, &kind.kind)
}

/// 422 with all errors, if there are any.
fn refuse(kind: &Kind, name: &str, errors: &[k8s_api_schema::FieldError]) -> Result<(), Failure> {
    if errors.is_empty() {
        return Ok(());
    }
    let (group, kind) = subject(kind);
    Err(Failure::invalid(group, kind, name, errors))
}

/// Checks an object before it is stored, and gives back what is said about it nevertheless.
fn validate(
    kind: &Kind,
    new: &Value,
    old: Option<&Value>,
    part: Part,
) -> Result<Vec<String>, Failure> {
    let found = match old {
        None => validation::create(kind, new),
        Some(old) => validation::update(kind, old, new, part),
    };
    // Nothing is said about what is refused.
    refuse(kind, crate::metadata::name(new), &found.errors)?;
    Ok(found.warnings)
}
