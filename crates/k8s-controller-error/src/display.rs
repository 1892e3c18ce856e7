//! A chain of errors as one line for people.

use std::error::Error as StdError;
use std::fmt;

use kube::core::Status;

use crate::chain::{as_status, links};

/// The reason that [`kube`] makes up for an answer that is no `Status`, such as the page of a
/// proxy, or `404 page not found` for a kind that the server does not have.
const UNREADABLE: &str = "Failed to parse error data";

/// The message of `error`, then the message of each cause after `": "`.
///
/// A cause whose text the line so far already ends with is skipped, since many errors repeat
/// their cause. An answer of the API server is printed once, as `message: reason`, without the
/// `Debug` dump that [`kube::Error`] adds to it, also where a wrapping error quotes it; one that
/// is plain text is printed as that text.
///
/// ```
/// use k8s_controller_error::display_chain;
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("cannot read {path}")]
/// struct Read {
///     path: &'static str,
///     source: std::io::Error,
/// }
///
/// let source = std::io::Error::other("disk on fire");
/// let error = Read { path: "/etc/app", source };
/// assert_eq!(display_chain(&error).to_string(), "cannot read /etc/app: disk on fire");
/// ```
#[must_use]
pub fn display_chain<'a>(error: &'a (dyn StdError + 'static)) -> DisplayChain<'a> {
    DisplayChain { error }
}

/// Displays an error with its causes; made by [`display_chain`].
#[derive(Clone, Copy, Debug)]
pub struct DisplayChain<'a> {
    error: &'a (dyn StdError + 'static),
}

impl fmt::Display for DisplayChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statuses: Vec<&Status> = links(self.error).filter_map(as_status).collect();
        let mut line = String::new();
        for link in links(self.error) {
            let text = text_of(link, &statuses);
            let is_said = line.ends_with(&text)
                || as_status(link).is_some_and(|status| line.ends_with(&readable(status)));
            if line.is_empty() {
                line = text;
            } else if !is_said {
                line.push_str(": ");
                line.push_str(&text);
            }
        }
        f.write_str(&line)
    }
}

/// The text of one link, without dumps of the answers that the chain carries.
fn text_of(link: &(dyn StdError + 'static), statuses: &[&Status]) -> String {
    if let Some(status) = crate::chain::as_type::<Status>(link) {
        return readable(status);
    }
    let mut text = link.to_string();
    for status in statuses {
        // How `kube::Error::Api` prints itself.
        let quoted = format!("ApiError: {status} ({status:?})");
        if text.contains(&quoted) {
            text = text.replace(&quoted, &format!("ApiError: {}", readable(status)));
        }
        if status.reason == UNREADABLE {
            text = text.replace(&status.to_string(), &readable(status));
        }
    }
    text
}

fn readable(status: &Status) -> String {
    let message = status.message.trim();
    let reason = Some(status.reason.as_str()).filter(|reason| *reason != UNREADABLE);
    let reason = reason.unwrap_or_default();
    match (message.is_empty(), reason.is_empty()) {
        (false, false) => format!("{message}: {reason}"),
        (false, true) => message.to_owned(),
        (true, false) => reason.to_owned(),
        (true, true) if status.code == 0 => "no reason given".to_owned(),
        (true, true) => format!("HTTP status {}", status.code),
    }
}
