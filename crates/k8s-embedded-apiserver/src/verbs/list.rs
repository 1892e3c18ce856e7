//! GET on a collection: lists, and the start of watches.

use std::sync::Arc;

use super::{Answer, Call, Continue, List};
use crate::lifecycle::State;
use crate::metadata::Meta as _;
use crate::object::Object;
use crate::query::{self, ListOptions};
use crate::selector::{FieldRules, FieldSelector, LabelSelector};
use crate::status::Failure;
use crate::store::{Expired, View};
use crate::watch::{Start, WatchPlan};

/// Which objects of a collection are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    /// Whether a stored object is selected.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.namespace
            .as_deref()
            .is_none_or(|namespace| namespace == object.namespace())
            && self
                .name
                .as_deref()
                .is_none_or(|name| name == object.name())
            && self.labels.matches(|key| object.label(key))
            && self.fields.matches(object)
    }
}

/// Reads and checks what a list or a watch asks for, in the order of the real server.
fn asked(call: &Call) -> Result<(ListOptions, Selection), Failure> {
    let kind = call.kind();
    let options = ListOptions::parse(&call.query)?;
    let labels = LabelSelector::parse(call.query.get("labelSelector").unwrap_or_default())?;
    let fields = FieldSelector::parse(call.query.get("fieldSelector").unwrap_or_default())?;
    options.validate()?;
    let fields = match &kind.custom {
        Some(custom) => {
            let listed: Vec<(&str, &str)> = custom
                .selectable
                .iter()
                .map(|(label, path)| (label.as_str(), path.as_str()))
                .collect();
            fields.resolve(FieldRules::Listed(&listed), kind.namespaced)?
        }
        None => fields.resolve(kind.fields, kind.namespaced)?,
    };
    let name = call.target.name.clone();
    if name.is_some() && !fields.is_empty() && fields.name() != name.as_deref() {
        return Err(Failure::bad_request(
            "fieldSelector metadata.name doesn't match requested name",
        ));
    }
    let selection = Selection {
        namespace: call.target.namespace.clone(),
        name,
        labels,
        fields,
    };
    Ok((options, selection))
}

/// Which moment a list shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The last write.
    Now,
    /// What the watch cache has seen, which is this version at least.
    Cached(u64),
    /// Exactly this version.
    At(u64),
    /// As `Now`, refused at once if this version was not reached.
    Reached(u64),
    /// As `At`, refused at once if it was not reached.
    ReachedAt(u64),
}

impl Moment {
    /// `single` if one object is looked up by its name, which the watch cache does not do for the past.
    fn new(options: &ListOptions, token: Option<&Continue>, single: bool) -> Result<Self, Failure> {
        if let Some(token) = token {
            return Ok(token.version.map_or(Self::Now, Self::At));
        }
        let Some(text) = options.version.as_deref() else {
            return Ok(Self::Now);
        };
        let version = query::version(text)
            .map_err(|error| Failure::bad_request(format!("invalid resource version: {error}")))?;
        Ok(match (options.is_exact(), options.is_legacy_exact()) {
            (true, _) if single => Self::ReachedAt(version),
            (_, true) if single => Self::Reached(version),
            // Version 0 by another name, such as 00, is any version still.
            (true, _) | (_, true) if version > 0 => Self::At(version),
            _ => Self::Cached(version),
        })
    }

    /// The version to show, if it was reached.
    fn version(self, state: &State) -> Result<u64, NotReached> {
        let (current, cached) = (state.store.version(), state.store.cached_version());
        match self {
            Self::Cached(version) if version > cached => Err(NotReached::Wait(version)),
            Self::Cached(_) => Ok(cached),
            Self::At(version) if version > current => Err(NotReached::Wait(version)),
            Self::Reached(version) | Self::ReachedAt(version) if version > current => {
                Err(NotReached::Refuse(version))
            }
            Self::Now | Self::Reached(_) => Ok(current),
            Self::At(version) | Self::ReachedAt(version) => Ok(version),
        }
    }

    /// Whether it shows the past, which is forgotten after a while.
    fn is_past(self) -> bool {
        matches!(self, Self::At(_) | Self::ReachedAt(_))
    }
}

enum NotReached {
    Wait(u64),
    Refuse(u64),
}

/// What a list finds, or why not yet.
enum Listed {
    List(Vec<Arc<Object>>, List),
    Other(Answer),
}

pub(super) fn list(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let (options, selection) = asked(call)?;
    Ok(match read(state, call, &options, &selection)? {
        Listed::List(_, list) => Answer::List(list),
        Listed::Other(answer) => answer,
    })
}

/// The objects that a deletecollection is about, and the list that answers it.
pub(super) fn selected(
    state: &mut State,
    call: &Call,
) -> Result<(Vec<Arc<Object>>, List), Failure> {
    let (options, selection) = asked(call)?;
    match read(state, call, &options, &selection)? {
        Listed::List(objects, list) => Ok((objects, list)),
        Listed::Other(Answer::NotYet(version)) => {
            Err(Failure::version_too_large(version, state.store.version()))
        }
        Listed::Other(_) => Err(Failure::expired(TOO_OLD)),
    }
}

const TOO_OLD: &str = "The resourceVersion for the provided list is too old.";

fn read(
    state: &mut State,
    call: &Call,
    options: &ListOptions,
    selection: &Selection,
) -> Result<Listed, Failure> {
    let token = options
        .continue_
        .as_deref()
        .map(Continue::parse)
        .transpose()?;
    if token.is_some() && !matches!(options.version.as_deref(), None | Some("0")) {
        return Err(Failure::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    let single = selection
        .fields
        .name()
        .filter(|_| token.is_none() && (selection.namespace.is_some() || !call.kind().namespaced));
    let moment = Moment::new(options, token.as_ref(), single.is_some())?;
    let version = match moment.version(state) {
        Ok(version) => version,
        Err(NotReached::Wait(version)) => return Ok(Listed::Other(Answer::NotYet(version))),
        Err(NotReached::Refuse(version)) => {
            let mut failure = Failure::version_too_large(version, state.store.version());
            failure.without_retry();
            return Err(failure);
        }
    };
    let compacted = moment.is_past() && version < state.store.compacted_version();
    let view = match state.store.view(&call.kind().storage, version) {
        Ok(view) if !compacted => view,
        _ => {
            return match token {
                Some(token) => Ok(Listed::Other(token.expired())),
                None => Err(Failure::expired(TOO_OLD)),
            };
        }
    };
    // From the cache, which version 0 asks for, lists come whole.
    let limit = match options.version.as_deref() {
        Some("0") => 0,
        _ => options.limit,
    };
    let page = Page {
        call,
        selection,
        version,
        limit,
    };
    Ok(match single {
        Some(name) => page.one(&view, name),
        None => page.of(&view, token.as_ref()),
    })
}

/// How a list is cut.
struct Page<'a> {
    call: &'a Call,
    selection: &'a Selection,
    version: u64,
    /// 0 is all.
    limit: usize,
}

impl Page<'_> {
    fn one(&self, view: &View<'_>, name: &str) -> Listed {
        let object = view.get(&self.call.place(name).key);
        let objects: Vec<_> = object
            .filter(|object| self.selection.matches(object))
            .into_iter()
            .collect();
        self.list(&objects, None, None)
    }

    fn of(&self, view: &View<'_>, token: Option<&Continue>) -> Listed {
        let namespace = self.call.target.namespace.as_deref();
        let start = token.map(|token| token.key(namespace));
        let mut found = view.range(namespace, start.as_deref());
        let everything = self.selection.labels.is_empty() && self.selection.fields.is_empty();
        let mut objects = Vec::new();
        let mut last = None;
        for (key, object) in found.by_ref() {
            if everything || self.selection.matches(object) {
                objects.push(object);
                if objects.len() == self.limit {
                    last = Some(key);
                    break;
                }
            }
        }
        let more = last.filter(|_| found.next().is_some());
        let remaining = more
            .filter(|_| everything)
            .map(|key| view.count(namespace, Some(key)));
        let continue_ = more.map(|key| Continue::token(self.version, namespace, key));
        self.list(&objects, continue_, remaining)
    }

    fn list(
        &self,
        objects: &[&Arc<Object>],
        continue_: Option<String>,
        remaining: Option<usize>,
    ) -> Listed {
        let items = objects
            .iter()
            .map(|object| self.call.shown(object))
            .collect();
        let list = List {
            version: self.version.to_string(),
            continue_,
            remaining,
            items,
        };
        // A list alone has no use for them, and its items may be these very objects.
        let objects = if self.call.method == http::Method::DELETE {
            objects.iter().map(|object| (*object).clone()).collect()
        } else {
            Vec::new()
        };
        Listed::List(objects, list)
    }
}

/// Starts a watch of a collection, or of one object.
pub(super) fn watch(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let (options, selection) = asked(call)?;
    let asked = options.version.as_deref();
    let version = asked
        .map(query::version)
        .transpose()
        .map_err(|error| Failure::unclassified(error.to_string()))?
        .unwrap_or(0);
    let (current, cached) = (state.store.version(), state.store.cached_version());
    let with_state = |version| {
        let storage = &call.kind().storage;
        let view = state.store.view(storage, version);
        let objects = view.map(|view| {
            view.range(call.target.namespace.as_deref(), None)
                .map(|(_, object)| object.clone())
                .filter(|object| selection.matches(object))
                .collect()
        });
        Start::With(objects.unwrap_or_default(), version)
    };
    let start = match options.initial_events {
        Some(true) if version > cached && asked.is_some() => return Ok(Answer::NotYet(version)),
        Some(true) if asked.is_none() => with_state(current),
        Some(true) => with_state(cached),
        Some(false) if asked.is_none() => Start::After(current),
        Some(false) if version == 0 => Start::After(cached),
        None if version == 0 => with_state(cached),
        _ => Start::After(version),
    };
    let start = match start {
        Start::After(version) => match state.store.view(&call.kind().storage, version) {
            Err(Expired(floor)) => Start::Never(Failure::expired(format!(
                "too old resource version: {version} ({floor})"
            ))),
            Ok(_) => Start::After(version),
        },
        start => start,
    };
    // A real server ends a watch after half an hour to an hour.
    let seconds = match options.timeout_seconds {
        Some(seconds) => seconds,
        None => state.source.between(1800, 3600),
    };
    let storage = call.kind().storage.clone();
    Ok(Answer::Watch(WatchPlan {
        kind: call.target.kind.clone(),
        selection,
        start,
        bookmarks: options.bookmarks,
        end_told: options.bookmarks && options.initial_events == Some(true),
        seconds,
        subscription: state.store.subscribe(&storage),
    }))
}
