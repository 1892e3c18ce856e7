//! What promtool, Prometheus' own tool, says of the text and of the dashboard's expressions.
//!
//! It is run by the path in `K8S_CONTROLLER_PROMTOOL`, which `cargo xtask` sets.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::dashboard::{dashboard, expressions};
use crate::everything;

/// promtool's answer to this input; none if there is no promtool.
fn promtool(arguments: &[&str], input: &str) -> Option<Output> {
    let Some(program) = std::env::var_os("K8S_CONTROLLER_PROMTOOL") else {
        eprintln!("SKIPPED: K8S_CONTROLLER_PROMTOOL is not set; `cargo xtask ci test` sets it");
        return None;
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    Some(child.wait_with_output().unwrap())
}

fn said(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    texts.concat()
}

#[tokio::test]
async fn the_text_is_accepted_without_a_complaint() {
    let text = crate::text(&everything::registry().await);
    if let Some(output) = promtool(&["check", "metrics"], &text) {
        assert_eq!(said(&output), "");
        assert!(output.status.success());
    }
}

#[test]
fn complaints_are_seen() {
    let text = "# TYPE requests counter\nrequests 1\n";
    if let Some(output) = promtool(&["check", "metrics"], text) {
        assert!(said(&output).contains("_total"), "{}", said(&output));
        assert!(!output.status.success());
    }
}

#[test]
fn the_expressions_of_the_dashboard_are_accepted() {
    let mut rules = String::from("groups:\n- name: dashboard\n  rules:\n");
    let expressions = expressions(&dashboard());
    for (i, expr) in expressions.values().enumerate() {
        let expr = expr.replace('\'', "''");
        writeln!(rules, "  - record: dashboard:{i}\n    expr: '{expr}'").unwrap();
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("dashboard-rules.yaml");
    std::fs::write(&path, rules).unwrap();
    if let Some(output) = promtool(&["check", "rules", path.to_str().unwrap()], "") {
        assert!(output.status.success(), "{}", said(&output));
        let found = format!("{} rules found", expressions.len());
        assert!(said(&output).contains(&found), "{}", said(&output));
    }
}
