//! A manager on the embedded API server, in virtual time unless sockets or signals are needed.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

#[cfg(feature = "admin")]
mod admin;
mod failing;
mod health;
mod leading;
mod log;
mod losing;
mod network;
mod sharing;
#[cfg(unix)]
mod signals;
mod stopping;
mod support;
