//! The Grafana dashboard shows what is exported, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use prometheus::proto::MetricType;
use serde_json::Value;

use crate::everything::{self, PREFIX};
use crate::labels;

/// Labels that Prometheus puts on what it scrapes.
const TARGET_LABELS: [&str; 4] = ["job", "namespace", "pod", "instance"];

pub(crate) fn dashboard() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../dashboards/k8s-controller.json"
    );
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The expressions of all panels, with values for Grafana's variables; by panel and target.
pub(crate) fn expressions(dashboard: &Value) -> BTreeMap<String, String> {
    let mut expressions = BTreeMap::new();
    for panel in array(&dashboard["panels"]) {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expr = target["expr"].as_str().unwrap();
            let what = format!("{} {}", panel["title"], target["refId"]);
            let expr = expr
                .replace("$__rate_interval", "1m")
                .replace("${prefix}", PREFIX);
            let expr = ["$job", "$namespace", "$controller"]
                .iter()
                .fold(expr, |expr, variable| expr.replace(variable, ".*"));
            assert!(
                !expr.contains('$'),
                "{what} uses an unknown variable: {expr}"
            );
            assert!(expressions.insert(what, expr).is_none(), "{panel}");
        }
    }
    expressions
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap().iter()
}

/// The names that an expression may use, with what a histogram makes of its own; and their labels.
async fn exported() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut exported = BTreeMap::new();
    for family in everything::registry().await.gather() {
        let name = family.name().to_owned();
        let names: BTreeSet<_> = family
            .get_metric()
            .iter()
            .flat_map(|m| labels(m).into_keys())
            .collect();
        if family.get_field_type() == MetricType::HISTOGRAM {
            for suffix in ["_bucket", "_sum", "_count"] {
                let le = (suffix == "_bucket").then(|| "le".to_owned());
                let names = names.iter().cloned().chain(le).collect();
                exported.insert(format!("{name}{suffix}"), (name.clone(), names));
            }
        } else {
            exported.insert(name.clone(), (name, names));
        }
    }
    exported
}

/// A part of an expression: a word, a quoted text, or one other character.
#[derive(Debug, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Text,
    Sign(char),
}

fn tokens(expr: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = expr.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.');
        let length = match first {
            '"' => rest[1..].find('"').unwrap() + 2,
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(match first {
            '"' => Token::Text,
            c if is_word(c) => Token::Word(token),
            c => Token::Sign(c),
        });
        rest = after.trim_start();
    }
    tokens
}

/// The metrics of an expression, each with the labels that it is selected by; and the labels that
/// the expression groups by.
fn uses(expr: &str) -> (Vec<(&str, Vec<&str>)>, Vec<&str>) {
    let tokens = tokens(expr);
    let mut metrics: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut groups = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let end = |close| {
            i + tokens[i..]
                .iter()
                .position(|t| *t == Token::Sign(close))
                .unwrap()
        };
        match (&tokens[i], tokens.get(i + 1)) {
            (Token::Word("by"), Some(Token::Sign('('))) => {
                let close = end(')');
                groups.extend(words(&tokens[i + 2..close]));
                i = close;
            }
            (Token::Word(metric), Some(Token::Sign('{'))) => {
                let close = end('}');
                metrics.push((metric, words(&tokens[i + 2..close])));
                i = close;
            }
            _ => {}
        }
        i += 1;
    }
    (metrics, groups)
}

fn words<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let word = |token: &Token<'a>| match token {
        Token::Word(word) => Some(*word),
        _ => None,
    };
    tokens.iter().filter_map(word).collect()
}

#[tokio::test]
async fn panels_use_metrics_and_labels_that_are_exported_and_miss_none() {
    let exported = exported().await;
    let mut missing: BTreeSet<_> = exported
        .values()
        .map(|(family, _)| family.clone())
        .collect();
    let dashboard = dashboard();
    for (panel, expr) in expressions(&dashboard) {
        let (metrics, groups) = uses(&expr);
        assert!(!metrics.is_empty(), "{panel}: {expr}");
        for (metric, selected_by) in metrics {
            let (family, labels) = exported
                .get(metric)
                .unwrap_or_else(|| panic!("{panel}: {metric} is not exported: {expr}"));
            missing.remove(family);
            for label in selected_by.iter().chain(&groups) {
                let known = labels.contains(*label) || TARGET_LABELS.contains(label);
                assert!(known, "{panel}: {metric} has no label {label}: {expr}");
            }
        }
    }
    assert!(missing.is_empty(), "on no panel: {missing:?}");
}

#[test]
fn legends_name_labels_that_their_expression_keeps() {
    for panel in array(&dashboard()["panels"]) {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expr = target["expr"].as_str().unwrap();
            let (_, groups) = uses(expr);
            let legend = target["legendFormat"].as_str().unwrap();
            for label in legend.split("{{").skip(1) {
                let label = label.split("}}").next().unwrap();
                assert!(groups.contains(&label), "{legend}: {expr}");
            }
        }
    }
}

#[test]
fn variables_and_panels_are_whole() {
    let dashboard = dashboard();
    let names: Vec<_> = array(&dashboard["templating"]["list"])
        .map(|v| v["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["datasource", "job", "namespace", "controller", "prefix"]
    );

    let mut ids = BTreeSet::new();
    let mut cells = BTreeSet::new();
    for panel in array(&dashboard["panels"]) {
        assert!(
            ids.insert(panel["id"].as_u64().unwrap()),
            "{}",
            panel["title"]
        );
        let at = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        for x in at("x")..at("x") + at("w") {
            assert!(x < 24, "{}", panel["title"]);
            for y in at("y")..at("y") + at("h") {
                assert!(cells.insert((x, y)), "{} lies on another", panel["title"]);
            }
        }
        if panel["type"] != "row" {
            assert_eq!(
                panel["datasource"]["uid"], "${datasource}",
                "{}",
                panel["title"]
            );
            assert!(
                !panel["description"].as_str().unwrap().is_empty(),
                "{}",
                panel["title"]
            );
        }
    }
}

/// The check itself sees what it is for.
#[test]
fn uses_are_found() {
    let expr = r#"sum by (a, le) (rate(m_bucket{job=~".*",x!="a}b"}[1m])) / n{} + max(o{y="z"})"#;
    let (metrics, groups) = uses(expr);
    let expected = [
        ("m_bucket", vec!["job", "x"]),
        ("n", vec![]),
        ("o", vec!["y"]),
    ];
    assert_eq!(metrics, expected);
    assert_eq!(groups, ["a", "le"]);
}
