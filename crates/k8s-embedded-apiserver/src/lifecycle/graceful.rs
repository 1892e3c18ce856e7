//! Pods are given time to end.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::State;
use crate::metadata::{self, finalizers, is_deleting, metadata_mut};
use crate::source::stamp;
use crate::store::Place;

/// Collection of the kind whose objects are given time.
pub(super) const PODS: &str = "pods";

const TIMESTAMP: &str = "deletionTimestamp";
const GRACE: &str = "deletionGracePeriodSeconds";

/// Whether objects of this place are given time.
pub(super) fn applies(place: &Place) -> bool {
    place.storage == PODS
}

/// Whether nothing holds an object that a delete has marked: its time is over, and it has no finalizers.
pub(super) fn ends(place: &Place, marked: &Value) -> bool {
    applies(place) && grace(marked) == Some(0) && finalizers(marked).is_empty()
}

/// The seconds that a Pod has, or had when its delete was asked for.
pub(super) fn grace(object: &Value) -> Option<i64> {
    object
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
}

impl State {
    /// Marks a Pod as going away; one that is going away already may get less time, but not more.
    pub(super) fn mark_gracefully(&self, object: &mut Value, asked: Option<i64>) {
        if is_deleting(object) {
            shorten(object, asked);
            return;
        }
        let seconds = period(object, asked);
        let end = self
            .source
            .now()
            .saturating_add(SignedDuration::from_secs(seconds))
            .unwrap_or(Timestamp::MAX);
        let metadata = metadata_mut(object);
        metadata.insert(TIMESTAMP.into(), stamp(end).into());
        metadata.insert(GRACE.into(), json!(seconds));
        super::raise_generation(metadata);
    }
}

/// How long a Pod is given: nothing is waited for where no node runs it, or where it has ended.
fn period(pod: &Value, asked: Option<i64>) -> i64 {
    let ended = matches!(metadata::text(pod, "/status/phase"), "Failed" | "Succeeded");
    if ended || metadata::text(pod, "/spec/nodeName").is_empty() {
        return 0;
    }
    let own = pod
        .pointer("/spec/terminationGracePeriodSeconds")
        .and_then(Value::as_i64);
    let seconds = asked.or(own).unwrap_or(0);
    // A negative time is the shortest that there is.
    if seconds < 0 { 1 } else { seconds }
}

fn shorten(object: &mut Value, asked: Option<i64>) {
    let (Some(asked), Some(now)) = (asked, grace(object)) else {
        return;
    };
    let asked = if asked < 0 { 1 } else { asked };
    let end: Option<Timestamp> = metadata::text(object, "/metadata/deletionTimestamp")
        .parse()
        .ok();
    let Some(end) = end.filter(|_| asked < now) else {
        return;
    };
    let earlier = end
        .saturating_sub(SignedDuration::from_secs(now.saturating_sub(asked)))
        .unwrap_or(end);
    let metadata = metadata_mut(object);
    metadata.insert(TIMESTAMP.into(), stamp(earlier).into());
    metadata.insert(GRACE.into(), json!(asked));
}
