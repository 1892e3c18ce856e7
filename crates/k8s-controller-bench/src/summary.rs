//! The table of ratios at the end of a benchmark.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Which of many measurements of a case stands for it: the one that a tenth of them is faster
/// than. Other work on the machine only ever adds time, for seconds on end, so that a mean or a
/// median of two cases would compare how busy the machine was.
const STANDS_FOR_ALL: f64 = 0.1;

/// The measurements of all cases of a benchmark.
#[derive(Debug, Default)]
pub struct Samples(RefCell<BTreeMap<String, Vec<f64>>>);

impl Samples {
    /// Notes how long `times` operations of a case took.
    pub fn add(&self, case: &str, times: usize, elapsed: Duration) {
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let each = elapsed.as_secs_f64() / times as f64;
        self.0
            .borrow_mut()
            .entry(case.to_owned())
            .or_default()
            .push(each);
    }

    /// The seconds of one operation; none if the case did not run.
    #[must_use]
    pub fn seconds(&self, case: &str) -> Option<f64> {
        let mut all = self.0.borrow().get(case)?.clone();
        all.sort_unstable_by(f64::total_cmp);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "an index from a fraction of a length"
        )]
        let index = (all.len() as f64 * STANDS_FOR_ALL) as usize;
        all.get(index).copied()
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The case.
    pub case: String,
    /// What it is compared with.
    pub base: String,
    /// The ratio that is wanted at most; none where it is only shown.
    pub target: Option<f64>,
}

/// The table; empty if no case ran. `time` says how to write the seconds of one operation.
#[must_use]
pub fn table(samples: &Samples, rows: &[Row], time: impl Fn(f64) -> String) -> String {
    let mut out = String::new();
    for row in rows {
        let Some(seconds) = samples.seconds(&row.case) else {
            continue;
        };
        if out.is_empty() {
            head(&mut out);
        }
        let ratio = samples.seconds(&row.base).map(|base| seconds / base);
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{:<44} {:>18} {:>8}   {}",
            row.case,
            time(seconds),
            ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            verdict(ratio, row.target)
        );
    }
    out
}

fn head(out: &mut String) {
    let _ = writeln!(out, "\n{:<44} {:>18} {:>8}   target", "case", "", "ratio");
}

fn verdict(ratio: Option<f64>, target: Option<f64>) -> String {
    match (ratio, target) {
        (Some(ratio), Some(target)) => {
            let word = if ratio <= target { "met" } else { "MISSED" };
            format!("{target} {word}")
        }
        (None, Some(target)) => format!("{target} (not compared)"),
        (_, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples {
        let samples = Samples::default();
        for (case, seconds) in [("base", 2), ("good", 2), ("bad", 4)] {
            for busy in 0..20 {
                samples.add(case, 1, Duration::from_secs(seconds + busy));
            }
        }
        samples
    }

    #[test]
    fn a_busy_machine_does_not_count() {
        assert_eq!(samples().seconds("base"), Some(4.0));
        assert_eq!(samples().seconds("other"), None);
    }

    #[test]
    fn ratios_are_held_against_targets() {
        let row = |case: &str, base: &str, target| Row {
            case: case.to_owned(),
            base: base.to_owned(),
            target,
        };
        let rows = [
            row("base", "base", None),
            row("good", "base", Some(1.3)),
            row("bad", "base", Some(1.3)),
            row("bad", "other", Some(1.3)),
            row("other", "base", Some(1.3)),
        ];
        let table = table(&samples(), &rows, |seconds| format!("{seconds} s"));
        let lines: Vec<_> = table.lines().skip(1).map(words).collect();
        assert_eq!(
            lines,
            [
                "case ratio target",
                "base 4 s 1.00",
                "good 4 s 1.00 1.3 met",
                "bad 6 s 1.50 1.3 MISSED",
                "bad 6 s - 1.3 (not compared)",
            ]
        );
    }

    #[test]
    fn nothing_ran() {
        assert_eq!(table(&Samples::default(), &[], |_| String::new()), "");
    }

    fn words(line: &str) -> String {
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
