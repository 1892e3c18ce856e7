//! What the operator answers: the status of a Website.

use k8s_controller::conditions::{ConditionStatus, DesiredCondition, set};
use k8s_controller::error::display_chain;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::error::WebsiteError;
use crate::website::{READY, Website, WebsitePhase, WebsiteStatus};

/// The status of a Website after a pass that ended like this.
pub fn status(site: &Website, result: &Result<(), WebsiteError>) -> WebsiteStatus {
    let generation = site.metadata.generation;
    let ready = match result {
        Ok(()) => {
            let message = format!("{} is set up", site.url());
            DesiredCondition::new(READY, ConditionStatus::True, "Published", message)
        }
        // The reason that the event has, too.
        Err(error) => {
            let message = display_chain(error).to_string();
            DesiredCondition::new(READY, ConditionStatus::False, error.reason(), message)
        }
    };
    // From those that are there: the time of the last transition has to stay, and so has what
    // others have added.
    let before = site.status.as_ref();
    let mut conditions = before.map_or_else(Vec::new, |status| status.conditions.clone());
    // Whether this changes anything is found out from the whole status, when it is written.
    let _ = set(&mut conditions, ready.observed_generation(generation));
    WebsiteStatus {
        observed_generation: generation,
        phase: match result {
            Ok(()) => WebsitePhase::Ready,
            Err(_) => WebsitePhase::Failed,
        },
        url: result.is_ok().then(|| site.url()),
        message: result.as_ref().err().map(|e| display_chain(e).to_string()),
        conditions,
    }
}

/// Writes the status if it is another. Answers whether it was.
pub async fn write(
    client: &Client,
    site: &Website,
    status: WebsiteStatus,
) -> Result<bool, WebsiteError> {
    if site.status.as_ref() == Some(&status) {
        return Ok(false);
    }
    let namespace = site
        .namespace()
        .ok_or(WebsiteError::Incomplete("metadata.namespace"))?;
    let api: Api<Website> = Api::namespaced(client.clone(), &namespace);
    // With the resourceVersion, a pass that saw an old Website cannot overwrite what a newer one
    // has found out: it gets a conflict, and runs again. The nulls of a merge patch remove fields;
    // a list, as that of the conditions, is replaced as a whole.
    let patch = json!({
        "metadata": { "resourceVersion": site.resource_version() },
        "status": status,
    });
    let written = api
        .patch_status(
            &site.name_any(),
            &PatchParams::default(),
            &Patch::Merge(patch),
        )
        .await;
    written.map_err(WebsiteError::when("write the status"))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use k8s_controller::conditions::{find, find_observed, set_at};
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::samples::samples;

    /// A Website of this generation, with what was found out about it.
    fn site(generation: i64, status: Option<WebsiteStatus>) -> Website {
        let [mut site, ..] = samples();
        site.metadata.generation = Some(generation);
        site.status = status;
        site
    }

    fn taken() -> WebsiteError {
        WebsiteError::HostTaken {
            host: "bread.example.com".into(),
            owner: "default/rival".into(),
        }
    }

    #[test]
    fn the_same_result_is_the_same_status() {
        for result in [Ok(()), Err(taken())] {
            let first = status(&site(1, None), &result);
            let second = status(&site(1, Some(first.clone())), &result);
            assert_eq!(first, second);
        }
    }

    #[test]
    fn ready_says_what_the_event_says_and_of_which_generation() {
        let failed = status(&site(3, None), &Err(taken()));
        let ready = find_observed(&failed.conditions, READY, Some(3)).unwrap();
        assert_eq!(ready.status, "False");
        assert_eq!(ready.reason, "HostTaken");
        assert_eq!(Some(&ready.message), failed.message.as_ref());

        let mended = status(&site(4, Some(failed)), &Ok(()));
        let ready = find_observed(&mended.conditions, READY, Some(4)).unwrap();
        assert_eq!((&*ready.status, &*ready.reason), ("True", "Published"));
        assert_eq!(mended.message, None);
    }

    #[test]
    fn times_and_the_conditions_of_others_stay() {
        let long_ago: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        let mut before = WebsiteStatus::default();
        for type_ in ["Audited", READY] {
            let condition = DesiredCondition::new(type_, ConditionStatus::False, "Starting", "");
            let _ = set_at(&mut before.conditions, condition, long_ago);
        }

        let failed = status(&site(1, Some(before.clone())), &Err(taken()));
        let since = |status: &WebsiteStatus, type_| {
            let condition = find(&status.conditions, type_).unwrap();
            condition.last_transition_time.0
        };
        assert_eq!(
            find(&failed.conditions, "Audited"),
            before.conditions.first()
        );
        assert_eq!(since(&failed, READY), long_ago, "it was not ready before");

        let mended = status(&site(1, Some(failed)), &Ok(()));
        assert_eq!(since(&mended, "Audited"), long_ago);
        assert!(since(&mended, READY) > long_ago);
    }
}
