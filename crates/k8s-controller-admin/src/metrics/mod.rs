//! The metrics of a registry, as text.

mod number;
mod openmetrics;
mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};

use prometheus::proto::MetricType;
use prometheus::{Registry, TextEncoder};

use crate::accept::Format;
use crate::health::panic_message;

/// Why the metrics cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EncodeError {
    #[error(transparent)]
    Text(#[from] prometheus::Error),
    #[error(transparent)]
    OpenMetrics(#[from] openmetrics::InvalidName),
    #[error(
        "metric {0:?} is untyped, whose value the prometheus crate does not tell; expected another type"
    )]
    Untyped(String),
    #[error("a collector panicked: {0}")]
    Panicked(String),
    #[error("the runtime is shutting down")]
    NotRun(#[source] tokio::task::JoinError),
}

/// All metrics or an error: a scrape that lacks some of them without a word would look like a restart.
pub(crate) fn encode(registry: &Registry, format: Format) -> Result<String, EncodeError> {
    let encoding = AssertUnwindSafe(|| {
        let families = registry.gather();
        let untyped = |family: &&prometheus::proto::MetricFamily| {
            family.get_field_type() == MetricType::UNTYPED
        };
        if let Some(family) = families.iter().find(untyped) {
            return Err(EncodeError::Untyped(family.name().to_owned()));
        }
        match format {
            Format::Text => Ok(TextEncoder::new().encode_to_string(&families)?),
            Format::OpenMetrics => Ok(openmetrics::encode(&families)?),
        }
    });
    catch_unwind(encoding)
        .unwrap_or_else(|panic| Err(EncodeError::Panicked(panic_message(&*panic).to_owned())))
}
