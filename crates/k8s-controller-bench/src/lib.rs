//! Benchmarks of k8s-controller, beside bare kube-runtime where there is something to compare.
//!
//! `cargo xtask bench` runs them all, `cargo xtask bench --quick` at a small size in about a
//! minute, `cargo bench -p k8s-controller-bench --bench passes -- finalizer` some of them.
//!
//! | benchmark | what it measures | target |
//! |---|---|---|
//! | `events` | publish of a repeat, and forget, among few and many tracked series | 1.5 times at most between the sizes |
//! | `passes` | passes per second over 1,000 objects, ours and those of bare kube-runtime | 1.3 times the time of bare kube-runtime at most |
//! | `memory` | the heap after up to 1,000,000 failures of ever-new objects | flat; fails otherwise |
//!
//! The first two are criterion's, and end with a table of ratios beside their targets. They never
//! fail for being slow: that depends on the machine and on what else it does. The last counts
//! bytes, which do not, so that it fails if memory grows.
//!
//! All run in one thread on a client whose [API server](cluster) answers at once and does nothing,
//! so that what is measured is the library, kube and tokio; a server and a network would hide it.
//! No tracing subscriber is there but where a case says so.
//!
//! This library holds what the benchmarks share. It is never published.

pub mod cluster;
pub mod events;
pub mod host;
pub mod scale;
pub mod summary;
