//! Watches: streams of changes of one collection.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures::Stream;
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::body;
use crate::encoding::{Encoding, Format};
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

/// How long before its end a watch that allows bookmarks gets the last one, as on a real server.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// The longest that a watch lasts, a year in seconds: what is asked for may be more than a clock can hold.
const LONGEST: u64 = 365 * 24 * 3600;

/// Annotation of the bookmark that ends the initial events.
pub(crate) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Where a watch begins.
#[derive(Debug)]
pub(crate) enum Start {
    /// With the changes after a version.
    After(u64),
    /// With these objects, which are the state at a version.
    With(Vec<Arc<Object>>, u64),
    /// It ends with this error.
    Never(Failure),
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
    encoding: Encoding,
    /// The changes up to this version were sent.
    cursor: u64,
    subscription: Subscription,
    /// When the watch cache sees a change that was made already.
    news: Option<Instant>,
    next_bookmark: Option<Instant>,
    deadline: Instant,
    alarm: Pin<Box<Sleep>>,
    /// Frames not yet sent.
    pending: VecDeque<Bytes>,
    ended: bool,
}

/// The frames of a watch, one for each event.
pub(crate) fn stream(
    shared: Arc<Shared>,
    plan: WatchPlan,
    rendering: Rendering,
    encoding: Encoding,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let now = Instant::now();
    let deadline = now + Duration::from_secs(plan.seconds.min(LONGEST));
    let mut watch = Watch {
        shared,
        kind: plan.kind,
        selection: plan.selection,
        rendering,
        encoding,
        cursor: 0,
        subscription: plan.subscription,
        news: None,
        next_bookmark: bookmark_after(now, deadline).filter(|_| plan.bookmarks),
        deadline,
        alarm: Box::pin(sleep_until(deadline)),
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
        Start::Never(failure) => watch.fail(&failure),
    }
    futures::stream::unfold(watch, |mut watch| async move {
        let frame = watch.next().await?;
        Some((frame, watch))
    })
}

/// The frames of a watch that could not begin.
pub(crate) fn failed(
    failure: &Failure,
    encoding: Encoding,
) -> impl Stream<Item = Bytes> + Send + 'static {
    futures::stream::iter([encoding.event("ERROR", &failure.to_json())])
}

/// When the bookmark after one at `now` is due.
fn bookmark_after(now: Instant, deadline: Instant) -> Option<Instant> {
    let last = deadline.checked_sub(BOOKMARK_BEFORE_END)?;
    Some(last.min(now + BOOKMARK_PERIOD)).filter(|next| *next > now)
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
            let epoch = self.subscription.epoch;
            let news = state.store.news(&self.kind.storage, self.cursor, epoch)?;
            let changes: Vec<Change> = news.changes.cloned().collect();
            Ok((changes, news.up_to, news.closed, news.next))
        });
        match outcome {
            Ok((changes, up_to, closed, next)) => {
                for change in &changes {
                    self.push_change(change);
                }
                self.cursor = self.cursor.max(up_to);
                self.news = next;
                self.ended |= closed;
            }
            Err(Expired(floor)) => {
                let text = format!("too old resource version: {} ({floor})", self.cursor);
                self.fail(&Failure::expired(text));
            }
        }
    }

    fn fail(&mut self, failure: &Failure) {
        let frame = self.encoding.event("ERROR", &failure.to_json());
        self.pending.push_back(frame);
        self.ended = true;
    }

    async fn wait(&mut self) {
        let alarm = [self.next_bookmark, self.news]
            .into_iter()
            .flatten()
            .fold(self.deadline, Instant::min);
        if self.alarm.deadline() != alarm {
            self.alarm.as_mut().reset(alarm);
        }
        tokio::select! {
            biased;
            changed = self.subscription.changed.changed() => {
                // The collection is gone, and with it every change to come.
                self.ended |= changed.is_err();
            }
            () = &mut self.alarm => {
                if alarm == self.deadline {
                    self.ended = true;
                } else if self.next_bookmark == Some(alarm) {
                    self.next_bookmark = bookmark_after(alarm, self.deadline);
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
        let is_json = self.encoding.format == Format::Json;
        if is_json && self.rendering.is_whole() && self.kind.shows_as_stored(object) {
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
        // A real server finds out with the first event, and hangs up.
        if !self.rendering.fits_one() {
            self.ended = true;
            return;
        }
        let now = self.shared.with(|state| state.source.now());
        let object = self.rendering.watched(object, now);
        self.pending.push_back(self.encoding.event(type_, &object));
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
