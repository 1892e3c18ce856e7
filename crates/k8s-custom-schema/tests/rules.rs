//! Rules of schemas, through the public interface: what they find, and what of them is refused.

use k8s_custom_schema::{CustomSchema, Metadata, Part, check_schema};
use proptest::prelude::*;
use serde_json::{Value, json};

const METADATA: Metadata = Metadata {
    read: |value| Ok((value.clone(), Vec::new())),
    check: |_, _| Vec::new(),
};

fn schema(spec: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}

fn found(schema: &Value, object: &Value) -> Vec<String> {
    let found = CustomSchema::new(schema).check(object, &METADATA, &[]);
    found.errors.iter().map(ToString::to_string).collect()
}

/// The rule holds for the object, given the types of its fields.
fn holds(rule: &str, spec: &Value) -> Vec<String> {
    let fields = json!({
        "i": {"type": "integer"}, "d": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
        "t": {"type": "string", "format": "date-time"}, "u": {"type": "string", "format": "duration"},
        "l": {"type": "array", "items": {"type": "integer"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
            "type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "p": {"x-kubernetes-int-or-string": true},
        "a-b": {"type": "integer"}, "namespace": {"type": "string"},
    });
    let spec_schema = json!({"type": "object", "properties": fields, "x-kubernetes-validations": [{"rule": rule, "message": "no"}]});
    found(&schema(&spec_schema), &json!({"spec": spec}))
}

#[test]
fn rules_that_hold() {
    for (rule, spec) in [
        (
            "self.i + 1 == 3 && self.d / 2.0 > 0.5",
            json!({"i": 2, "d": 2}),
        ),
        ("has(self.i) && !has(self.s)", json!({"i": 1})),
        (
            "self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x == 1)",
            json!({"l": [1, 2]}),
        ),
        (
            "self.l.map(x, x * 2) == [2, 4] && self.l.filter(x, x > 1) == [2]",
            json!({"l": [1, 2]}),
        ),
        ("self.l.all(i, v, v == i + 1)", json!({"l": [1, 2]})),
        (
            "self.l.transformList(i, v, v - i) == [1, 1]",
            json!({"l": [1, 2]}),
        ),
        (
            "self.m.all(k, self.m[k] > 0) && 'a' in self.m && self.m.size() == 1",
            json!({"m": {"a": 1}}),
        ),
        (
            "self.set == ['b', 'a'] && (self.set + ['a', 'c']).size() == 3",
            json!({"set": ["a", "b"]}),
        ),
        (
            "(self.keyed + self.keyed).size() == 1 && self.keyed + self.keyed == self.keyed",
            json!({"keyed": [{"k": "x", "v": 1}]}),
        ),
        (
            "type(self.p) == int ? self.p < 5 : self.p.endsWith('%')",
            json!({"p": "5%"}),
        ),
        ("type(self.p) == string || self.p == 3", json!({"p": 3})),
        (
            "self.a__dash__b == 1 && self.__namespace__ == 'x'",
            json!({"a-b": 1, "namespace": "x"}),
        ),
        (
            "self.t > timestamp('2020-01-01T00:00:00Z') && self.t.getFullYear() == 2021",
            json!({"t": "2021-05-01T00:00:00Z"}),
        ),
        (
            "self.u < duration('1h') && self.u.getMinutes() == 30",
            json!({"u": "30m"}),
        ),
        (
            "self.s.matches('^[a-z]+$') && self.s.upperAscii() == 'ABC' && self.s.substring(1) == 'bc'",
            json!({"s": "abc"}),
        ),
        ("self.s.split(',').join('-') == 'a-b'", json!({"s": "a,b"})),
        (
            "self.l.sum() == 6 && self.l.isSorted() && self.l.max() == 3",
            json!({"l": [1, 2, 3]}),
        ),
        (
            "quantity(self.s).isLessThan(quantity('1Gi')) && isQuantity('1')",
            json!({"s": "500Mi"}),
        ),
        (
            "url(self.s).getHost() == 'a.b'",
            json!({"s": "https://a.b/c"}),
        ),
        (
            "ip(self.s).family() == 4 && cidr('10.0.0.0/8').containsIP(self.s)",
            json!({"s": "10.1.1.1"}),
        ),
        ("semver(self.s).major() == 1", json!({"s": "1.2.3"})),
        (
            "!format.named('dns1123Label').value().validate(self.s).hasValue()",
            json!({"s": "ok"}),
        ),
        ("sets.contains(self.set, ['a'])", json!({"set": ["a", "b"]})),
        ("self.?s.orValue('none') == 'none'", json!({})),
        ("cel.bind(x, self.i, x + x) == 4", json!({"i": 2})),
        ("self.i == 0 || 10 / self.i > 0", json!({"i": 0})),
        (
            "'%s-%d'.format([self.s, self.i]) == 'a-1'",
            json!({"s": "a", "i": 1}),
        ),
        (
            "self.s.find('[0-9]+') == '12' && self.s.findAll('[a-z]') == ['a', 'b']",
            json!({"s": "a12b"}),
        ),
        ("1 == self.d || 1.0 == self.d", json!({"d": 1})),
    ] {
        let expected: &[&str] = if rule.starts_with("1 == self.d") {
            // A literal of another type does not compile.
            &["found no matching overload"]
        } else {
            &[]
        };
        let got = holds(rule, &spec);
        assert_eq!(got.len(), expected.len(), "{rule}: {got:?}");
    }
}

#[test]
fn texts_of_failures() {
    for (rule, spec, expected) in [
        ("self.i > 1", json!({"i": 1}), "spec: Invalid value: no"),
        (
            "self.l[3] == 1",
            json!({"l": []}),
            "spec: Invalid value: \"object\": index out of bounds: 3 evaluating rule: no",
        ),
        (
            "self.m['x'] == 1",
            json!({"m": {}}),
            "spec: Invalid value: \"object\": no such key: x evaluating rule: no",
        ),
        (
            "self.s == 'a'",
            json!({}),
            "spec: Invalid value: \"object\": no such key: s evaluating rule: no",
        ),
        (
            "10 / self.i > 0",
            json!({"i": 0}),
            "spec: Invalid value: \"object\": division by zero evaluating rule: no",
        ),
        (
            "self.p < 5",
            json!({"p": "x"}),
            "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: no",
        ),
        (
            "int(self.s) > 0",
            json!({"s": "x"}),
            "spec: Invalid value: \"object\": type conversion error from 'string' to 'int' evaluating rule: no",
        ),
    ] {
        assert_eq!(holds(rule, &spec), [expected], "{rule}");
    }
}

fn refused(spec: &Value) -> Vec<String> {
    let errors = check_schema("s", &schema(spec), false);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn rules_that_are_refused() {
    let value = |rule: &str| {
        let rule = rule.replace('>', "\\u003e").replace('&', "\\u0026");
        format!(
            "{{\"Rule\":\"{rule}\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}}"
        )
    };
    for (rule, expected) in [
        (
            "self.y > 1",
            "compilation failed: ERROR: <input>:1:5: undefined field 'y'\n | self.y > 1\n | ....^",
        ),
        ("self.x + 1", "cel expression must evaluate to a bool"),
        (
            "self.x >",
            "compilation failed: ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self.x >\n | ........^",
        ),
        (
            "self.x > 'a'",
            "compilation failed: ERROR: <input>:1:8: found no matching overload for '_>_' applied to '(int, string)'\n | self.x > 'a'\n | .......^",
        ),
        (
            "[self.s, self.x].size() == 2",
            "compilation failed: ERROR: <input>:1:14: expected type 'string' but found 'int'\n | [self.s, self.x].size() == 2\n | .............^",
        ),
        (
            "self.x == 1.0",
            "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, double)'\n | self.x == 1.0\n | .......^",
        ),
        (
            "has(self.z)",
            "compilation failed: ERROR: <input>:1:4: undefined field 'z'\n | has(self.z)\n | ...^",
        ),
        (
            "self.x ? true : false",
            "compilation failed: ERROR: <input>:1:8: found no matching overload for '_?_:_' applied to '(int, bool, bool)'\n | self.x ? true : false\n | .......^",
        ),
        (
            "self.x && true",
            "compilation failed: ERROR: <input>:1:5: expected type 'bool' but found 'int'\n | self.x && true\n | ....^",
        ),
        (
            "foo(self.x)",
            "compilation failed: ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')\n | foo(self.x)\n | ...^",
        ),
        (
            "self.x == y",
            "compilation failed: ERROR: <input>:1:11: undeclared reference to 'y' (in container '')\n | self.x == y\n | ..........^",
        ),
    ] {
        let spec = json!({"type": "object", "properties": {"x": {"type": "integer"}, "s": {"type": "string"}}, "x-kubernetes-validations": [{"rule": rule}]});
        let path = "s.properties[spec].x-kubernetes-validations[0].rule";
        assert_eq!(
            refused(&spec),
            [format!(
                "{path}: Invalid value: {}: {expected}",
                value(rule)
            )]
        );
    }
}

#[test]
fn transitions_and_what_may_stay() {
    let of = |rule: Value| {
        CustomSchema::new(&schema(&json!({"type": "object", "properties": {
            "x": {"type": "integer", "x-kubernetes-validations": [rule]}, "y": {"type": "string", "maxLength": 1},
        }})))
    };
    let texts = |schema: &CustomSchema, new: Value, old: Value| {
        let found = schema.check_update(&new, &old, Part::Whole, &METADATA, &[]);
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        (errors, found.warnings)
    };
    let at = |x: i64, y: &str| json!({"spec": {"x": x, "y": y}});
    let grows = of(json!({"rule": "self >= oldSelf", "message": "grow"}));
    assert_eq!(
        texts(&grows, at(1, "a"), at(2, "a")).0,
        ["spec.x: Invalid value: 1: grow"]
    );
    assert_eq!(texts(&grows, at(3, "a"), json!({})), (vec![], vec![]));
    let small = of(json!({"rule": "self < 5"}));
    let failure = "spec.x: Invalid value: 9: failed rule: self < 5".to_owned();
    assert_eq!(
        texts(&small, at(9, "b"), at(9, "a")),
        (vec![], vec![failure.clone()])
    );
    assert_eq!(
        texts(&small, at(9, "b"), at(8, "a")),
        (vec![failure], vec![])
    );
    // A value that was too long may stay so.
    assert_eq!(
        texts(&small, at(1, "long"), at(2, "long")),
        (vec![], vec![])
    );
    let first = of(
        json!({"rule": "oldSelf.hasValue() ? self >= oldSelf.value() : self == 1", "optionalOldSelf": true, "message": "one"}),
    );
    assert_eq!(
        found_in(&first, &at(2, "a")),
        ["spec.x: Invalid value: 2: one"]
    );
    assert_eq!(texts(&first, at(3, "a"), at(2, "a")).0, [""; 0]);
}

fn found_in(schema: &CustomSchema, object: &Value) -> Vec<String> {
    let found = schema.check(object, &METADATA, &[]);
    found.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn values_that_are_too_wrong_skip_rules() {
    let spec = json!({"type": "object", "properties": {"x": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": "self.x > 1"}]});
    assert_eq!(
        found(&schema(&spec), &json!({"spec": {"x": "a"}})),
        [
            "spec.x: Invalid value: \"string\": spec.x in body must be of type integer: \"string\"",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
        ]
    );
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z]{0,4}".prop_map(Value::from),
    ];
    let keys = "(a|b|type|properties|items|required|enum|format|default|x-kubernetes-list-type|x-kubernetes-validations|rule|additionalProperties|anyOf|not|pattern)";
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_and_no_object_panics(schema in json_value(), object in json_value()) {
        let _ = check_schema("s", &schema, true);
        let custom = CustomSchema::new(&schema);
        let mut once = object.clone();
        custom.prune(&mut once);
        custom.drop_nulls(&mut once);
        custom.default(&mut once);
        let _ = custom.check(&object, &METADATA, &[]);
        let _ = custom.check_update(&object, &once, Part::Whole, &METADATA, &[]);
        let mut pruned = object.clone();
        custom.prune(&mut pruned);
        let mut again = pruned.clone();
        prop_assert!(custom.prune(&mut again).is_empty());
        prop_assert_eq!(again, pruned);
    }

    #[test]
    fn any_text_is_a_rule_or_an_error(rule in "\\PC{0,40}") {
        let spec = json!({"type": "object", "properties": {"x": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": rule}]});
        let _ = check_schema("s", &schema(&spec), false);
        let _ = found(&schema(&spec), &json!({"spec": {"x": 1}}));
    }
}
