//! Query parameters of a request.

use std::collections::BTreeMap;
use std::num::{IntErrorKind, ParseIntError};

use crate::status::Failure;
use k8s_api_schema::FieldError;

/// Parameters; of one that is given twice the first counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let mut map = BTreeMap::new();
        for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            map.entry(key.into_owned())
                .or_insert_with(|| value.into_owned());
        }
        Self(map)
    }

    /// A parameter that is there and not empty.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// A truth value: anything but `false` and `0`, so that the name alone is enough.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        let value = self.0.get(key)?;
        Some(!(value == "0" || value.eq_ignore_ascii_case("false")))
    }

    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.flag(key) == Some(true)
    }

    /// A whole number.
    pub(crate) fn number(&self, key: &str) -> Result<Option<i64>, Failure> {
        let refused = |text: &str, error: &ParseIntError| {
            let why = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            Failure::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
        };
        self.0
            .get(key)
            .map(|text| text.parse().map_err(|error| refused(text, &error)))
            .transpose()
    }

    /// Whether nothing shall be stored.
    ///
    /// # Errors
    ///
    /// 422 for a value other than `All`.
    pub(crate) fn dry_run(&self, options: &str) -> Result<bool, Failure> {
        match self.get("dryRun") {
            None => Ok(false),
            Some("All") => Ok(true),
            Some(other) => {
                let error = FieldError::not_supported("dryRun", vec![other], &["All"]);
                Err(Failure::invalid("meta.k8s.io", options, "", &[error]))
            }
        }
    }
}

/// How unknown and repeated fields of a body are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl Query {
    /// `fieldValidation`, or the default.
    pub(crate) fn field_validation(&self, options: &str) -> Result<FieldValidation, Failure> {
        match self.get("fieldValidation") {
            None | Some("Warn") => Ok(FieldValidation::Warn),
            Some("Ignore") => Ok(FieldValidation::Ignore),
            Some("Strict") => Ok(FieldValidation::Strict),
            Some(other) => {
                let error = FieldError::not_supported(
                    "fieldValidation",
                    other,
                    &["", "Ignore", "Strict", "Warn"],
                );
                Err(Failure::invalid("meta.k8s.io", options, "", &[error]))
            }
        }
    }
}

/// What a list or a watch asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) limit: usize,
    pub(crate) continue_: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) exact: bool,
    pub(crate) initial_events: Option<bool>,
    pub(crate) bookmarks: bool,
    pub(crate) timeout_seconds: Option<u64>,
}

const MATCH: &str = "resourceVersionMatch";

impl ListOptions {
    /// Reads and checks the parameters.
    pub(crate) fn parse(query: &Query, watch: bool) -> Result<Self, Failure> {
        let continue_ = query.get("continue");
        let version = query.get("resourceVersion");
        let match_ = query.get(MATCH);
        let initial_events = query.flag("sendInitialEvents");
        let errors = if watch {
            watch_errors(continue_, match_, initial_events)
        } else {
            list_errors(continue_, version, match_, initial_events)
        };
        if !errors.is_empty() {
            return Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &errors));
        }
        let limit = query.number("limit")?.unwrap_or(0);
        let timeout = query.number("timeoutSeconds")?.unwrap_or(0);
        Ok(Self {
            limit: usize::try_from(limit).unwrap_or(0),
            continue_: continue_.map(Into::into),
            version: version.map(Into::into),
            exact: match_ == Some("Exact"),
            initial_events,
            bookmarks: query.is_set("allowWatchBookmarks"),
            timeout_seconds: u64::try_from(timeout).ok().filter(|seconds| *seconds > 0),
        })
    }
}

fn watch_errors(
    continue_: Option<&str>,
    match_: Option<&str>,
    initial_events: Option<bool>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if initial_events.is_none() && match_.is_some() {
        errors.push(FieldError::forbidden(
            MATCH,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ));
    }
    if initial_events.is_some() && match_.is_none() {
        errors.push(FieldError::forbidden(
            MATCH,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    if let Some(other) = match_.filter(|text| *text != "NotOlderThan") {
        errors.push(FieldError::not_supported(MATCH, other, &["NotOlderThan"]));
    }
    if continue_.is_some() {
        errors.push(FieldError::forbidden(
            MATCH,
            "resourceVersionMatch is forbidden when continue is provided",
        ));
    }
    errors
}

fn list_errors(
    continue_: Option<&str>,
    version: Option<&str>,
    match_: Option<&str>,
    initial_events: Option<bool>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(text) = match_ {
        if version.is_none() {
            errors.push(FieldError::forbidden(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if continue_.is_some() {
            errors.push(FieldError::forbidden(
                MATCH,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if !matches!(text, "Exact" | "NotOlderThan") {
            errors.push(FieldError::not_supported(
                MATCH,
                text,
                &["Exact", "NotOlderThan"],
            ));
        }
        if text == "Exact" && version == Some("0") {
            errors.push(FieldError::forbidden(
                MATCH,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ));
        }
    }
    if initial_events.is_some() {
        errors.push(FieldError::forbidden(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        ));
    }
    errors
}
