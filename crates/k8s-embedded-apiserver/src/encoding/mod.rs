//! From an answer to the bytes that are asked for: JSON, indented JSON or YAML, and gzip.

mod gzip;
mod yaml;

use bytes::Bytes;
use serde_json::Value;

pub(crate) use gzip::{GzipStream, gzip, is_asked_for};

/// The language of an answer.
///
/// Another one needs a variant here, its media type, an arm in [`Encoding::write`], and a place in the list of what is
/// offered (`table::accept`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
}

impl Format {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }

    /// Whether it can be the language of a watch.
    pub(crate) fn streams(self) -> bool {
        self == Self::Json
    }
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) format: Format,
    /// For people: indented, and without a newline at the end.
    pub(crate) pretty: bool,
}

impl Encoding {
    /// What answers are in that found no other language.
    pub(crate) const RAW: Self = Self {
        format: Format::Json,
        pretty: true,
    };

    /// Whether it is what objects are stored in.
    pub(crate) fn is_plain(self) -> bool {
        self.format == Format::Json && !self.pretty
    }

    pub(crate) fn write(self, value: &Value) -> Bytes {
        match self.format {
            Format::Yaml => yaml::write(value).into(),
            Format::Json if self.pretty => format!("{value:#}").into(),
            Format::Json => format!("{value}\n").into(),
        }
    }
}
