//! Runs the controllers of an operator together: one lease, signals, health, a graceful stop.
