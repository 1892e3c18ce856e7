//! Requests that nobody would send: valid ones, mutated, against servers with a few objects. Nothing panics, nothing
//! hangs, and every answer is one that a client can read.
//!
//! `cargo xtask fuzz` runs it for a given time; a part runs with the other tests. A failure prints the seed, which
//! repeats it.

#![allow(clippy::unwrap_used, reason = "in a test that is a failure")]

mod fuzzing;

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt as _;
use http_body_util::{BodyExt as _, Full};
use k8s_embedded_apiserver::{ApiBody, EmbeddedApiServer};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use tower::ServiceExt as _;

use fuzzing::Request;

const SECONDS: &str = "K8S_CONTROLLER_FUZZ_SECONDS";
const SEED: &str = "K8S_CONTROLLER_FUZZ_SEED";

/// Requests to one server.
const REQUESTS: usize = 150;
/// A request that takes longer than this hangs, in the view of a client.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn a_few_servers_take_anything() {
    for seed in 0..6 {
        one_server(seed);
    }
}

#[test]
#[ignore = "runs for as long as it is told: cargo xtask fuzz"]
fn servers_take_anything_for_a_while() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let limit = Duration::from_secs(number(SECONDS).unwrap_or(60));
    let first = number(SEED).unwrap_or_else(rand::random);
    eprintln!("{SEED}={first}");
    let begun = Instant::now();
    let mut servers = 0;
    while begun.elapsed() < limit {
        one_server(first.wrapping_add(servers));
        servers += 1;
    }
    eprintln!("{servers} servers, {REQUESTS} requests each");
}

/// A server and what it is sent, all of it from the seed.
fn one_server(seed: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut rng = StdRng::seed_from_u64(seed);
        let server = EmbeddedApiServer::builder().seed(seed).build();
        let mut sent: Vec<Request> = Vec::new();
        let seeds = fuzzing::corpus();
        for request in fuzzing::setup() {
            sent.push(request.clone());
            check(&server, &request, seed, &sent).await;
        }
        for _ in 0..REQUESTS {
            let mut request = seeds[rng.random_range(0..seeds.len())].clone();
            for _ in 0..rng.random_range(0..4) {
                fuzzing::mutate(&mut request, &seeds, &mut rng);
            }
            sent.push(request.clone());
            check(&server, &request, seed, &sent).await;
        }
    });
}

async fn check(server: &EmbeddedApiServer, request: &Request, seed: u64, sent: &[Request]) {
    let Some(http) = request.http() else { return };
    let begun = Instant::now();
    let answer = AssertUnwindSafe(answer(server, http)).catch_unwind().await;
    let elapsed = begun.elapsed();
    let wrong = match answer {
        Err(_) => Some("panics".to_owned()),
        Ok(Err(why)) => Some(why),
        Ok(Ok(())) if elapsed > PATIENCE => Some(format!("takes {elapsed:?}")),
        Ok(Ok(())) => None,
    };
    if let Some(wrong) = wrong {
        let before: Vec<String> = sent
            .iter()
            .rev()
            .take(5)
            .rev()
            .map(Request::to_string)
            .collect();
        panic!(
            "request {} to the server of {SEED}={seed} {wrong}:\n{request}\n\nthe last ones:\n{}",
            sent.len(),
            before.join("\n")
        );
    }
}

/// What is wrong with the answer, if something is.
async fn answer(
    server: &EmbeddedApiServer,
    request: http::Request<Full<Bytes>>,
) -> Result<(), String> {
    let response = server.clone().oneshot(request).await.unwrap();
    let status = response.status();
    if !(200..600).contains(&status.as_u16()) {
        return Err(format!("is answered with {status}"));
    }
    let header = |name| {
        response
            .headers()
            .get(name)
            .map(|found| found.as_bytes().to_vec())
    };
    let is_json = header(http::header::CONTENT_TYPE)
        .is_some_and(|found| found.starts_with(b"application/json"))
        && header(http::header::CONTENT_ENCODING).is_none();
    let body = read(response.into_body()).await;
    if !is_json || body.is_empty() {
        return Ok(());
    }
    let mut lines = serde_json::Deserializer::from_slice(&body).into_iter::<Value>();
    let first = match lines.next() {
        Some(Ok(first)) => first,
        other => {
            return Err(format!(
                "is answered with what is no JSON: {other:?}: {body:?}"
            ));
        }
    };
    if first["kind"] == "Status" && first["apiVersion"] == "v1" && !status.is_success() {
        let code = first["code"].as_u64();
        if code != Some(u64::from(status.as_u16())) {
            return Err(format!("is answered with {status} and {first}"));
        }
    }
    match lines.find_map(Result::err) {
        Some(error) => Err(format!("is answered with what is no JSON: {error}")),
        None => Ok(()),
    }
}

/// The body: of a watch what comes within a virtual second.
async fn read(mut body: ApiBody) -> Vec<u8> {
    let mut read = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(1), async {
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.unwrap().into_data() {
                read.extend_from_slice(&data);
            }
        }
    })
    .await;
    read
}
