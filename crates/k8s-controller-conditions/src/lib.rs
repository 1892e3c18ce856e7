//! Status conditions of Kubernetes objects: set, find, remove.
