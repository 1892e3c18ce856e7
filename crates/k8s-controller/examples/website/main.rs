//! An operator for a kind of its own, `Website`: a page that is served under a host name.
//!
//! Without arguments it runs on an API server inside this process, over Websites of which some are
//! broken on purpose, and shows what becomes of them.
//!
//! To write an operator of your own, copy `operator.rs`, `website.rs`, `children.rs`, `error.rs`
//! and what you need of `live.rs`. `demo/` is only for the show.

// A binary exports nothing; `pub` says here what it would say in a library.
#![allow(unreachable_pub)]

mod children;
mod demo;
mod error;
mod failure;
mod hosts;
mod live;
mod manifests;
mod operator;
mod setup;
mod website;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use failure::Failure;

/// An operator for Websites. Without options: a demonstration on an API server inside the process.
#[derive(Debug, Parser)]
#[command(name = "website", version)]
struct Options {
    #[command(flatten)]
    mode: Mode,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Mode {
    /// Run on the cluster that this kubeconfig points to, until Ctrl-C
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
    /// Run on the cluster of $KUBECONFIG, ~/.kube/config or the surrounding pod, until Ctrl-C
    #[arg(long)]
    cluster: bool,
    /// Run on an API server inside the process that kubectl can use too, until Ctrl-C
    #[arg(long)]
    serve: bool,
    /// Print the resource definition, a role and sample Websites as YAML
    #[arg(long)]
    print_manifests: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Mode {
        kubeconfig,
        cluster,
        serve,
        print_manifests,
    } = Options::parse().mode;
    let ended = if let Some(path) = kubeconfig {
        live::on_kubeconfig(path).await
    } else if cluster {
        live::on_cluster().await
    } else if serve {
        demo::serve::run().await
    } else if print_manifests {
        print_yaml()
    } else {
        demo::run().await
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {}", k8s_controller::error::display_chain(&failure));
            ExitCode::FAILURE
        }
    }
}

fn print_yaml() -> Result<bool, Failure> {
    let yaml = manifests::yaml()?;
    std::io::stdout()
        .write_all(yaml.as_bytes())
        .map_err(Failure::io("write to standard output"))?;
    Ok(true)
}
