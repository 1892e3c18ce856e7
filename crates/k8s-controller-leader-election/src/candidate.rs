//! One attempt at the lease: read it, judge it, write it.

use std::collections::VecDeque;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::core::ObjectMeta;
use tokio::time::Instant;

use crate::environment::Environment;
use crate::failure::{Cause, Complaints, Failure, Verb};
use crate::leases::Leases;
use crate::outlook::Outlook;
use crate::record::{Record, Stamp, later_or_other, write_release};

/// How many writes are remembered whose answer was lost. One that is forgotten and arrives yet
/// costs the wait for its expiry.
const MAX_UNCERTAIN: usize = 32;

/// How often a renewal is tried again at once because somebody else wrote in between.
const MAX_CONFLICTS: usize = 3;

/// Who tries, and for what.
#[derive(Clone, Copy)]
pub(crate) struct Bid<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) identity: &'a str,
    pub(crate) lease_duration: Duration,
    pub(crate) lease_duration_seconds: i32,
    pub(crate) leases: &'a dyn Leases,
    pub(crate) environment: &'a Environment,
    /// How long one request may take.
    pub(crate) request_timeout: Duration,
    /// When everything has to be over, if there is such a time.
    pub(crate) until: Option<Instant>,
}

/// What came of an attempt to take the lease.
pub(crate) enum Taken {
    /// It is held since then, the time that the write was sent.
    Held { since: Instant, transitions: i32 },
    /// Somebody else may hold it until then.
    NotYet {
        free_at: Instant,
        holder: Option<String>,
    },
}

/// What came of a renewal.
pub(crate) enum Renewed {
    /// It is held since then, the time that the write was sent.
    Held { since: Instant },
    /// Somebody else has it.
    Lost { holder: String },
}

/// What is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// What this candidate wrote, or may have.
    Written,
    /// Whatever is held under its identity.
    Identity,
}

/// What came of a release.
pub(crate) enum Released {
    Released,
    /// It is held by somebody else, by nobody, or does not exist.
    NotHeld,
}

/// What this candidate remembers from one attempt to the next.
#[derive(Debug, Default)]
pub(crate) struct Candidate {
    outlook: Outlook,
    /// The last write that is known to have succeeded, then those that may have.
    written: VecDeque<Stamp>,
    /// The lease as the last good write left it, which the next renewal needs not read.
    current: Option<Lease>,
    pub(crate) complaints: Complaints,
}

impl Candidate {
    /// Takes the lease, if nobody else may hold it.
    pub(crate) async fn acquire(&mut self, bid: &Bid<'_>) -> Result<Taken, Failure> {
        self.current = None;
        let lease = bid.get().await?;
        let record = lease.as_ref().map(Record::of);
        let now = bid.environment.now();
        let free_at = self
            .outlook
            .observe(record.clone(), now, bid.lease_duration);
        let mine = (record.as_ref()).is_some_and(|record| self.wrote(record, bid.identity));
        if !mine && now < free_at {
            let holder = record.and_then(|record| record.holder);
            return Ok(Taken::NotYet { free_at, holder });
        }
        let stamp = match &record {
            Some(record) if mine => Stamp::again(record, bid),
            _ => Stamp::anew(record.as_ref(), bid),
        };
        let transitions = stamp.transitions;
        let since = self.write(bid, lease, stamp).await?;
        Ok(Taken::Held { since, transitions })
    }

    /// Renews the lease, which this candidate holds.
    pub(crate) async fn renew(&mut self, bid: &Bid<'_>) -> Result<Renewed, Failure> {
        if let Some(lease) = self.current.take() {
            let stamp = Stamp::again(&Record::of(&lease), bid);
            match self.write(bid, Some(lease), stamp).await {
                Ok(since) => return Ok(Renewed::Held { since }),
                // It changed or is gone; see how.
                Err(failure) if failure.is_lost_race() || failure.is_not_found() => {}
                Err(failure) => return Err(failure),
            }
        }
        let mut conflicts = 0;
        loop {
            let lease = bid.get().await?;
            let record = lease.as_ref().map(Record::of);
            let holder = record.as_ref().and_then(|record| record.holder.as_deref());
            if let Some(holder) = holder.filter(|holder| *holder != bid.identity) {
                let holder = holder.to_owned();
                return Ok(Renewed::Lost { holder });
            }
            // Deleted or edited by hand. Nobody else has taken it, or that write will fail.
            let stamp = self.restore(record.as_ref(), bid);
            match self.write(bid, lease, stamp).await {
                Ok(since) => return Ok(Renewed::Held { since }),
                Err(failure) if failure.is_lost_race() && conflicts < MAX_CONFLICTS => {
                    conflicts += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Leaves the lease to others, if this candidate holds it.
    pub(crate) async fn release(
        &mut self,
        bid: &Bid<'_>,
        claim: Claim,
    ) -> Result<Released, Failure> {
        if claim == Claim::Written && self.written.is_empty() {
            return Ok(Released::NotHeld);
        }
        let mut lease = match self.current.take() {
            Some(lease) => lease,
            None => match bid.get().await? {
                Some(lease) => lease,
                None => return Ok(Released::NotHeld),
            },
        };
        let record = Record::of(&lease);
        let is_held = match claim {
            Claim::Written => self.wrote(&record, bid.identity),
            Claim::Identity => record.is_held_by(bid.identity),
        };
        if !is_held {
            return Ok(Released::NotHeld);
        }
        write_release(&mut lease, &bid.environment.stamp());
        bid.send(Verb::Update, bid.leases.replace(lease)).await?;
        // As after a good write: none of them can succeed any more.
        self.written.clear();
        Ok(Released::Released)
    }

    /// Whether the lease stands as this candidate wrote it, or may have.
    fn wrote(&self, record: &Record, identity: &str) -> bool {
        record.is_held_by(identity) && self.written.iter().any(|stamp| stamp.is_of(record))
    }

    /// What a renewal writes over what it did not expect.
    fn restore(&self, found: Option<&Record>, bid: &Bid<'_>) -> Stamp {
        let Some(last) = self.written.front() else {
            return Stamp::anew(found, bid);
        };
        let stands = found.and_then(|record| record.renewed.as_ref());
        Stamp {
            acquired: last.acquired.clone(),
            renewed: later_or_other(&bid.environment.stamp(), stands),
            transitions: last.transitions,
        }
    }

    /// Creates or replaces the lease. Returns since when it is held.
    ///
    /// That is the time before the write is sent: others wait from when they see the write, which
    /// cannot be earlier. Where the answer is lost, the write may have succeeded, and the lease is
    /// then known by its stamp; but it counts as held only from the next write on whose success
    /// is known.
    async fn write(
        &mut self,
        bid: &Bid<'_>,
        lease: Option<Lease>,
        stamp: Stamp,
    ) -> Result<Instant, Failure> {
        let verb = if lease.is_some() {
            Verb::Update
        } else {
            Verb::Create
        };
        let mut lease = lease.unwrap_or_else(|| bid.new_lease());
        stamp.write(&mut lease, bid.identity, bid.lease_duration_seconds);
        if self.written.len() == MAX_UNCERTAIN {
            self.written.pop_front();
        }
        self.written.push_back(stamp.clone());

        let sent = bid.environment.now();
        let request = match verb {
            Verb::Create => bid.leases.create(lease),
            _ => bid.leases.replace(lease),
        };
        let answer = bid.send(verb, request).await?;
        if !Record::of(&answer).is_held_by(bid.identity) {
            return Err(nonsense(verb, "the lease is not as it was written"));
        }
        // All earlier writes were based on an older lease, and can no longer succeed.
        self.written.clear();
        self.written.push_back(stamp);
        self.current = Some(answer).filter(|lease| lease.metadata.resource_version.is_some());
        Ok(bid.environment.held_since(sent))
    }
}

impl Stamp {
    /// Of a tenure that goes on.
    fn again(record: &Record, bid: &Bid<'_>) -> Self {
        let now = bid.environment.stamp();
        Self {
            acquired: record.acquired.clone().unwrap_or_else(|| now.clone()),
            renewed: later_or_other(&now, record.renewed.as_ref()),
            transitions: record.transitions,
        }
    }

    /// Of a new tenure.
    fn anew(before: Option<&Record>, bid: &Bid<'_>) -> Self {
        let stands = before.and_then(|record| record.renewed.as_ref());
        let now = later_or_other(&bid.environment.stamp(), stands);
        let transitions = match before {
            None => 0,
            // An earlier process of that name.
            Some(record) if record.is_held_by(bid.identity) => record.transitions,
            Some(record) => record.transitions.saturating_add(1),
        };
        Self {
            acquired: now.clone(),
            renewed: now,
            transitions,
        }
    }
}

impl Bid<'_> {
    async fn get(&self) -> Result<Option<Lease>, Failure> {
        let lease = self.send(Verb::Get, self.leases.get()).await?;
        let readable =
            (lease.as_ref()).is_none_or(|lease| lease.metadata.resource_version.is_some());
        if !readable {
            return Err(nonsense(
                Verb::Get,
                "the lease has no metadata.resourceVersion",
            ));
        }
        Ok(lease)
    }

    async fn send<T>(
        &self,
        verb: Verb,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Failure> {
        let limit = self.environment.now() + self.request_timeout;
        let limit = self.until.map_or(limit, |until| until.min(limit));
        let cause = match self.environment.timeout_at(limit, request).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => Cause::Kube(error),
            Err(_) => Cause::Timeout,
        };
        Err(Failure { verb, cause })
    }

    fn new_lease(&self) -> Lease {
        Lease {
            metadata: ObjectMeta {
                name: Some(self.name.to_owned()),
                namespace: Some(self.namespace.to_owned()),
                ..ObjectMeta::default()
            },
            spec: None,
        }
    }
}

const fn nonsense(verb: Verb, what: &'static str) -> Failure {
    Failure {
        verb,
        cause: Cause::Nonsense(what),
    }
}
