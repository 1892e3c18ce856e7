//! Logs, on standard error.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::failure::Failure;
use crate::flags::LogFormat;

/// Logs what `RUST_LOG` says; by default, a line for each pass.
pub fn start(format: LogFormat) -> Result<(), Failure> {
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .from_env()?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    match format {
        LogFormat::Text => {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            lines.with_ansi(stderr().is_terminal() && !no_color).init();
        }
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}
