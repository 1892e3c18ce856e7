//! From an answer to the bytes that are asked for: JSON, indented JSON, YAML or protobuf, and gzip.

mod gzip;
mod protobuf;
mod yaml;

use bytes::Bytes;
use serde_json::Value;

use crate::{finish, ordered};

pub(crate) use gzip::{GzipStream, gzip, is_asked_for};

/// The language of an answer.
///
/// Another one needs a variant here, its media types, arms in [`Encoding::write`] and [`Encoding::event`], and a place
/// in the list of what is offered (`table::accept`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
    Protobuf,
}

impl Format {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// Whether it can be the language of a watch.
    pub(crate) fn streams(self) -> bool {
        self != Self::Yaml
    }

    /// The media type of a watch.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            other => other.media_type(),
        }
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

    /// An event of a watch: a line of JSON, or a message after its length.
    pub(crate) fn event(self, type_: &str, object: &Value) -> Bytes {
        if self.format == Format::Protobuf {
            return protobuf::event(type_, object).into();
        }
        let object = ordered::text(object);
        format!("{{\"type\":\"{type_}\",\"object\":{object}}}\n").into()
    }

    pub(crate) fn write(self, value: &Value) -> Bytes {
        match self.format {
            Format::Yaml => yaml::write(value).into(),
            Format::Protobuf => protobuf::write(value).into(),
            Format::Json if self.pretty => finish::indented(ordered::text(value).as_bytes()),
            Format::Json => (ordered::text(value) + "\n").into(),
        }
    }
}
