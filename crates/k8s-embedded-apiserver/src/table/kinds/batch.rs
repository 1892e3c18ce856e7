//! Columns and cells: the group `batch`.

use serde_json::{Value, json};

use crate::table::age::{between, since};
use crate::table::cells::{Row, or_none, selector_text};
use crate::table::columns::{Column, age, name, shown, wide};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "Job" => vec![name(), shown("Status", "Status of the job."), shown("Completions", "The number of pods which reached phase Succeeded. The value increases monotonically for a given spec. However, it may decrease in reaction to scale down of elastic indexed jobs."), shown("Duration", "Time required to complete the job."), age(), wide("Containers", "Names of each container in the template."), wide("Images", "Images referenced by each container in the template."), wide("Selector", "A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors")],
        "CronJob" => vec![name(), shown("Schedule", "The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron."), shown("Timezone", "The time zone name for the given schedule, see https://en.wikipedia.org/wiki/List_of_tz_database_time_zones. If not specified, this will default to the time zone of the kube-controller-manager process. The set of valid time zone names and the time zone offset is loaded from the system-wide time zone database by the API server during CronJob validation and the controller manager during execution. If no system-wide time zone database can be found a bundled version of the database is used instead. If the time zone name becomes invalid during the lifetime of a CronJob or due to a change in host configuration, the controller will stop creating new new Jobs and will create a system event with the reason UnknownTimeZone. More information can be found in https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#time-zones"), shown("Suspend", "This flag tells the controller to suspend subsequent executions, it does not apply to already started executions.  Defaults to false.").of_type("boolean"), shown("Active", "A list of pointers to currently running jobs.").of_type("integer"), shown("Last Schedule", "Information when was the last time the job was successfully scheduled."), age(), wide("Containers", "Names of each container in the template."), wide("Images", "Images referenced by each container in the template."), wide("Selector", "A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors")],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "Job" => job(row),
        "CronJob" => cron_job(row),
        _ => return None,
    })
}

fn job(row: &Row<'_>) -> Vec<Value> {
    let [names, images] = row.containers();
    let done = row.number("/status/succeeded");
    let parallel = row.number("/spec/parallelism");
    let completions = match row.object.pointer("/spec/completions") {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallel > 1 => format!("{done}/1 of {parallel}"),
        None => format!("{done}/1"),
    };
    let (start, end) = (
        row.object.pointer("/status/startTime"),
        row.object.pointer("/status/completionTime"),
    );
    let duration = match (start, end) {
        (None, _) => String::new(),
        (start, None) => since(start, row.now),
        (Some(start), Some(end)) => between(start, end),
    };
    vec![
        row.name(),
        json!(job_status(row)),
        json!(completions),
        json!(duration),
        row.age(),
        names,
        images,
        json!(or_none(selector_text(row.object.pointer("/spec/selector")))),
    ]
}

fn job_status(row: &Row<'_>) -> &'static str {
    let is = |condition: &str| {
        row.list("/status/conditions")
            .iter()
            .find(|found| found["type"] == condition)
            .is_some_and(|found| found["status"] == "True")
    };
    let deleting = !row.text("/metadata/deletionTimestamp").is_empty();
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if deleting => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn cron_job(row: &Row<'_>) -> Vec<Value> {
    let [names, images] = row.containers_at("/spec/jobTemplate/spec/template/spec/containers");
    let last = row.object.pointer("/status/lastScheduleTime");
    let suspended = row.object.pointer("/spec/suspend") == Some(&json!(true));
    vec![
        row.name(),
        row.cell("/spec/schedule"),
        json!(or_none(row.text("/spec/timeZone").into())),
        json!(if suspended { "True" } else { "False" }),
        json!(row.list("/status/active").len()),
        json!(last.map_or("<none>".into(), |_| since(last, row.now))),
        row.age(),
        names,
        images,
        json!(or_none(selector_text(
            row.object.pointer("/spec/jobTemplate/spec/selector")
        ))),
    ]
}
