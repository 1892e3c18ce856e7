//! Admin server of an operator: metrics, liveness and readiness over HTTP.
