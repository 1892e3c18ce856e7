//! The way from a process to the server and back.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use k8s_openapi::api::coordination::v1::Lease;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::leases::Leases;

/// The longest way of a request that arrives.
pub(super) const LONGEST: Duration = Duration::from_millis(1500);

/// What may happen on the way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weather {
    /// Nothing passes, in neither direction.
    pub(super) cut: bool,
    /// Requests may take up to [`LONGEST`].
    pub(super) slow_there: bool,
    /// Answers may take up to [`LONGEST`].
    pub(super) slow_back: bool,
    /// How many of ten requests are lost, half of them after they were carried out.
    pub(super) lost: u32,
}

/// A link of one process. A request goes on when its process stops, dies, or no longer waits.
#[derive(Clone)]
pub(super) struct Link(Arc<Inner>);

struct Inner {
    server: Arc<dyn Leases>,
    weather: Mutex<Weather>,
    rng: Mutex<StdRng>,
    fair: Mutex<bool>,
    seen: Mutex<bool>,
}

struct Trip {
    there: Duration,
    back: Duration,
    lost_there: bool,
    lost_back: bool,
}

impl Link {
    pub(super) fn new(server: Arc<dyn Leases>, seed: u64) -> Self {
        Self(Arc::new(Inner {
            server,
            weather: Mutex::default(),
            rng: Mutex::new(StdRng::seed_from_u64(seed)),
            fair: Mutex::default(),
            seen: Mutex::default(),
        }))
    }

    pub(super) fn set(&self, weather: Weather) {
        if !*self.0.fair.lock().unwrap() {
            *self.0.weather.lock().unwrap() = weather;
        }
    }

    /// From now on the weather is fair.
    pub(super) fn clear_up(&self) {
        self.set(Weather::default());
        *self.0.fair.lock().unwrap() = true;
    }

    /// Whether the process has been told of the lease.
    pub(super) fn has_seen_it(&self) -> bool {
        *self.0.seen.lock().unwrap()
    }

    fn trip(&self) -> Trip {
        let weather = *self.0.weather.lock().unwrap();
        let mut rng = self.0.rng.lock().unwrap();
        let mut way = |slow| {
            if slow {
                return rng.random_range(Duration::ZERO..LONGEST);
            }
            Duration::from_millis(rng.random_range(0..30_u64).saturating_sub(15))
        };
        let (there, back) = (way(weather.slow_there), way(weather.slow_back));
        let lost = rng.random_range(0..10) < weather.lost;
        let before = rng.random_bool(0.5);
        Trip {
            there,
            back,
            lost_there: weather.cut || (lost && before),
            lost_back: lost && !before,
        }
    }

    fn send<T: Send + 'static>(
        &self,
        request: BoxFuture<'static, kube::Result<T>>,
    ) -> BoxFuture<'static, kube::Result<T>> {
        let (answered, answer) = oneshot::channel();
        let (link, trip) = (self.clone(), self.trip());
        tokio::spawn(async move {
            takes(trip.there).await;
            if trip.lost_there {
                return;
            }
            let result = request.await;
            takes(trip.back).await;
            let cut = link.0.weather.lock().unwrap().cut;
            if !trip.lost_back && !cut {
                let _ = answered.send(result);
            }
        });
        async move {
            match answer.await {
                Ok(result) => result,
                // Lost: as a connection that hangs.
                Err(_) => pending().await,
            }
        }
        .boxed()
    }
}

impl Leases for Link {
    fn get(&self) -> BoxFuture<'static, kube::Result<Option<Lease>>> {
        let (answer, link) = (self.send(self.0.server.get()), self.clone());
        answer
            .inspect(move |result| {
                if matches!(result, Ok(Some(_))) {
                    *link.0.seen.lock().unwrap() = true;
                }
            })
            .boxed()
    }

    fn create(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>> {
        self.send(self.0.server.create(lease))
    }

    fn replace(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>> {
        self.send(self.0.server.replace(lease))
    }
}

async fn takes(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}
