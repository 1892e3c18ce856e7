//! The row of an Event, in the form of either group.

use serde_json::{Value, json};

use crate::table::age::since;
use crate::table::cells::Row;
use crate::table::columns::{Column, name, shown, wide};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "Event" => vec![
            shown("Last Seen", "When it happened last."),
            shown("Type", "Normal or Warning."),
            shown("Reason", "A short reason for machines."),
            shown("Object", "What it is about."),
            wide("Subobject", "The part of the object."),
            wide("Source", "Who reported it."),
            shown("Message", "A description for people."),
            wide("First Seen", "When it happened first."),
            wide("Count", "How often it happened."),
            Column {
                priority: 1,
                ..name()
            },
        ],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "Event" => self::row(row),
        _ => return None,
    })
}

fn row(row: &Row<'_>) -> Vec<Value> {
    // The two groups name these differently.
    let either = |new: &str, core: &str| match row.text(new) {
        "" => row.text(core).to_owned(),
        text => text.to_owned(),
    };
    let time = |pointers: &[&str]| {
        let found = pointers
            .iter()
            .find_map(|pointer| row.object.pointer(pointer).filter(|time| !time.is_null()));
        since(found, row.now)
    };
    let first = ["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"];
    let has_series = row
        .object
        .pointer("/series")
        .is_some_and(|series| !series.is_null());
    let (last, count) = if has_series {
        (
            time(&["/series/lastObservedTime"]),
            row.number("/series/count"),
        )
    } else {
        let count = row.number("/count") + row.number("/deprecatedCount");
        let last = [
            "/lastTimestamp",
            "/deprecatedLastTimestamp",
            first[0],
            first[1],
            first[2],
        ];
        (time(&last), count.max(1))
    };
    let kind = either("/regarding/kind", "/involvedObject/kind").to_lowercase();
    let target = match either("/regarding/name", "/involvedObject/name").as_str() {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let first_of = |texts: [String; 3]| {
        texts
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    };
    let component = first_of([
        either("/deprecatedSource/component", "/source/component"),
        row.text("/reportingController").into(),
        row.text("/reportingComponent").into(),
    ]);
    let instance = first_of([
        either("/deprecatedSource/host", "/source/host"),
        row.text("/reportingInstance").into(),
        String::new(),
    ]);
    let source = if instance.is_empty() {
        component
    } else {
        format!("{component}, {instance}")
    };
    vec![
        json!(last),
        row.cell("/type"),
        row.cell("/reason"),
        json!(target),
        json!(either("/regarding/fieldPath", "/involvedObject/fieldPath")),
        json!(source),
        json!(either("/note", "/message").trim()),
        json!(time(&first)),
        json!(count),
        row.name(),
    ]
}
