//! An operator for a kind of its own, `Website`: a page that is served under a host name.
//!
//! Without arguments it runs on an API server inside this process, over Websites of which some are
//! broken on purpose, and shows what becomes of them. `website run` runs it on a cluster.
//!
//! To write an operator of your own, copy all but `demo/` and `samples.rs`, which are only for the
//! show. Start with `operator.rs`, `website.rs`, `status.rs`, `children.rs` and `error.rs`.

// A binary exports nothing; `pub` says here what it would say in a library.
#![allow(unreachable_pub)]

mod children;
mod controller;
mod demo;
mod election;
mod error;
mod failure;
mod flags;
mod hosts;
mod logging;
mod manifests;
mod metrics;
mod operator;
mod run;
mod samples;
mod setup;
mod status;
mod website;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use failure::Failure;
use flags::{Command, LogFormat, Options};
use k8s_controller::error::display_chain;

#[tokio::main]
async fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return tell_usage(&error),
    };
    let ended = match options.command {
        None => demo::run().await,
        Some(Command::Run(flags)) => return on_cluster(*flags).await,
        Some(Command::Serve) => demo::serve::run().await,
        Some(Command::Manifests(flags)) => print(manifests::yaml(&flags.image)),
        Some(Command::Samples) => print(manifests::samples_yaml()),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => tell(&failure),
    }
}

async fn on_cluster(flags: flags::Run) -> ExitCode {
    let format = flags.log_format;
    if let Err(failure) = logging::start(format) {
        return tell(&failure);
    }
    match run::run(flags).await {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the logs expects nothing but JSON.
        Err(failure) if format == LogFormat::Json => {
            tracing::error!(error = %display_chain(&failure), "the operator has ended");
            ExitCode::FAILURE
        }
        Err(failure) => tell(&failure),
    }
}

fn tell(failure: &Failure) -> ExitCode {
    eprintln!("error: {}", display_chain(failure));
    ExitCode::FAILURE
}

/// What was asked for, or what is wrong with the words or the variables.
fn tell_usage(error: &clap::Error) -> ExitCode {
    // To standard output or standard error, whichever is right. If it is closed, nobody reads it.
    error.print().ok();
    if error.use_stderr() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn print(yaml: Result<String, serde_saphyr::ser::Error>) -> Result<bool, Failure> {
    std::io::stdout()
        .write_all(yaml?.as_bytes())
        .map_err(Failure::io("write to standard output"))?;
    Ok(true)
}
