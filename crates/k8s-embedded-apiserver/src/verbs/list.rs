//! GET on a collection: lists, and the start of watches.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{Answer, Call, List};
use crate::lifecycle::State;
use crate::metadata::{self, Meta as _};
use crate::object::Object;
use crate::query::ListOptions;
use crate::selector::{FieldRules, FieldSelector, LabelSelector};
use crate::status::Failure;
use crate::store::Expired;
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

/// Reads the selectors of a request.
pub(crate) fn selection(call: &Call) -> Result<Selection, Failure> {
    let kind = call.kind();
    let labels = LabelSelector::parse(call.query.get("labelSelector").unwrap_or_default())?;
    let text = call.query.get("fieldSelector").unwrap_or_default();
    let fields = match &kind.custom {
        Some(custom) => {
            let listed: Vec<(&str, &str)> = custom
                .selectable
                .iter()
                .map(|(label, path)| (label.as_str(), path.as_str()))
                .collect();
            FieldSelector::parse(text, FieldRules::Listed(&listed), kind.namespaced)?
        }
        None => FieldSelector::parse(text, kind.fields, kind.namespaced)?,
    };
    let name = call.target.name.clone();
    if name
        .as_deref()
        .zip(fields.name())
        .is_some_and(|(name, selected)| name != selected)
    {
        return Err(Failure::bad_request(
            "fieldSelector metadata.name doesn't match requested name",
        ));
    }
    Ok(Selection {
        namespace: call.target.namespace.clone(),
        name,
        labels,
        fields,
    })
}

/// Where a list goes on: after `start`, as things were at `version`.
struct Continue {
    version: Option<u64>,
    start: String,
}

impl Continue {
    fn parse(token: &str) -> Result<Self, Failure> {
        let invalid = |why: String| {
            Failure::bad_request(format!(
                "invalid continue token: continue key is not valid: {why}"
            ))
        };
        let bytes = BASE64_URL_SAFE_NO_PAD
            .decode(token.trim_end_matches('='))
            .map_err(|error| invalid(error.to_string()))?;
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        let start = metadata::text(&value, "/start")
            .trim_end_matches('\0')
            .to_owned();
        let version = value.get("rv").and_then(Value::as_i64);
        if metadata::text(&value, "/v") != "meta.k8s.io/v1" || start.is_empty() {
            return Err(invalid("it was not made by this server".into()));
        }
        match version {
            Some(-1) => Ok(Self {
                version: None,
                start,
            }),
            Some(version) if version > 0 => Ok(Self {
                version: version.try_into().ok(),
                start,
            }),
            _ => Err(invalid("it has no resourceVersion".into())),
        }
    }

    fn token(version: i64, start: &str) -> String {
        let text = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{start}\0")})
            .to_string();
        BASE64_URL_SAFE_NO_PAD.encode(text)
    }
}

/// Objects in key order.
type Found = Vec<(Arc<str>, Arc<Object>)>;

pub(super) fn list(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let options = ListOptions::parse(&call.query, false)?;
    let selection = selection(call)?;
    let token = options
        .continue_
        .as_deref()
        .map(Continue::parse)
        .transpose()?;
    if token.is_some()
        && options
            .version
            .as_deref()
            .is_some_and(|version| version != "0")
    {
        return Err(Failure::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    let wanted = wanted_version(&options)?;
    if wanted.is_some_and(|version| version > state.store.version()) {
        return Ok(Answer::NotYet(wanted.unwrap_or_default()));
    }
    let exact = options.exact || (wanted.is_some() && options.limit > 0);
    let at = match &token {
        Some(token) => token.version,
        None => wanted.filter(|_| exact),
    };
    let start = token.as_ref().map(|token| token.start.as_str());
    match find(state, call, at, start) {
        Ok(found) => {
            let version = at.unwrap_or(state.store.version());
            // From the cache, which version 0 asks for, lists come whole.
            let limit = if options.version.as_deref() == Some("0") && token.is_none() {
                0
            } else {
                options.limit
            };
            Ok(Answer::List(page(call, &selection, found, version, limit)))
        }
        Err(Expired) if token.is_some() => Ok(expired_token(start.unwrap_or_default())),
        Err(Expired) => Err(Failure::expired(
            "The resourceVersion for the provided list is too old.",
        )),
    }
}

fn wanted_version(options: &ListOptions) -> Result<Option<u64>, Failure> {
    let Some(text) = options.version.as_deref().filter(|text| *text != "0") else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        Failure::bad_request(format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        ))
    })
}

/// The objects of the collection or namespace after `start`, now or at a version.
fn find(
    state: &State,
    call: &Call,
    at: Option<u64>,
    start: Option<&str>,
) -> Result<Found, Expired> {
    let storage = &call.kind().storage;
    let namespace = call.target.namespace.as_deref();
    let start = start.map(|start| {
        namespace.map_or_else(
            || start.to_owned(),
            |namespace| format!("{namespace}/{start}"),
        )
    });
    let start = start.as_deref();
    match at {
        Some(version) if version != state.store.version() => {
            let low = namespace.map(|namespace| format!("{namespace}/"));
            Ok(state
                .store
                .snapshot(storage, version)?
                .into_iter()
                .filter(|(key, _)| low.as_deref().is_none_or(|low| key.starts_with(low)))
                .filter(|(key, _)| start.is_none_or(|start| &**key > start))
                .collect())
        }
        _ => Ok(state
            .store
            .range(storage, namespace, start)
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect()),
    }
}

/// The first `limit` objects of those found that are selected; 0 is all.
fn page(call: &Call, selection: &Selection, found: Found, version: u64, limit: usize) -> List {
    let total = found.len();
    let mut items = Vec::new();
    let mut last = None;
    for (index, (key, object)) in found.into_iter().enumerate() {
        if !selection.matches(&object) {
            continue;
        }
        items.push(call.shown(&object));
        if limit > 0 && items.len() == limit {
            last = Some((index, key));
            break;
        }
    }
    let unselected = selection.labels.is_empty() && selection.fields.is_empty();
    // One name is looked up, not searched for.
    let more = last.filter(|(index, _)| index + 1 < total && selection.fields.name().is_none());
    let namespace = call.target.namespace.as_deref();
    let continue_ = more.as_ref().map(|(_, key)| {
        let start = namespace
            .and_then(|namespace| key.strip_prefix(namespace)?.strip_prefix('/'))
            .unwrap_or(key);
        Continue::token(i64::try_from(version).unwrap_or(-1), start)
    });
    let remaining = more
        .filter(|_| unselected)
        .map(|(index, _)| total - index - 1);
    List {
        version: version.to_string(),
        continue_,
        remaining,
        items,
    }
}

/// 410 with a token that goes on from the present.
fn expired_token(start: &str) -> Answer {
    let failure = Failure::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    let mut object = failure.to_json();
    object["metadata"] = json!({"continue": Continue::token(-1, start)});
    Answer::Other {
        code: failure.code,
        object,
    }
}

/// The objects that a deletecollection is about, and the list that answers it.
pub(super) fn selected(state: &State, call: &Call) -> Result<(Vec<Arc<Object>>, List), Failure> {
    let options = ListOptions::parse(&call.query, false)?;
    let selection = selection(call)?;
    let token = options
        .continue_
        .as_deref()
        .map(Continue::parse)
        .transpose()?;
    let start = token.as_ref().map(|token| token.start.as_str());
    let found = find(state, call, None, start).map_err(|Expired| {
        Failure::expired("The resourceVersion for the provided list is too old.")
    })?;
    let mut objects: Vec<Arc<Object>> = found
        .iter()
        .filter(|(_, object)| selection.matches(object))
        .map(|(_, object)| object.clone())
        .collect();
    if options.limit > 0 {
        objects.truncate(options.limit);
    }
    let list = page(
        call,
        &selection,
        found,
        state.store.version(),
        options.limit,
    );
    Ok((objects, list))
}

/// Starts a watch of a collection, or of one object.
pub(super) fn watch(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let options = ListOptions::parse(&call.query, true)?;
    let selection = selection(call)?;
    let version = options
        .version
        .as_deref()
        .map(|text| {
            text.parse::<u64>().map_err(|_| {
                Failure::unclassified(format!(
                    "strconv.ParseUint: parsing {text:?}: invalid syntax"
                ))
            })
        })
        .transpose()?;
    let from_state = match options.initial_events {
        Some(wanted) => wanted,
        None => version.is_none_or(|version| version == 0),
    };
    let current = state.store.version();
    let start = match version {
        Some(version) if !from_state && version > 0 => Start::After(version),
        _ if !from_state => Start::After(current),
        _ => Start::With(
            state
                .store
                .range(&call.kind().storage, call.target.namespace.as_deref(), None)
                .map(|(_, object)| object.clone())
                .filter(|object| selection.matches(object))
                .collect(),
            current,
        ),
    };
    let end_told = options.bookmarks
        && from_state
        && (options.initial_events == Some(true)
            || (options.initial_events.is_none() && version.is_none()));
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
        end_told,
        seconds,
        subscription: state.store.subscribe(&storage),
    }))
}
