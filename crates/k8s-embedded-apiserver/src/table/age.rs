//! How long ago something was, as the real server writes it in a table.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The time since an RFC 3339 text; `<unknown>` for none, `<invalid>` for no time.
pub(super) fn since(time: Option<&Value>, now: Timestamp) -> String {
    match time.and_then(Value::as_str) {
        None | Some("") => "<unknown>".into(),
        Some(text) => match text.parse::<Timestamp>() {
            Ok(then) => human(now.as_second().saturating_sub(then.as_second())),
            Err(_) => "<invalid>".into(),
        },
    }
}

/// The time between two RFC 3339 texts.
pub(super) fn between(start: &Value, end: &Value) -> String {
    let time = |value: &Value| value.as_str()?.parse::<Timestamp>().ok();
    match (time(start), time(end)) {
        (Some(start), Some(end)) => human(end.as_second() - start.as_second()),
        _ => "<invalid>".into(),
    }
}

/// Seconds in two units at most, the coarser the longer.
fn human(seconds: i64) -> String {
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large}{large_unit}")
        } else {
            format!("{large}{large_unit}{small}{small_unit}")
        }
    };
    match seconds {
        ..=-2 => "<invalid>".into(),
        -1 => "0s".into(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two(s / MINUTE, "m", s % MINUTE, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two(s / HOUR, "h", s % HOUR / MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two(s / DAY, "d", s % DAY / HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two(s / YEAR, "y", s % YEAR / DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        for (seconds, expected) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (601, "10m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 61, "3h1m"),
            (9 * HOUR + 59, "9h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (9 * DAY, "9d"),
            (2 * YEAR + DAY, "2y1d"),
            (9 * YEAR, "9y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn texts_that_are_no_time() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(since(None, now), "<unknown>");
        assert_eq!(since(Some(&"soon".into()), now), "<invalid>");
        assert_eq!(since(Some(&"1970-01-01T00:00:00Z".into()), now), "0s");
    }
}
