//! The website example as an operator that runs as processes on a real control plane: killed,
//! stopped, paused, and left without its API server.
//!
//! `cargo xtask e2e` sets the environment variables that these tests need (see [`support::given`])
//! and starts kube-apiserver again when a test has killed it. Without the variables they are
//! ignored. They leave what they created on the server, which is thrown away.
//! Arguments are those of the standard test harness.

// In a test, a panic is the failure. A scenario is one story, and may take more than a screen.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::too_many_lines)]
// A constant stands where it is used, and a closure shows what it is given.
#![allow(
    clippy::items_after_statements,
    clippy::redundant_closure_for_method_calls
)]

mod scenarios;
mod support;

use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use futures::future::{FutureExt as _, LocalBoxFuture};
use libtest_mimic::{Arguments, Trial};
use support::cluster::Cluster;
use support::given::{self, Given};
use tokio::runtime::Builder;

/// After this much time a scenario counts as hanging.
const LIMIT: Duration = Duration::from_secs(300);

type Scenario = fn(Cluster) -> LocalBoxFuture<'static, ()>;

macro_rules! scenarios {
    ($($module:ident::$name:ident),* $(,)?) => {
        vec![$((
            concat!(stringify!($module), "::", stringify!($name)),
            (|cluster| scenarios::$module::$name(cluster).boxed_local()) as Scenario,
        )),*]
    };
}

fn main() -> ExitCode {
    // Works on the Websites of all namespaces, so that it would take those of others.
    let first = scenarios![deploying::applied_and_run_as_its_own_account];
    // Each has leases, namespaces and accounts of its own, and mostly waits.
    let together = scenarios![
        paused::leader_that_was_paused_exits_without_a_write,
        paused::leader_that_was_paused_rejoins_without_a_write,
        failover::leader_is_killed,
        failover::leader_is_terminated,
        signals::second_sigterm_exits_at_once,
        signals::second_sigint_exits_at_once,
        starting::failures_are_told,
        starting::missing_right_is_told,
        admin::metrics_and_probes_of_both,
        admin::promtool_accepts_the_metrics,
    ];
    // Kills the server of all.
    let last = scenarios![server::is_killed_among_500_changing_objects];

    let given = given::from_env();
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(together.len()));
    let mut failed = false;
    for scenarios in [first, together, last] {
        let trials = scenarios
            .into_iter()
            .map(|(name, scenario)| trial(name, scenario, given.clone()))
            .collect();
        failed |= libtest_mimic::run(&arguments, trials).has_failed();
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn trial(name: &'static str, scenario: Scenario, given: Result<Given, String>) -> Trial {
    let lacks = match &given {
        Err(why) => Some(why.clone()),
        Ok(given) if name.contains("promtool") && given.promtool.is_none() => {
            Some(format!("{} is not set", given::PROMTOOL))
        }
        Ok(_) => None,
    };
    if let Some(why) = &lacks {
        eprintln!("{name}: skipped: {why}");
    }
    Trial::test(name, move || {
        let given = given?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut scenario = pin!(async { scenario(Cluster::new(given, name).await).await });
            let ended = tokio::time::timeout(LIMIT, &mut scenario).await;
            // A panic, so that the operators of the scenario show their logs.
            ended.unwrap_or_else(|_| panic!("hangs: not done after {LIMIT:?}"));
        });
        Ok(())
    })
    .with_ignored_flag(lacks.is_some())
}
