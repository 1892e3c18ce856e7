//! The group `batch`.

use crate::kinds::{Generation, Kind};
use crate::selector::FieldRules;
use crate::{defaults, pod_warnings, validation};

const SUCCESSFUL: &[(&str, &str)] = &[("status.successful", "status.succeeded")];

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(("batch", "v1", "Job"), "jobs", "job")
            .in_all()
            .with_status()
            .generation(Generation::Spec)
            .fields(FieldRules::OfJobs(SUCCESSFUL))
            .defaults(defaults::batch::job)
            .on_create(defaults::batch::new_job)
            .validated(validation::batch::job)
            .warned(pod_warnings::job),
        Kind::row(("batch", "v1", "CronJob"), "cronjobs", "cronjob")
            .short(&["cj"])
            .in_all()
            .with_status()
            .generation(Generation::Spec)
            .defaults(defaults::batch::cron_job)
            .validated(validation::batch::cron_job)
            .warned(pod_warnings::cron_job),
    ]
}
