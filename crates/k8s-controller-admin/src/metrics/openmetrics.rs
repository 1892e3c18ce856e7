//! OpenMetrics 1.0, which the `prometheus` crate does not write.

use std::collections::HashSet;
use std::fmt::{self, Write};

use prometheus::proto::{Metric, MetricFamily, MetricType};

use super::number::canonical;
#[allow(unused_imports, reason = "used without prometheus' feature `protobuf`")]
use super::value::Value;

/// A name that OpenMetrics does not have.
#[derive(Debug, thiserror::Error)]
#[error("{what} {name:?} of metric {family:?} is not valid; expected {expected}")]
pub(crate) struct InvalidName {
    what: &'static str,
    name: String,
    family: String,
    expected: &'static str,
}

/// The text of all families that have metrics.
pub(super) fn encode(families: &[MetricFamily]) -> Result<String, InvalidName> {
    let families: Vec<&MetricFamily> = families
        .iter()
        .filter(|family| !family.get_metric().is_empty())
        .collect();
    let mut text = String::new();
    for (family, counter) in families.iter().zip(counters(&families)) {
        validate(family)?;
        let kind = match (family.get_field_type(), counter) {
            (MetricType::COUNTER, true) => Kind::Counter,
            // Of the untyped the caller has made sure that there are none.
            (MetricType::COUNTER | MetricType::UNTYPED, _) => Kind::Unknown,
            (MetricType::GAUGE, _) => Kind::Gauge,
            (MetricType::HISTOGRAM, _) => Kind::Histogram,
            (MetricType::SUMMARY, _) => Kind::Summary,
        };
        // Writing to a String does not fail.
        let _ = write_family(&mut text, family, kind);
    }
    text.push_str("# EOF\n");
    Ok(text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Unknown,
    Gauge,
    Histogram,
    Summary,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Unknown => "unknown",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Summary => "summary",
        }
    }

    /// What is appended to a family's name in the names that are its own.
    fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Counter => &["", "_total", "_created"],
            Self::Unknown | Self::Gauge => &[""],
            Self::Histogram => &["", "_bucket", "_sum", "_count", "_created"],
            Self::Summary => &["", "_sum", "_count", "_created"],
        }
    }
}

/// For each family, whether it can be called a counter.
///
/// A counter `x_total` is called `x` in OpenMetrics, and has `x_created` too. One that is not called so, or whose names
/// are another's, or that has gone down to a value that no counter has, is written as `unknown`, under its own name:
/// as the Go client does with the first.
fn counters(families: &[&MetricFamily]) -> Vec<bool> {
    let claim = |claimed: &mut HashSet<String>, name: &str, kind: Kind| {
        claimed.extend(
            kind.suffixes()
                .iter()
                .map(|suffix| format!("{name}{suffix}")),
        );
    };
    let mut claimed = HashSet::new();
    for family in families {
        match family.get_field_type() {
            MetricType::COUNTER => {}
            MetricType::HISTOGRAM => claim(&mut claimed, family.name(), Kind::Histogram),
            MetricType::SUMMARY => claim(&mut claimed, family.name(), Kind::Summary),
            MetricType::GAUGE | MetricType::UNTYPED => {
                claim(&mut claimed, family.name(), Kind::Gauge);
            }
        }
    }
    // Names of counters are claimed first as they are, for in doubt they keep them.
    let own: HashSet<&str> = families.iter().map(|family| family.name()).collect();
    families
        .iter()
        .map(|family| {
            let Some(base) = counter_base(family) else {
                return false;
            };
            let free = Kind::Counter.suffixes().iter().all(|suffix| {
                let name = format!("{base}{suffix}");
                !claimed.contains(&name) && (*suffix == "_total" || !own.contains(&*name))
            });
            if free {
                claim(&mut claimed, base, Kind::Counter);
            }
            free
        })
        .collect()
}

/// The name without `_total`, of a family that is a counter throughout.
fn counter_base(family: &MetricFamily) -> Option<&str> {
    if family.get_field_type() != MetricType::COUNTER {
        return None;
    }
    let counts = |metric: &Metric| metric.get_counter().value() >= 0.0;
    let base = family.name().strip_suffix("_total")?;
    (is_metric_name(base) && family.get_metric().iter().all(counts)).then_some(base)
}

fn write_family(text: &mut String, family: &MetricFamily, kind: Kind) -> fmt::Result {
    let name = match kind {
        Kind::Counter => counter_base(family).unwrap_or_else(|| family.name()),
        _ => family.name(),
    };
    writeln!(text, "# TYPE {name} {}", kind.as_str())?;
    if !family.help().is_empty() {
        writeln!(text, "# HELP {name} {}", escape(family.help()))?;
    }
    for metric in family.get_metric() {
        let mut samples = Samples { text, name, metric };
        match kind {
            Kind::Counter => {
                samples.write("_total", None, &canonical(metric.get_counter().value()))?;
            }
            Kind::Unknown => {
                samples.write("", None, &canonical(metric.get_counter().value()))?;
            }
            Kind::Gauge => samples.write("", None, &canonical(metric.get_gauge().value()))?,
            Kind::Histogram => samples.write_histogram()?,
            Kind::Summary => samples.write_summary()?,
        }
    }
    Ok(())
}

/// The samples of one metric.
struct Samples<'a> {
    text: &'a mut String,
    name: &'a str,
    metric: &'a Metric,
}

impl Samples<'_> {
    fn write_histogram(&mut self) -> fmt::Result {
        let histogram = self.metric.get_histogram();
        let count = histogram.get_sample_count().to_string();
        let mut negative = false;
        for bucket in histogram.get_bucket() {
            let bound = bucket.upper_bound();
            if bound == f64::INFINITY {
                continue;
            }
            negative |= bound < 0.0;
            let in_bucket = bucket.cumulative_count().to_string();
            self.write("_bucket", Some(("le", &canonical(bound))), &in_bucket)?;
        }
        self.write("_bucket", Some(("le", "+Inf")), &count)?;
        // A sum that can go down is no sum in OpenMetrics, and there is no count without a sum.
        let sum = histogram.get_sample_sum();
        if !negative && sum >= 0.0 {
            self.write("_count", None, &count)?;
            self.write("_sum", None, &canonical(sum))?;
        }
        Ok(())
    }

    fn write_summary(&mut self) -> fmt::Result {
        let summary = self.metric.get_summary();
        for quantile in summary.get_quantile() {
            let label = canonical(quantile.quantile());
            self.write("", Some(("quantile", &label)), &canonical(quantile.value()))?;
        }
        self.write("_count", None, &summary.sample_count().to_string())?;
        let sum = summary.sample_sum();
        if sum >= 0.0 {
            self.write("_sum", None, &canonical(sum))?;
        }
        Ok(())
    }

    fn write(&mut self, suffix: &str, label: Option<(&str, &str)>, value: &str) -> fmt::Result {
        let labels = self.metric.get_label();
        let labels = labels.iter().map(|label| (label.name(), label.value()));
        write!(self.text, "{}{suffix}", self.name)?;
        let mut before = '{';
        for (name, value) in labels.chain(label) {
            write!(self.text, "{before}{name}=\"{}\"", escape(value))?;
            before = ',';
        }
        if before == ',' {
            self.text.push('}');
        }
        write!(self.text, " {value}")?;
        let milliseconds = self.metric.timestamp_ms();
        if milliseconds != 0 {
            let sign = if milliseconds < 0 { "-" } else { "" };
            let milliseconds = milliseconds.unsigned_abs();
            let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
            write!(self.text, " {sign}{seconds}.{rest:03}")?;
        }
        self.text.push('\n');
        Ok(())
    }
}

/// Of help texts and values of labels alike.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A collector of one's own can make any family, and one line that cannot be read spoils the whole answer.
fn validate(family: &MetricFamily) -> Result<(), InvalidName> {
    let invalid = |what, name: &str, expected| InvalidName {
        what,
        name: name.to_owned(),
        family: family.name().to_owned(),
        expected,
    };
    if !is_metric_name(family.name()) {
        return Err(invalid(
            "the name",
            family.name(),
            "[a-zA-Z_:][a-zA-Z0-9_:]*",
        ));
    }
    for metric in family.get_metric() {
        let mut labels = HashSet::new();
        for label in metric.get_label() {
            let name = label.name();
            if !is_label_name(name) {
                return Err(invalid("the label", name, "[a-zA-Z_][a-zA-Z0-9_]*"));
            }
            if !labels.insert(name) {
                return Err(invalid("the label", name, "each label once"));
            }
        }
    }
    Ok(())
}

fn is_metric_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_' || b == b':')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':')
}

fn is_label_name(name: &str) -> bool {
    is_metric_name(name) && !name.contains(':')
}

#[cfg(test)]
mod tests;
