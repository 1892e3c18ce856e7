//! The way to the API server, which can be slow or cut.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request};
use k8s_embedded_apiserver::EmbeddedApiServer;
use kube::Client;
use kube::client::Body;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// One client's way to the server. Watches that are open stay open when it is cut.
#[derive(Clone)]
pub struct Network {
    server: EmbeddedApiServer,
    cut: watch::Sender<bool>,
    delay: Arc<Mutex<Duration>>,
    passed: Arc<Mutex<Vec<Passed>>>,
}

/// A request that reached the server.
#[derive(Clone, Debug)]
pub struct Passed {
    pub at: Instant,
    pub method: Method,
    pub path: String,
}

impl Passed {
    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    pub fn is_of(&self, part: &str) -> bool {
        self.path.contains(part)
    }
}

impl Network {
    pub fn to(server: &EmbeddedApiServer) -> Self {
        Self {
            server: server.clone(),
            cut: watch::Sender::new(false),
            delay: Arc::default(),
            passed: Arc::default(),
        }
    }

    pub fn client(&self) -> Client {
        let network = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let network = network.clone();
            async move { network.carry(request).await }
        });
        Client::new(service, "default")
    }

    async fn carry(
        mut self,
        request: Request<Body>,
    ) -> Result<http::Response<k8s_embedded_apiserver::ApiBody>, std::convert::Infallible> {
        let delay = *self.delay.lock().unwrap();
        sleep(delay).await;
        // What is sent while it is cut arrives when it is mended, as with TCP.
        let _ = self.cut.subscribe().wait_for(|cut| !cut).await;
        self.passed.lock().unwrap().push(Passed {
            at: Instant::now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
        });
        let answer = tower::Service::call(&mut self.server, request).await;
        sleep(delay).await;
        let _ = self.cut.subscribe().wait_for(|cut| !cut).await;
        answer
    }

    pub fn cut(&self) {
        self.cut.send_replace(true);
    }

    pub fn mend(&self) {
        self.cut.send_replace(false);
    }

    /// How long each request takes to the server, and each answer back.
    pub fn delay(&self, delay: Duration) {
        *self.delay.lock().unwrap() = delay;
    }

    pub fn passed(&self) -> Vec<Passed> {
        self.passed.lock().unwrap().clone()
    }

    /// The writes that reached the server and whose path contains this.
    pub fn writes(&self, part: &str) -> Vec<Passed> {
        let mut passed = self.passed();
        passed.retain(|passed| passed.is_write() && passed.is_of(part));
        passed
    }
}
