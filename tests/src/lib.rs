//! Tests across the crates of k8s-controller: see `tests/`. There is no code here but the
//! examples of the README, which are compiled as documentation tests.

/// The README: each block of Rust in it compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
