//! What a lease says, and what is written into it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::SignedDuration;

use crate::MAX_LEASE_DURATION;

/// The duration that is written on release: others need not wait.
const RELEASED_SECONDS: i32 = 1;

/// What a lease says about its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// A lease that was deleted and created again is another.
    pub(crate) uid: Option<String>,
    /// Nobody if the lease has none or an empty one.
    pub(crate) holder: Option<String>,
    /// How long others have to wait, if the lease has a duration that makes sense.
    pub(crate) duration: Option<Duration>,
    pub(crate) acquired: Option<MicroTime>,
    pub(crate) renewed: Option<MicroTime>,
    pub(crate) transitions: i32,
}

impl Record {
    pub(crate) fn of(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.unwrap_or_default();
        Self {
            uid: lease.metadata.uid.clone(),
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            duration: u64::try_from(seconds)
                .ok()
                .filter(|seconds| *seconds > 0)
                .map(|seconds| Duration::from_secs(seconds).min(MAX_LEASE_DURATION)),
            acquired: spec.acquire_time,
            renewed: spec.renew_time,
            transitions: spec.lease_transitions.unwrap_or_default().max(0),
        }
    }

    /// As created by hand, for a candidate to take.
    pub(crate) fn is_blank(&self) -> bool {
        self.holder.is_none()
            && self.duration.is_none()
            && self.acquired.is_none()
            && self.renewed.is_none()
    }

    /// As its last holder leaves it when it no longer needs it.
    pub(crate) fn is_released(&self) -> bool {
        let at_once = Duration::from_secs(RELEASED_SECONDS.unsigned_abs().into());
        self.holder.is_none() && self.duration.is_some_and(|duration| duration <= at_once)
    }

    pub(crate) fn is_held_by(&self, identity: &str) -> bool {
        self.holder.as_deref() == Some(identity)
    }
}

/// What one write puts into the lease; enough to know the lease again by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) acquired: MicroTime,
    pub(crate) renewed: MicroTime,
    pub(crate) transitions: i32,
}

impl Stamp {
    pub(crate) fn is_of(&self, record: &Record) -> bool {
        record.acquired.as_ref() == Some(&self.acquired)
            && record.renewed.as_ref() == Some(&self.renewed)
            && record.transitions == self.transitions
    }

    pub(crate) fn write(&self, lease: &mut Lease, identity: &str, seconds: i32) {
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(identity.to_owned());
        spec.lease_duration_seconds = Some(seconds);
        spec.acquire_time = Some(self.acquired.clone());
        spec.renew_time = Some(self.renewed.clone());
        spec.lease_transitions = Some(self.transitions);
    }
}

/// Leaves the lease to others.
pub(crate) fn write_release(lease: &mut Lease, now: &MicroTime) {
    let renewed = Record::of(lease).renewed;
    let now = later_or_other(now, renewed.as_ref());
    let spec: &mut LeaseSpec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(String::new());
    spec.lease_duration_seconds = Some(RELEASED_SECONDS);
    spec.acquire_time = Some(now.clone());
    spec.renew_time = Some(now);
}

/// The time to write, but never the one that stands there: others see a renewal by the change,
/// also if the clock stands still.
pub(crate) fn later_or_other(now: &MicroTime, stands: Option<&MicroTime>) -> MicroTime {
    if stands != Some(now) {
        return now.clone();
    }
    let next = now.0.checked_add(SignedDuration::from_micros(1));
    MicroTime(next.unwrap_or(now.0))
}
