//! The row of a Service.

use serde_json::{Value, json};

use crate::table::cells::{Row, or_none, pairs};

pub(super) fn row(row: &Row<'_>) -> Vec<Value> {
    let join = |pointer: &str| {
        let texts: Vec<&str> = row.list(pointer).iter().filter_map(Value::as_str).collect();
        texts.join(",")
    };
    let ports: Vec<String> = row
        .list("/spec/ports")
        .iter()
        .map(|port| {
            let number = |field: &str| port.get(field).and_then(Value::as_i64).unwrap_or(0);
            let protocol = port
                .get("protocol")
                .and_then(Value::as_str)
                .unwrap_or("TCP");
            match number("nodePort") {
                0 => format!("{}/{protocol}", number("port")),
                node => format!("{}:{node}/{protocol}", number("port")),
            }
        })
        .collect();
    let external = match row.text("/spec/type") {
        "ExternalName" => row.text("/spec/externalName").to_owned(),
        "LoadBalancer" if row.list("/spec/externalIPs").is_empty() => "<pending>".into(),
        _ => or_none(join("/spec/externalIPs")),
    };
    let labels: Vec<String> = pairs(row.object.pointer("/spec/selector"));
    vec![
        row.name(),
        row.cell("/spec/type"),
        json!(or_none(row.text("/spec/clusterIP").to_owned())),
        json!(external),
        json!(or_none(ports.join(","))),
        row.age(),
        json!(or_none(labels.join(","))),
    ]
}
