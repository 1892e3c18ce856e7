//! What contributors and CI run: `cargo xtask` lists the commands.
//!
//! Needs nothing installed but Rust and, for the real control plane, Go. Runs on Linux and macOS.

mod bench;
mod ci;
mod clients;
mod control_plane;
mod e2e;
mod flags;
mod fuzz;
mod process;
mod promtool;
mod rules;
mod schemas;
mod server;
mod signals;
mod workspace;

use std::process::ExitCode;

use flags::XtaskCmd;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(interrupted) = error.downcast_ref::<signals::Interrupted>() {
                eprintln!("xtask: {interrupted}");
                return ExitCode::from(interrupted.exit_code());
            }
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let flags = match flags::Xtask::from_env() {
        Ok(flags) => flags,
        Err(error) if error.is_help() => error.exit(),
        Err(error) => anyhow::bail!("{error}; `cargo xtask` lists the commands and their flags"),
    };
    match flags.subcommand {
        XtaskCmd::Overview(_) => {
            println!("{}", flags::help());
            Ok(())
        }
        XtaskCmd::ControlPlane(_) => {
            let folder = control_plane::find_or_build(&signals::Signals::catch()?)?;
            println!("{}", folder.path().display());
            Ok(())
        }
        XtaskCmd::E2e(flags) => e2e::run(&flags),
        XtaskCmd::Ci(flags) => ci::run(&flags),
        XtaskCmd::Bench(flags) => bench::run(&flags),
        XtaskCmd::Fuzz(flags) => fuzz::run(&flags),
        XtaskCmd::Schemas(flags) => schemas::run(&flags),
    }
}
