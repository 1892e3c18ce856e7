//! Runs a scenario as a test on a thread of its own, with a runtime, a log and a time limit.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc;
use std::time::Duration;

use futures::future::{FutureExt as _, LocalBoxFuture};
use kube::config::{KubeConfigOptions, Kubeconfig};
use libtest_mimic::{Failed, Trial};
use tokio::runtime::{Builder, Runtime};

use super::cluster::Cluster;
use super::logs::Logs;

/// The kubeconfig of the real server.
pub(crate) const KUBECONFIG: &str = "K8S_CONTROLLER_E2E_KUBECONFIG";

/// After this much real time a scenario counts as hanging.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) type Scenario = fn(Cluster) -> LocalBoxFuture<'static, ()>;

/// The scenario on the embedded server, in virtual time.
pub(crate) fn embedded(name: &'static str, scenario: Scenario) -> Trial {
    Trial::test(format!("embedded::{name}"), move || {
        guarded(name, move || {
            let runtime = Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build();
            run(
                &runtime.map_err(|error| error.to_string())?,
                scenario,
                async |logs| Cluster::embedded(logs).await,
            )
        })
    })
}

/// The scenario on the server of [`KUBECONFIG`], in real time.
pub(crate) fn real(name: &'static str, scenario: Scenario) -> Trial {
    let path = std::env::var(KUBECONFIG).ok();
    let ignored = path.is_none();
    Trial::test(format!("real::{name}"), move || {
        guarded(name, move || {
            let path =
                path.ok_or_else(|| format!("set {KUBECONFIG} to the kubeconfig of a server"))?;
            let runtime = Builder::new_current_thread().enable_all().build();
            run(
                &runtime.map_err(|error| error.to_string())?,
                scenario,
                async |logs| {
                    let cluster = Cluster::real(config(&path).await?, name, logs).await;
                    cluster.map_err(|error| format!("{KUBECONFIG}={path}: {error}"))
                },
            )
        })
    })
    .with_ignored_flag(ignored)
}

async fn config(path: &str) -> Result<kube::Config, String> {
    let unusable = |error: &dyn std::fmt::Display| format!("{KUBECONFIG}={path}: {error}");
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| unusable(&error))?;
    kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| unusable(&error))
}

fn run(
    runtime: &Runtime,
    scenario: Scenario,
    cluster: impl AsyncFnOnce(Logs) -> Result<Cluster, String>,
) -> Result<(), String> {
    let logs = Logs::default();
    let _capture = logs.capture();
    runtime.block_on(async {
        let cluster = cluster(logs.clone())
            .await
            .map_err(|error| format!("no cluster: {error}"))?;
        let result = AssertUnwindSafe(scenario(cluster.clone()))
            .catch_unwind()
            .await;
        let report =
            result.map_err(|_| format!("{}\nlast log lines:\n{}", last_panic(), logs.tail(40)));
        cluster.finish().await;
        report
    })
}

/// Runs on a new thread, so that a hang is a failure and not a hanging test run.
fn guarded(
    name: &str,
    test: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Result<(), Failed> {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            let _ = done.send(test());
        })?;
    match ended.recv_timeout(LIMIT) {
        Ok(result) => result.map_err(Failed::from),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(format!("hangs: not done after {LIMIT:?}").into())
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let said = thread.join().err().map(|panic| panic_text(&*panic));
            Err(said
                .unwrap_or_else(|| "ended without a result".to_owned())
                .into())
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_owned())
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics for the report of the scenario instead of printing them: some are part of the play.
pub(crate) fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        LAST_PANIC.with_borrow_mut(|last| *last = info.to_string());
    }));
}

fn last_panic() -> String {
    LAST_PANIC.with_borrow(String::clone)
}
