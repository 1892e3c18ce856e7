//! Times as the server reads and writes them.

use std::fmt::Write as _;

/// The layout of times in whole seconds, as errors quote it.
const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
/// The layout of times in microseconds.
const MICRO_LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Seconds of the year 1, which is no time, before 1970.
const NEVER: i64 = -62_135_596_800;

/// A time in whole seconds, in UTC; `None` for the year 1, which is written as `null`. Fractions are cut.
///
/// ```
/// use k8s_api_schema::json::time;
///
/// assert_eq!(time("2020-01-01T02:00:00.5+02:00"), Ok(Some("2020-01-01T00:00:00Z".into())));
/// assert_eq!(
///     time("yesterday").unwrap_err(),
///     r#"parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006""#,
/// );
/// ```
///
/// # Errors
///
/// The words of Go's parser.
pub fn time(text: &str) -> Result<Option<String>, String> {
    let parsed = parse(text, false)?;
    Ok(parsed.map(|(seconds, _)| format!("{}Z", civil(seconds))))
}

/// A time with exactly six digits of fractions, in UTC; `None` for the year 1.
///
/// # Errors
///
/// The words of Go's parser.
pub fn micro_time(text: &str) -> Result<Option<String>, String> {
    let parsed = parse(text, true)?;
    Ok(parsed.map(|(seconds, micros)| format!("{}.{micros:06}Z", civil(seconds))))
}

/// The text of seconds since 1970, with microseconds if there shall be any; `None` for the year 1 and for what no four
/// digits tell.
pub(crate) fn time_of(seconds: i64, micros: Option<i64>) -> Option<String> {
    const END: i64 = 253_402_300_800;
    if !(NEVER + 1..END).contains(&seconds) {
        return None;
    }
    let text = civil(seconds);
    Some(match micros {
        None => format!("{text}Z"),
        Some(micros) => format!("{text}.{:06}Z", micros.clamp(0, 999_999)),
    })
}

/// Seconds and microseconds since 1970 of a time that the server wrote.
pub(crate) fn seconds_of(text: &str) -> Option<(i64, u32)> {
    let parsed = parse(text, true).or_else(|_| parse(text, false));
    parsed.ok().flatten()
}

/// Seconds and microseconds since 1970.
fn parse(text: &str, micro: bool) -> Result<Option<(i64, u32)>, String> {
    let layout = if micro { MICRO_LAYOUT } else { LAYOUT };
    let mut parser = Parser {
        text,
        rest: text,
        layout,
    };
    let (year, month, day) = parser.date()?;
    parser.literal("T")?;
    let hour = parser.number("15", 1, "hour", 0..24)?;
    parser.literal(":")?;
    let minute = parser.number("04", 2, "minute", 0..60)?;
    parser.literal(":")?;
    let second = parser.number("05", 2, "second", 0..60)?;
    let micros = if micro {
        parser.micros()?
    } else {
        parser.fraction();
        0
    };
    let offset = parser.offset()?;
    if !parser.rest.is_empty() {
        let rest = quote(parser.rest);
        return Err(format!("parsing time {}: extra text: {rest}", quote(text)));
    }
    if day < 1 || day > days_in(year, month) {
        return Err(format!("parsing time {}: day out of range", quote(text)));
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    Ok((seconds != NEVER || micros != 0).then_some((seconds, micros)))
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    layout: &'static str,
}

impl Parser<'_> {
    fn bad(&self, wanted: &str) -> String {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(self.text),
            quote(self.layout),
            quote(self.rest),
            quote(wanted)
        )
    }

    fn date(&mut self) -> Result<(i64, i64, i64), String> {
        let year = self.rest.get(..4).filter(|year| all_digits(year));
        let year = year.ok_or_else(|| self.bad("2006"))?;
        let year = year.parse().map_err(|_| self.bad("2006"))?;
        self.rest = &self.rest[4..];
        self.literal("-")?;
        let month = self.number("01", 2, "month", 1..13)?;
        self.literal("-")?;
        // Which days there are is asked when all is read.
        let day = self.number("02", 2, "day", 0..100)?;
        Ok((year, month, day))
    }

    fn literal(&mut self, literal: &'static str) -> Result<(), String> {
        let rest = self.rest.strip_prefix(literal);
        self.rest = rest.ok_or_else(|| self.bad(literal))?;
        Ok(())
    }

    /// Two digits, or one where that is enough.
    fn number(
        &mut self,
        wanted: &str,
        least: usize,
        what: &str,
        range: std::ops::Range<i64>,
    ) -> Result<i64, String> {
        let digits = self.rest.bytes().take(2).take_while(u8::is_ascii_digit);
        let length = digits.count();
        if length < least {
            return Err(self.bad(wanted));
        }
        let (digits, rest) = self.rest.split_at(length);
        let number = digits.parse().map_err(|_| self.bad(wanted))?;
        self.rest = rest;
        if !range.contains(&number) {
            return Err(format!(
                "parsing time {}: {what} out of range",
                quote(self.text)
            ));
        }
        Ok(number)
    }

    /// A fraction that the layout does not have.
    fn fraction(&mut self) {
        if let Some(rest) = self.rest.strip_prefix(['.', ',']) {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                self.rest = &rest[digits..];
            }
        }
    }

    fn micros(&mut self) -> Result<u32, String> {
        let digits = self
            .rest
            .get(..7)
            .and_then(|part| part.strip_prefix(['.', ',']))
            .filter(|digits| all_digits(digits))
            .and_then(|digits| digits.parse().ok());
        let micros = digits.ok_or_else(|| self.bad(".000000"))?;
        self.rest = &self.rest[7..];
        Ok(micros)
    }

    /// Seconds east of UTC.
    fn offset(&mut self) -> Result<i64, String> {
        const WANTED: &str = "Z07:00";
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let zone = self.rest.get(..6).filter(|zone| {
            zone.starts_with(['+', '-'])
                && zone.as_bytes()[3] == b':'
                && all_digits(&zone[1..3])
                && all_digits(&zone[4..])
        });
        let zone = zone.ok_or_else(|| self.bad(WANTED))?;
        let hours: i64 = zone[1..3].parse().map_err(|_| self.bad(WANTED))?;
        let minutes: i64 = zone[4..].parse().map_err(|_| self.bad(WANTED))?;
        for (number, most, what) in [(hours, 24, "hour"), (minutes, 60, "minute")] {
            if number > most {
                return Err(format!(
                    "parsing time {}: time zone offset {what} out of range",
                    quote(self.text)
                ));
            }
        }
        let sign = if zone.starts_with('-') { -1 } else { 1 };
        self.rest = &self.rest[6..];
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Text in quotes, with what is no printable ASCII as hexadecimal bytes.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            ' '..='\u{7f}' => out.push(character),
            other => {
                let mut bytes = [0; 4];
                for byte in other.encode_utf8(&mut bytes).bytes() {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\x{byte:02x}");
                }
            }
        }
    }
    out.push('"');
    out
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970. Years are counted from March, so that the leap day is the last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Date and time of seconds since 1970.
fn civil(seconds: i64) -> String {
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn seconds() {
        for (text, expected) in [
            ("2020-02-29T00:00:00Z", Ok(Some("2020-02-29T00:00:00Z"))),
            (
                "2020-01-01T00:30:00+02:00",
                Ok(Some("2019-12-31T22:30:00Z")),
            ),
            ("1969-12-31T23:59:59.999Z", Ok(Some("1969-12-31T23:59:59Z"))),
            ("2020-01-01T1:00:00Z", Ok(Some("2020-01-01T01:00:00Z"))),
            ("0001-01-01T00:00:00Z", Ok(None)),
            ("2021-02-29T00:00:00Z", Err(": day out of range")),
            ("2020-13-01T00:00:00Z", Err(": month out of range")),
            ("2020-01-01T24:00:00Z", Err(": hour out of range")),
            (
                "2020-01-01T00:00:00+25:00",
                Err(": time zone offset hour out of range"),
            ),
            ("2020-01-01T00:00:00Zx", Err(": extra text: \"x\"")),
            (
                "2020-01-01 00:00:00Z",
                Err("cannot parse \" 00:00:00Z\" as \"T\""),
            ),
            (
                "2020-01-01T00:00:00",
                Err("cannot parse \"\" as \"Z07:00\""),
            ),
            ("", Err("cannot parse \"\" as \"2006\"")),
            ("é", Err("cannot parse \"\\xc3\\xa9\" as \"2006\"")),
        ] {
            match (time(text), expected) {
                (Ok(read), Ok(expected)) => assert_eq!(read.as_deref(), expected, "{text}"),
                (Err(read), Err(expected)) => assert!(read.ends_with(expected), "{read}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
    }

    #[test]
    fn six_digits_are_wanted() {
        for (text, expected) in [
            (
                "2020-01-01T00:00:00.000000Z",
                Ok("2020-01-01T00:00:00.000000Z"),
            ),
            (
                "2020-01-01T02:00:00.123456+02:00",
                Ok("2020-01-01T00:00:00.123456Z"),
            ),
            (
                "2020-01-01T00:00:00Z",
                Err("cannot parse \"Z\" as \".000000\""),
            ),
            (
                "2020-01-01T00:00:00.5Z",
                Err("cannot parse \".5Z\" as \".000000\""),
            ),
            (
                "2020-01-01T00:00:00.1234567Z",
                Err("cannot parse \"7Z\" as \"Z07:00\""),
            ),
            (
                "2020-01-01t00:00:00z",
                Err("cannot parse \"t00:00:00z\" as \"T\""),
            ),
            ("2020-01-01", Err("cannot parse \"\" as \"T\"")),
        ] {
            match (micro_time(text), expected) {
                (Ok(read), Ok(expected)) => assert_eq!(read.as_deref(), Some(expected)),
                (Err(read), Err(expected)) => assert!(read.ends_with(expected), "{read}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
        assert_eq!(micro_time("0001-01-01T00:00:00.000000Z"), Ok(None));
    }

    proptest! {
        #[test]
        fn dates_are_those_of_the_calendar(seconds in -62_135_596_799i64..253_402_300_800) {
            let text = format!("{}Z", civil(seconds));
            prop_assert_eq!(parse(&text, false), Ok(Some((seconds, 0))));
            prop_assert_eq!(time(&text), Ok(Some(text)));
        }

        #[test]
        fn never_panics(text in "[0-9TZ:.,+é-]{0,30}") {
            let _ = (time(&text), micro_time(&text));
        }
    }
}
