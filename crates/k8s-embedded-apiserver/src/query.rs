//! Query parameters of a request.

use std::collections::BTreeMap;
use std::num::{IntErrorKind, ParseIntError};

use crate::managed::{MAX_MANAGER, is_printable};
use crate::status::Failure;
use k8s_api_schema::FieldError;

/// Parameters; of one that is given twice the first counts, but for `dryRun`, which is a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    first: BTreeMap<String, String>,
    dry_run: Vec<String>,
}

const DRY_RUN: &str = "dryRun";

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let mut parsed = Self::default();
        for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if key == DRY_RUN {
                parsed.dry_run.push(value.into_owned());
                continue;
            }
            let first = parsed.first.entry(key.into_owned());
            first.or_insert_with(|| value.into_owned());
        }
        parsed
    }

    /// A parameter that is there and not empty.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.first
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// A truth value: anything but `false` and `0`, so that the name alone is enough.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        let value = self.first.get(key)?;
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
        self.first
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
        match dry_run_error(&self.dry_run) {
            None => Ok(!self.dry_run.is_empty()),
            Some(error) => Err(Failure::invalid("meta.k8s.io", options, "", &[error])),
        }
    }
}

/// What is wrong with the values of `dryRun`, which are all `All`.
pub(crate) fn dry_run_error<T: AsRef<str>>(values: &[T]) -> Option<FieldError> {
    if values.iter().all(|value| value.as_ref() == "All") {
        return None;
    }
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    Some(FieldError::not_supported(DRY_RUN, values, &["All"]))
}

/// How unknown and repeated fields of a body are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// What a create, an update or a patch asks for beside its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// Only of an apply: what others own is taken over.
    pub(crate) force: bool,
}

impl Query {
    /// The options of a write that is no apply.
    ///
    /// # Errors
    ///
    /// 422 with one cause for each option that is wrong.
    pub(crate) fn write_options(&self, options: &str) -> Result<WriteOptions, Failure> {
        let mut errors = Vec::new();
        if options == "PatchOptions" && self.flag("force").is_some() {
            let why = "may not be specified for non-apply patch";
            errors.push(FieldError::forbidden("force", why));
        }
        self.checked(options, errors)
    }

    /// The options of an apply.
    ///
    /// # Errors
    ///
    /// 422 with one cause for each option that is wrong.
    pub(crate) fn apply_options(&self) -> Result<WriteOptions, Failure> {
        let mut errors = Vec::new();
        if self.get("fieldManager").is_none() {
            errors.push(FieldError::required(
                "fieldManager",
                "is required for apply patch",
            ));
        }
        self.checked("PatchOptions", errors)
    }

    fn checked(&self, options: &str, mut errors: Vec<FieldError>) -> Result<WriteOptions, Failure> {
        if let Some(manager) = self.get("fieldManager") {
            manager_errors(manager, &mut errors);
        }
        errors.extend(dry_run_error(&self.dry_run));
        let validation = match self.get("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                let known = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported("fieldValidation", other, &known));
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            return Err(Failure::invalid("meta.k8s.io", options, "", &errors));
        }
        Ok(WriteOptions {
            dry_run: !self.dry_run.is_empty(),
            validation,
            force: self.is_set("force"),
        })
    }
}

/// A manager's name is short and can be printed.
fn manager_errors(manager: &str, errors: &mut Vec<FieldError>) {
    const FIELD: &str = "fieldManager";
    if manager.len() > MAX_MANAGER {
        errors.push(FieldError::too_long(FIELD, MAX_MANAGER));
    }
    for (position, c) in manager.char_indices().filter(|(_, c)| !is_printable(*c)) {
        let code = u32::from(c);
        let why = format!("invalid character U+{code:04X} (at position {position})");
        errors.push(FieldError::invalid(FIELD, manager, why));
    }
}

/// A `resourceVersion` as a number; 0 is any.
///
/// # Errors
///
/// The text is no number. What becomes of that differs between the verbs.
pub(crate) fn version(text: &str) -> Result<u64, FieldError> {
    // Like the real server, which takes no sign.
    let parsed = if text.starts_with('+') {
        None
    } else {
        Some(text.parse::<u64>())
    };
    let why = match parsed {
        Some(Ok(version)) => return Ok(version),
        Some(Err(error)) if *error.kind() == IntErrorKind::PosOverflow => "value out of range",
        _ => "invalid syntax",
    };
    let quoted = k8s_api_schema::quote(text);
    let why = format!("strconv.ParseUint: parsing {quoted}: {why}");
    Err(FieldError::invalid("resourceVersion", text, why))
}

/// What a list or a watch asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    /// It was asked for by the parameter, not by the deprecated path.
    pub(crate) watch: bool,
    pub(crate) limit: usize,
    pub(crate) continue_: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) match_: Option<String>,
    pub(crate) initial_events: Option<bool>,
    pub(crate) bookmarks: bool,
    pub(crate) timeout_seconds: Option<u64>,
}

const MATCH: &str = "resourceVersionMatch";
const NOT_OLDER_THAN: &str = "NotOlderThan";

impl ListOptions {
    /// Reads the parameters.
    pub(crate) fn parse(query: &Query) -> Result<Self, Failure> {
        let limit = query.number("limit")?.unwrap_or(0);
        let timeout = query.number("timeoutSeconds")?.unwrap_or(0);
        let mut options = Self {
            watch: query.is_set("watch"),
            limit: usize::try_from(limit).unwrap_or(0),
            continue_: query.get("continue").map(Into::into),
            version: query.get("resourceVersion").map(Into::into),
            match_: query.get(MATCH).map(Into::into),
            initial_events: query.flag("sendInitialEvents"),
            bookmarks: query.is_set("allowWatchBookmarks"),
            timeout_seconds: u64::try_from(timeout).ok().filter(|seconds| *seconds > 0),
        };
        let from_state = matches!(options.version.as_deref(), None | Some("0"));
        if options.watch
            && options.initial_events.is_none()
            && options.match_.is_none()
            && from_state
        {
            options.initial_events = Some(true);
            options.match_ = Some(NOT_OLDER_THAN.into());
        }
        Ok(options)
    }

    /// Checks that they go together.
    pub(crate) fn validate(&self) -> Result<(), Failure> {
        let (continue_, match_) = (self.continue_.as_deref(), self.match_.as_deref());
        let errors = if self.watch {
            watch_errors(continue_, match_, self.initial_events)
        } else {
            list_errors(
                continue_,
                self.version.as_deref(),
                match_,
                self.initial_events,
            )
        };
        if errors.is_empty() {
            return Ok(());
        }
        Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &errors))
    }

    /// Exactly the version is wanted, not a later one.
    pub(crate) fn is_exact(&self) -> bool {
        self.match_.as_deref() == Some("Exact")
    }

    /// A version, a limit and nothing else: then the version is meant exactly.
    pub(crate) fn is_legacy_exact(&self) -> bool {
        let version = self.version.as_deref();
        self.match_.is_none() && self.limit > 0 && version.is_some_and(|version| version != "0")
    }
}

fn watch_errors(
    continue_: Option<&str>,
    match_: Option<&str>,
    initial_events: Option<bool>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if initial_events.is_some() && match_ != Some(NOT_OLDER_THAN) {
        errors.push(FieldError::forbidden(
            MATCH,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    let Some(text) = match_ else { return errors };
    if initial_events.is_none() {
        errors.push(FieldError::forbidden(
            MATCH,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ));
    }
    if text != NOT_OLDER_THAN {
        errors.push(FieldError::not_supported(MATCH, text, &[NOT_OLDER_THAN]));
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
        if !matches!(text, "Exact" | NOT_OLDER_THAN) {
            errors.push(FieldError::not_supported(
                MATCH,
                text,
                &["Exact", NOT_OLDER_THAN, ""],
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
