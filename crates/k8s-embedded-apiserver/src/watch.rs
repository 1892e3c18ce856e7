//! Watches: streams of changes of one collection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures::Stream;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::body;
use crate::kinds::Kind;
use crate::metadata;
use crate::object::Object;
use crate::server::Shared;
use crate::status::Failure;
use crate::store::{Change, Expired, Subscription};
use crate::table::Rendering;
use crate::verbs::Selection;

/// How often a watch that allows bookmarks gets one, as on a real server.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);

/// The longest that a watch lasts, a year in seconds: what is asked for may be more than a clock can hold.
const LONGEST: u64 = 365 * 24 * 3600;

/// Annotation of the bookmark that ends the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Where a watch begins.
#[derive(Debug)]
pub(crate) enum Start {
    /// With the changes after a version.
    After(u64),
    /// With these objects, which are the state at a version.
    With(Vec<Arc<Object>>, u64),
}

/// A watch that was asked for.
#[derive(Debug)]
pub(crate) struct WatchPlan {
    pub(crate) kind: Arc<Kind>,
    pub(crate) selection: Selection,
    pub(crate) start: Start,
    /// Bookmarks are allowed.
    pub(crate) bookmarks: bool,
    /// A bookmark tells the end of the initial events.
    pub(crate) end_told: bool,
    /// How long the watch lasts.
    pub(crate) seconds: u64,
    pub(crate) subscription: Subscription,
}

/// A watch that is being read.
struct Watch {
    shared: Arc<Shared>,
    kind: Arc<Kind>,
    selection: Selection,
    rendering: Rendering,
    /// The changes up to this version were sent.
    cursor: u64,
    subscription: Subscription,
    bookmarks: bool,
    next_bookmark: Instant,
    deadline: Instant,
    /// Frames not yet sent.
    pending: VecDeque<Bytes>,
    ended: bool,
}

/// The frames of a watch: one line of JSON each.
pub(crate) fn stream(
    shared: Arc<Shared>,
    plan: WatchPlan,
    rendering: Rendering,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let now = Instant::now();
    let mut watch = Watch {
        shared,
        kind: plan.kind,
        selection: plan.selection,
        rendering,
        cursor: 0,
        subscription: plan.subscription,
        bookmarks: plan.bookmarks,
        next_bookmark: now + BOOKMARK_PERIOD,
        deadline: now + Duration::from_secs(plan.seconds.min(LONGEST)),
        pending: VecDeque::new(),
        ended: false,
    };
    match plan.start {
        Start::After(version) => watch.cursor = version,
        Start::With(objects, version) => {
            watch.cursor = version;
            for object in objects {
                watch.push_stored("ADDED", &object);
            }
            if plan.end_told {
                watch.push_bookmark(true);
            }
        }
    }
    futures::stream::unfold(watch, |mut watch| async move {
        let frame = watch.next().await?;
        Some((frame, watch))
    })
}

impl Watch {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.pending.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            self.subscription.changed.mark_unchanged();
            self.collect();
            if self.pending.is_empty() && !self.ended {
                self.wait().await;
            }
        }
    }

    /// Takes what has changed since the last time.
    fn collect(&mut self) {
        let outcome = self.shared.with(|state| {
            let changes =
                state
                    .store
                    .changes(&self.kind.storage, self.cursor, self.subscription.epoch);
            (changes, state.store.version())
        });
        match outcome {
            (Ok((changes, closed)), current) => {
                for change in &changes {
                    self.push_change(change);
                }
                self.cursor = self.cursor.max(current);
                self.ended |= closed;
            }
            (Err(Expired), current) => {
                let text = format!("too old resource version: {} ({current})", self.cursor);
                let failure = Failure::expired(text);
                self.pending.push_back(frame("ERROR", &failure.to_json()));
                self.ended = true;
            }
        }
    }

    async fn wait(&mut self) {
        let alarm = if self.bookmarks {
            self.next_bookmark.min(self.deadline)
        } else {
            self.deadline
        };
        tokio::select! {
            biased;
            changed = self.subscription.changed.changed() => {
                // The collection is gone, and with it every change to come.
                self.ended |= changed.is_err();
            }
            () = sleep_until(alarm) => {
                if alarm == self.deadline {
                    self.ended = true;
                } else {
                    self.next_bookmark += BOOKMARK_PERIOD;
                    self.collect();
                    if !self.ended {
                        self.push_bookmark(false);
                    }
                }
            }
        }
    }

    /// An object enters and leaves the selection as others come and go.
    fn push_change(&mut self, change: &Change) {
        let selected = |object: &Option<Arc<Object>>| {
            object
                .clone()
                .filter(|object| self.selection.matches(object))
        };
        match (selected(&change.before), selected(&change.after)) {
            (None, Some(after)) => self.push_stored("ADDED", &after),
            (Some(_), Some(after)) => self.push_stored("MODIFIED", &after),
            (Some(before), None) => {
                let mut last = body::to_view(&before.value(), &self.kind);
                metadata::metadata_mut(&mut last)
                    .insert("resourceVersion".into(), change.version.to_string().into());
                self.push("DELETED", last);
            }
            (None, None) => {}
        }
    }

    fn push_stored(&mut self, type_: &str, object: &Arc<Object>) {
        if self.rendering.is_whole() && self.kind.shows_as_stored(object) {
            let mut line = BytesMut::with_capacity(object.text_len() + 48);
            line.put_slice(b"{\"type\":\"");
            line.put_slice(type_.as_bytes());
            line.put_slice(b"\",\"object\":");
            object.write(true, &mut line);
            line.put_slice(b"}\n");
            self.pending.push_back(line.freeze());
        } else {
            self.push(type_, body::to_view(&object.value(), &self.kind));
        }
    }

    fn push(&mut self, type_: &str, object: Value) {
        let now = self.shared.with(|state| state.source.now());
        let object = self.rendering.watched(object, now);
        self.pending.push_back(frame(type_, &object));
    }

    /// An object of the kind that holds nothing but the version.
    fn push_bookmark(&mut self, end_of_initial_events: bool) {
        let mut metadata = json!({"resourceVersion": self.cursor.to_string()});
        if end_of_initial_events {
            metadata["annotations"] = json!({INITIAL_EVENTS_END: "true"});
        }
        let bookmark = json!({"metadata": metadata});
        self.push("BOOKMARK", body::to_empty(&bookmark, &self.kind));
    }
}

fn frame(type_: &str, object: &Value) -> Bytes {
    let mut line = json!({"type": type_, "object": object}).to_string();
    line.push('\n');
    line.into()
}
