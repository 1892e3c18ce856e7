//! Rules that are too deep, too long or too dear: refused or ended as on a real server.

use k8s_custom_schema::{CustomSchema, Metadata, check_schema};
use serde_json::{Value, json};

const METADATA: Metadata = Metadata {
    read: |value| Ok((value.clone(), Vec::new())),
    check: |_, _| Vec::new(),
};

fn schema(rules: &[&str]) -> Value {
    let rules: Vec<Value> = rules.iter().map(|rule| json!({"rule": rule})).collect();
    json!({"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-validations": rules, "properties": {
        "s": {"type": "string"}, "l": {"type": "array", "items": {"type": "integer"}},
    }}}})
}

/// What is wrong with the definition of a rule.
fn refused(rule: &str) -> String {
    let found = check_schema("v1", &schema(&[rule]), false);
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

fn found(rules: &[&str], spec: &Value) -> Vec<String> {
    let found = CustomSchema::new(&schema(rules)).check(&json!({"spec": spec}), &METADATA, &[]);
    found.errors.iter().map(ToString::to_string).collect()
}

fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

#[test]
fn depth_and_length_of_expressions() {
    const NESTED: &str = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
    const DEEP: &str = "ERROR: <input>:-1:0: max recursion depth exceeded";
    let sum = |terms: usize| format!("{} > 0", vec!["1"; terms].join("+"));
    let long = |letters: usize| format!("'{}' == self.s", "a".repeat(letters));
    for (rule, why) in [
        (nested("(", "true", ")", 249), ""),
        (nested("(", "true", ")", 250), NESTED),
        (nested("(", "true", ")", 30_000), NESTED),
        (nested("{'a': ", "1", "}", 5_000), NESTED),
        (sum(250), ""),
        (sum(251), DEEP),
        (sum(40_000), DEEP),
        (format!("self{} == ''", ".s".repeat(30_000)), DEEP),
        (format!("{}true", "!".repeat(1_000)), ""),
        (format!("{}1 < 2", "-".repeat(1_000)), ""),
        (vec!["true"; 2_000].join(" && "), ""),
        (long(99_000), ""),
        (
            long(200_000),
            "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 200012, limit 100000",
        ),
    ] {
        let told = refused(&rule);
        let shown: String = rule.chars().take(20).collect();
        let end: String = told
            .chars()
            .rev()
            .take(300)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        if why.is_empty() {
            assert!(told.is_empty(), "{shown}: {end}");
        } else {
            assert!(
                told.ends_with(&format!("compilation failed: {why}")),
                "{shown}: {end}"
            );
        }
    }
}

#[test]
fn what_a_rule_may_cost() {
    let list = |length: usize| json!({"l": vec![5; length], "s": "a".repeat(length)});
    let exceeded = |rule: &str| {
        vec![format!(
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation \
             rules will be run due to call cost exceeds limit for rule: {rule}"
        )]
    };
    let squared = "self.l.all(a, self.l.all(b, a+b >= 0))";
    for (rule, length, ends) in [
        (squared, 350, false),
        (squared, 400, true),
        // No operand makes up for it.
        ("self.l.all(a, self.l.all(b, a+b >= 0)) || true", 400, true),
        (
            "self.l.exists(a, self.l.exists(b, self.l.exists(c, a+b+c < 0))) || true",
            1_000,
            true,
        ),
        ("self.l.all(a, self.s.matches('^(a+)+$'))", 1_000, false),
        ("self.l.map(a, self.s).join('').size() > 0", 10_000, true),
        (
            "self.s.replace('', self.s).replace('', self.s).size() > 0",
            10_000,
            true,
        ),
    ] {
        let expected = if ends { exceeded(rule) } else { Vec::new() };
        assert_eq!(
            found(&[rule, "true"], &list(length)),
            expected,
            "{rule} {length}"
        );
    }
    let dear = "self.l.all(a, self.l.all(b, a+b >= 0))";
    let eleven = vec![dear; 15];
    assert_eq!(
        found(&eleven, &list(350)),
        [
            "spec: Invalid value: \"object\": validation failed due to running out of cost budget, no further validation \
          rules will be run"
        ]
    );
}

#[test]
fn decimal_places_have_an_end() {
    let why =
        "spec: Invalid value: \"object\": invalid precision in format string evaluating rule: ";
    for places in ["70000", "99999999999999999999999"] {
        let rule = format!("'%.{places}f'.format([1.0]) != ''");
        assert_eq!(found(&[&rule], &json!({"s": ""})), [format!("{why}{rule}")]);
    }
}

#[test]
fn texts_that_no_function_can_read() {
    for (rule, column, why) in [
        ("self.s.matches('(a')", 16, "invalid matches argument"),
        (
            "self.l.all(x, 'a'.matches('a{1001}'))",
            27,
            "invalid matches argument",
        ),
        (
            "duration('x') > duration('1s')",
            10,
            "invalid duration argument",
        ),
        (
            "timestamp('x') > timestamp(self.s)",
            11,
            "invalid timestamp argument",
        ),
    ] {
        let place = format!("compilation failed: ERROR: <input>:1:{column}: {why}\n | {rule}\n");
        assert!(refused(rule).contains(&place), "{rule}: {}", refused(rule));
    }
    assert_eq!(
        refused("duration('1h2m') > duration(self.s) && self.s.matches('\\\\p{L}')"),
        ""
    );
}
