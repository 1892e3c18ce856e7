//! Leader election by a Kubernetes Lease, and a client that is fenced by it.
