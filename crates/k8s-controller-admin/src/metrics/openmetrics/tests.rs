mod grammar;

use prometheus::core::Collector;
use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType, Quantile,
    Summary,
};
use prometheus::{
    Gauge as GaugeMetric, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec,
    Opts, Registry,
};
use proptest::prelude::*;

use super::{encode, escape};
use grammar::check;

fn family(name: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}

fn labels(pairs: &[(&str, &str)]) -> Metric {
    let pair = |(name, value): &(&str, &str)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    Metric::from_label(pairs.iter().map(pair).collect())
}

fn counter(value: f64) -> Metric {
    let mut counter = Counter::default();
    counter.set_value(value);
    let mut metric = labels(&[]);
    metric.set_counter(counter);
    metric
}

fn gauge(value: f64) -> Metric {
    let mut gauge = Gauge::default();
    gauge.set_value(value);
    Metric::from_gauge(gauge)
}

fn histogram(bounds: &[(f64, u64)], count: u64, sum: f64) -> Metric {
    let bucket = |&(bound, count): &(f64, u64)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound);
        bucket.set_cumulative_count(count);
        bucket
    };
    let mut histogram = Histogram::default();
    histogram.set_bucket(bounds.iter().map(bucket).collect());
    histogram.set_sample_count(count);
    histogram.set_sample_sum(sum);
    let mut metric = labels(&[]);
    metric.set_histogram(histogram);
    metric
}

/// What a registry makes of the metrics that controllers have.
fn registered() -> Vec<MetricFamily> {
    let registry = Registry::new();
    let add = |collector: Box<dyn Collector>| registry.register(collector).unwrap();
    let reconciles = IntCounterVec::new(
        Opts::new(
            "controller_runtime_reconcile_total",
            "Reconciliations \"by\" result\nand \\ controller",
        ),
        &["controller", "result"],
    )
    .unwrap();
    reconciles
        .with_label_values(&["website", "success"])
        .inc_by(12_345_678);
    reconciles.with_label_values(&["a\\b\"c\nd", "error"]).inc();
    add(Box::new(reconciles));
    let depth = IntGaugeVec::new(Opts::new("workqueue_depth", "Depth"), &["name"]).unwrap();
    depth.with_label_values(&["website"]).set(-3);
    depth.with_label_values(&["größe 🚢"]).set(0);
    add(Box::new(depth));
    let times = HistogramVec::new(
        HistogramOpts::new("controller_runtime_reconcile_time_seconds", "Time")
            .buckets(vec![5e-5, 0.005, 1.0, 60.0, 1e6]),
        &["controller"],
    )
    .unwrap();
    let time = times.with_label_values(&["website"]);
    for seconds in [0.001, 0.5, 61.0] {
        time.observe(seconds);
    }
    add(Box::new(times));
    let ratio = GaugeMetric::new("ratio", "Not a number").unwrap();
    ratio.set(f64::NAN);
    add(Box::new(ratio));
    add(Box::new(
        IntCounter::new("requests", "Not called _total").unwrap(),
    ));
    registry.gather()
}

/// Families as only a collector of one's own makes them.
fn handmade() -> Vec<MetricFamily> {
    let mut summary = Summary::default();
    summary.set_sample_count(3);
    summary.set_sample_sum(1.5);
    let quantile = |quantile, value| {
        let mut made = Quantile::default();
        made.set_quantile(quantile);
        made.set_value(value);
        made
    };
    summary.set_quantile(vec![quantile(0.5, 0.25), quantile(1.0, f64::INFINITY)]);
    let mut summarized = labels(&[("a", "b")]);
    summarized.set_summary(summary);
    let mut stamped = gauge(f64::NEG_INFINITY);
    stamped.set_timestamp_ms(1_700_000_000_012);
    vec![
        family("empty", MetricType::GAUGE, vec![]),
        // `x` is taken by a gauge, and `y_created` belongs to `y_total`.
        family("x", MetricType::GAUGE, vec![stamped]),
        family("x_total", MetricType::COUNTER, vec![counter(1.0)]),
        family("y_created_total", MetricType::COUNTER, vec![counter(1.0)]),
        family("y_total", MetricType::COUNTER, vec![counter(2.0)]),
        family("z_total", MetricType::COUNTER, vec![counter(3.0)]),
        family("z_total_total", MetricType::COUNTER, vec![counter(4.0)]),
        family("broken_total", MetricType::COUNTER, vec![counter(f64::NAN)]),
        family("_total", MetricType::COUNTER, vec![counter(f64::INFINITY)]),
        family(
            "inf_given",
            MetricType::HISTOGRAM,
            vec![histogram(&[(1.0, 1), (f64::INFINITY, 2)], 2, 3.0)],
        ),
        family(
            "below_zero",
            MetricType::HISTOGRAM,
            vec![histogram(&[(-1.0, 1), (0.0, 1)], 2, 3.0)],
        ),
        family(
            "sum_below_zero",
            MetricType::HISTOGRAM,
            vec![histogram(&[(1.0, 2)], 2, -3.0)],
        ),
        family("summarized", MetricType::SUMMARY, vec![summarized]),
    ]
}

#[test]
fn of_a_registry() {
    let text = encode(&registered()).unwrap();
    check(&text).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn of_handmade_families() {
    let text = encode(&handmade()).unwrap();
    check(&text).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn of_nothing() {
    assert_eq!(encode(&[]).unwrap(), "# EOF\n");
}

#[test]
fn invalid_names() {
    let labelled = |pairs: &[(&str, &str)]| family("m", MetricType::GAUGE, vec![labels(pairs)]);
    for (family, message) in [
        (
            family("", MetricType::GAUGE, vec![gauge(1.0)]),
            r#"the name "" of metric "" is not valid; expected [a-zA-Z_:][a-zA-Z0-9_:]*"#,
        ),
        (
            family("1m", MetricType::GAUGE, vec![gauge(1.0)]),
            r#"the name "1m" of metric "1m" is not valid; expected [a-zA-Z_:][a-zA-Z0-9_:]*"#,
        ),
        (
            family("a b", MetricType::COUNTER, vec![counter(1.0)]),
            r#"the name "a b" of metric "a b" is not valid; expected [a-zA-Z_:][a-zA-Z0-9_:]*"#,
        ),
        (
            labelled(&[("a:b", "")]),
            r#"the label "a:b" of metric "m" is not valid; expected [a-zA-Z_][a-zA-Z0-9_]*"#,
        ),
        (
            labelled(&[("a", "1"), ("a", "2")]),
            r#"the label "a" of metric "m" is not valid; expected each label once"#,
        ),
    ] {
        assert_eq!(encode(&[family]).unwrap_err().to_string(), message);
    }
}

/// `python3 -m pip install prometheus_client`; then `cargo test ... -- --ignored`.
#[test]
#[ignore = "needs python3 with the package prometheus_client"]
fn the_official_parser_reads_it() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = "import sys; from prometheus_client.openmetrics.parser import text_fd_to_metric_families as read; \
        [print(m.name, m.type, len(m.samples)) for m in read(sys.stdin)]";
    for families in [registered(), handmade(), vec![]] {
        let mut parser = Command::new(&python)
            .args(["-c", script])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let text = encode(&families).unwrap();
        let mut stdin = parser.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        assert!(parser.wait().unwrap().success(), "{text}");
    }
}

/// The grammar must be able to say no.
#[test]
fn the_grammar_is_strict() {
    for text in [
        "",
        "# EOF",
        "# EOF\n# EOF\n",
        "\n# EOF\n",
        "a 1.0\n# EOF\n",
        "# TYPE a gauge\na 1,0\n# EOF\n",
        "# TYPE a gauge\nb 1.0\n# EOF\n",
        "# TYPE a gauge\na 1.0\n# TYPE a gauge\na 2.0\n# EOF\n",
        "# TYPE a gauge\na{b=\"c} 1.0\n# EOF\n",
        "# TYPE a gauge\na{b=\"\\x\"} 1.0\n# EOF\n",
        "# TYPE a gauge\n# HELP a say \"it\"\na 1.0\n# EOF\n",
        "# TYPE a gauge\na{} 1.0\n# EOF\n",
        "# TYPE a counter\na 1.0\n# EOF\n",
        "# TYPE a counter\na_total NaN\n# EOF\n",
        "# TYPE a counter\na_total 1.0\n# TYPE a_total gauge\na_total 1.0\n# EOF\n",
        "# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 1\n# EOF\n",
        "# TYPE a histogram\na_bucket{le=\"1.0\"} 1\n# EOF\n",
        "# TYPE a histogram\na_bucket{le=\"1.0\"} 2\na_bucket{le=\"+Inf\"} 1\n# EOF\n",
        "# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_count 2\na_sum 1.0\n# EOF\n",
    ] {
        assert!(check(text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_escaped(text in any::<String>()) {
        let escaped = escape(&text);
        prop_assert!(!escaped.contains('\n'));
        prop_assert_eq!(grammar::unescape(&escaped).unwrap(), text);
    }

    #[test]
    fn any_values_are_read_back(
        label in any::<String>(),
        help in any::<String>(),
        value in any::<f64>(),
        count in any::<u32>(),
        bounds in proptest::collection::btree_set(-1000i32..1_000_000_000, 0..6),
    ) {
        let mut metric = gauge(value);
        metric.set_label(labels(&[("l", &label)]).get_label().to_vec());
        let mut measured = family("g", MetricType::GAUGE, vec![metric]);
        measured.set_help(help);
        let bounds: Vec<_> = bounds.into_iter().map(|bound| (f64::from(bound) / 1000.0, u64::from(count))).collect();
        let families = [
            measured,
            family("c_total", MetricType::COUNTER, vec![counter(value)]),
            family("h", MetricType::HISTOGRAM, vec![histogram(&bounds, u64::from(count), value)]),
        ];
        let text = encode(&families).unwrap();
        let samples = check(&text).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&samples[0].labels, &[("l".to_owned(), label)]);
        prop_assert!(samples[0].value.total_cmp(&value).is_eq() || value.is_nan() && samples[0].value.is_nan());
    }
}
