//! How long a lease lasts, and how often it is renewed.

use std::time::Duration;

use crate::ConfigError;

/// How long others wait before they take a lease that is not renewed; client-go's default.
pub const DEFAULT_LEASE_DURATION: Duration = Duration::from_secs(15);

/// How long after the last good renewal the holder gives up; client-go's default.
pub const DEFAULT_RENEW_DEADLINE: Duration = Duration::from_secs(10);

/// How long to wait between two attempts; client-go's default.
pub const DEFAULT_RETRY_PERIOD: Duration = Duration::from_secs(2);

/// The wait between two attempts is the retry period times a random number from 1 up to this.
///
/// client-go's constant. It waits for up to `1 + 1.2` periods where it does not hold the lease;
/// this crate never waits longer than `1.2`, so that a released lease is taken sooner.
pub const JITTER_FACTOR: f64 = 1.2;

/// The longest lease.
///
/// A lease that says more was edited by hand, and counts as one of this duration: without a holder
/// that corrects it, the candidates would wait for decades.
pub const MAX_LEASE_DURATION: Duration = Duration::from_secs(3600);

/// The three durations of an election; all candidates of one lease should use the same.
///
/// They are consistent if none is zero, the lease is not longer than [`MAX_LEASE_DURATION`], and
/// `lease_duration > renew_deadline > retry_period * 1.2`.
///
/// `lease_duration / renew_deadline` is how much faster one candidate's clock may run than
/// another's: 1.5 by default. Where that is not enough, make the lease longer, not the deadline
/// shorter: a deadline of a few retry periods is what lets the holder survive a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// How long others wait before they take a lease that is not renewed. A lease says it in
    /// whole seconds; a fraction is rounded up.
    pub lease_duration: Duration,
    /// How long after the last good renewal was sent the holder gives up.
    pub renew_deadline: Duration,
    /// How long to wait between two attempts, up to [`JITTER_FACTOR`] times as long.
    pub retry_period: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            lease_duration: DEFAULT_LEASE_DURATION,
            renew_deadline: DEFAULT_RENEW_DEADLINE,
            retry_period: DEFAULT_RETRY_PERIOD,
        }
    }
}

impl Timings {
    /// Whether they are consistent.
    ///
    /// # Errors
    ///
    /// The first field that is not as expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        positive("lease_duration", self.lease_duration)?;
        positive("renew_deadline", self.renew_deadline)?;
        positive("retry_period", self.retry_period)?;
        let lease_duration = self.rounded().lease_duration;
        if lease_duration > MAX_LEASE_DURATION {
            return Err(ConfigError::Duration {
                field: "lease_duration",
                value: lease_duration,
                expected: format!("at most {MAX_LEASE_DURATION:?}"),
            });
        }
        if self.renew_deadline >= lease_duration {
            return Err(ConfigError::Duration {
                field: "renew_deadline",
                value: self.renew_deadline,
                expected: format!("less than the lease_duration, {lease_duration:?}"),
            });
        }
        let longest = self.retry_period.as_secs_f64() * JITTER_FACTOR;
        if longest >= self.renew_deadline.as_secs_f64() {
            return Err(ConfigError::Duration {
                field: "retry_period",
                value: self.retry_period,
                expected: format!(
                    "less than the renew_deadline, {:?}, also when multiplied by {JITTER_FACTOR}",
                    self.renew_deadline
                ),
            });
        }
        Ok(())
    }

    /// With a lease duration of whole seconds: it must not be shorter in the lease than it is
    /// here.
    pub(crate) fn rounded(self) -> Self {
        let whole = self.lease_duration.as_secs();
        let fraction = self.lease_duration.subsec_nanos() > 0;
        Self {
            lease_duration: Duration::from_secs(whole.saturating_add(u64::from(fraction))),
            ..self
        }
    }

    /// What `spec.leaseDurationSeconds` says.
    pub(crate) fn lease_duration_seconds(&self) -> i32 {
        i32::try_from(self.rounded().lease_duration.as_secs()).unwrap_or(i32::MAX)
    }

    /// How long one request may take. Half of the deadline, as in controller-runtime, so that one
    /// that hangs leaves time for another.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }
}

pub(crate) fn positive(field: &'static str, value: Duration) -> Result<(), ConfigError> {
    if value.is_zero() {
        return Err(ConfigError::Duration {
            field,
            value,
            expected: "more than zero".to_owned(),
        });
    }
    Ok(())
}
