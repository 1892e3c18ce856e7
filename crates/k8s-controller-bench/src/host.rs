//! What the operating system says of this process.

use std::time::Duration;
#[cfg(not(unix))]
use std::time::Instant;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};

/// Measures how long this thread works.
///
/// That is the time that a processor spends on it, where the system tells, so that what else the
/// machine does hardly counts. All that the benchmarks time is done in one thread and never waits.
#[derive(Debug)]
pub struct Stopwatch {
    #[cfg(unix)]
    start: Duration,
    #[cfg(not(unix))]
    start: Instant,
}

impl Stopwatch {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        #[cfg(unix)]
        let start = thread_time();
        #[cfg(not(unix))]
        let start = Instant::now();
        Self { start }
    }

    /// The time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        #[cfg(unix)]
        return thread_time().saturating_sub(self.start);
        #[cfg(not(unix))]
        return self.start.elapsed();
    }
}

#[cfg(unix)]
fn thread_time() -> Duration {
    // Negative never, as the kernel counts from 0.
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// The memory that the process has in RAM, in bytes; none where there is no `/proc`.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    resident_in(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// The line is `VmRSS:     12345 kB`, in units of 1024 bytes.
fn resident_in(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found() {
        let status = "Name:\tmemory\nVmHWM:\t  20000 kB\nVmRSS:\t   12345 kB\nRssAnon:\t 1 kB\n";
        assert_eq!(resident_in(status), Some(12345 * 1024));
        assert_eq!(resident_in("Name:\tmemory\n"), None);
    }
}
