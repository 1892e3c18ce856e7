//! A client that can be given away before the lease is held.

use kube::Client;
use kube::client::Body;
use tokio::sync::watch;

use crate::error::BoxError;

/// Opens the client that was made with it.
pub(crate) struct Gate(watch::Sender<Option<Client>>);

/// A client whose requests wait until the gate is opened, and then go to the client it is
/// opened with. So controllers can be made before the lease is held, which is when their names
/// are needed.
pub(crate) fn gated(client: &Client) -> (Client, Gate) {
    let (sender, receiver) = watch::channel(None::<Client>);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let mut receiver = receiver.clone();
        async move {
            let client = match receiver.wait_for(Option::is_some).await {
                Ok(client) => client.clone(),
                Err(_) => None,
            };
            match client {
                Some(client) => client.send(request).await.map_err(BoxError::from),
                None => Err("the manager ended before it had the lease".into()),
            }
        }
    });
    let gated =
        Client::new(service, client.default_namespace()).with_valid_until(*client.valid_until());
    (gated, Gate(sender))
}

impl Gate {
    /// From now on requests go to this client.
    pub(crate) fn open(&self, client: Client) {
        self.0.send_replace(Some(client));
    }
}
