//! The admin server of a replica, as Prometheus and the kubelet ask it.

use http_body_util::BodyExt as _;
use kube::Client;

use super::operator::Operator;
use super::wait::{PATIENCE, within};

/// What an admin server said.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub code: u16,
    pub content_type: String,
    pub body: String,
}

pub(crate) struct Admin(Client);

impl Admin {
    pub(crate) async fn of(operator: &mut Operator) -> Self {
        let address = operator.admin_address().await;
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        Self(Client::try_from(config).unwrap())
    }

    /// Asks it.
    ///
    /// # Errors
    ///
    /// If it cannot be reached.
    pub(crate) async fn try_get(&self, path: &str, accept: &str) -> Result<Answer, String> {
        let request = http::Request::get(path)
            .header("accept", accept)
            .body(kube::client::Body::empty())
            .unwrap();
        let answer = self.0.send(request).await;
        let (head, body) = answer.map_err(|error| error.to_string())?.into_parts();
        let body = body.collect().await.map_err(|error| error.to_string())?;
        let content_type = head.headers.get("content-type");
        Ok(Answer {
            code: head.status.as_u16(),
            content_type: content_type
                .map_or("", |text| text.to_str().unwrap())
                .to_owned(),
            body: String::from_utf8(body.to_bytes().into()).unwrap(),
        })
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.try_get(path, "*/*").await.unwrap()
    }

    /// Waits until it says that the replica is ready.
    pub(crate) async fn ready(&self) {
        within(PATIENCE, "ready", async || {
            let answer = self.try_get("/readyz?verbose", "*/*").await?;
            (answer.code == 200)
                .then_some(())
                .ok_or_else(|| format!("{answer:?}"))
        })
        .await;
    }

    /// Whether the metrics say that the replica leads.
    pub(crate) async fn says_it_leads(&self) -> bool {
        self.value("leader_election_master_status").await > 0.0
    }

    /// The value of a metric that has one series.
    pub(crate) async fn value(&self, metric: &str) -> f64 {
        let metrics = self.get("/metrics").await.body;
        let lines: Vec<_> = metrics
            .lines()
            .filter(|line| line.split(['{', ' ']).next() == Some(metric))
            .collect();
        assert_eq!(lines.len(), 1, "{metric}: {lines:?}");
        lines[0].rsplit(' ').next().unwrap().parse().unwrap()
    }
}
