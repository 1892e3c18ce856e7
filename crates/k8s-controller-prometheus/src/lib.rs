//! Prometheus metrics of controllers, of their client and of their events.
