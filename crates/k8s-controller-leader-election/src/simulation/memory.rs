//! A server that has one lease.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt as _, ready};
use k8s_openapi::api::coordination::v1::Lease;
use kube::core::Status;

use crate::leases::Leases;

#[derive(Clone, Default)]
pub(super) struct MemoryLeases(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<Lease>,
    version: u64,
}

impl State {
    fn store(&mut self, mut lease: Lease) -> Lease {
        self.version += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        self.lease = Some(lease.clone());
        lease
    }

    fn create(&mut self, mut lease: Lease) -> kube::Result<Lease> {
        if self.lease.is_some() {
            return Err(refuse("AlreadyExists", 409));
        }
        lease.metadata.uid = Some(format!("uid-{}", self.version));
        Ok(self.store(lease))
    }

    fn replace(&mut self, lease: Lease) -> kube::Result<Lease> {
        let Some(stored) = &self.lease else {
            return Err(refuse("NotFound", 404));
        };
        let version = lease.metadata.resource_version.as_ref();
        let unchanged = version == stored.metadata.resource_version.as_ref();
        if !unchanged || lease.metadata.uid != stored.metadata.uid {
            return Err(refuse("Conflict", 409));
        }
        Ok(self.store(lease))
    }
}

impl Leases for MemoryLeases {
    fn get(&self) -> BoxFuture<'static, kube::Result<Option<Lease>>> {
        let state = self.0.clone();
        async move { Ok(state.lock().unwrap().lease.clone()) }.boxed()
    }

    fn create(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>> {
        let state = self.0.clone();
        async move { state.lock().unwrap().create(lease) }.boxed()
    }

    fn replace(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>> {
        let state = self.0.clone();
        async move { state.lock().unwrap().replace(lease) }.boxed()
    }
}

/// What a hand may do to the lease.
pub(super) trait Hand: Leases {
    fn delete(&self) -> BoxFuture<'static, kube::Result<()>>;
}

impl Hand for MemoryLeases {
    fn delete(&self) -> BoxFuture<'static, kube::Result<()>> {
        self.0.lock().unwrap().lease = None;
        ready(Ok(())).boxed()
    }
}

fn refuse(reason: &str, code: u16) -> kube::Error {
    kube::Error::Api(Status::failure("refused", reason).with_code(code).boxed())
}
