//! Puts a write before the webhooks that are to see it.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_api_schema::quote;
use serde_json::Value;
use tracing::warn;

use super::Attributes;
use super::hook::Hook;
use super::matching::{is_exempt, kind_for};
use super::review::{self, Response};
use super::session::Question;
use crate::body;
use crate::kinds::Kind;
use crate::lifecycle::State;
use crate::patch::{self, PatchKind};
use crate::status::Failure;

/// Calls the mutating webhooks in turn, and some of them again where later ones have changed the object.
pub(super) fn mutate(
    state: &mut State,
    attributes: Attributes<'_>,
    mut object: Option<&mut Value>,
) -> Result<(), Failure> {
    let hooks = state.admission.hooks.mutating.clone();
    if hooks.is_empty() || is_exempt(attributes.call.kind()) {
        return Ok(());
    }
    // Those that want to see changes of later ones, and those of them that have something to see.
    let (mut called, mut again) = (Vec::new(), BTreeSet::new());
    let mut any_changed = false;
    for hook in hooks.iter() {
        let Some(changed) = call(state, attributes, object.as_deref_mut(), hook, 0)? else {
            continue;
        };
        if changed {
            again.extend(called.drain(..));
            any_changed = true;
        }
        if hook.reinvoked {
            called.push(hook.id.clone());
        }
    }
    if !any_changed {
        return Ok(());
    }
    if let Some(object) = object.as_deref_mut() {
        let before = object.clone();
        super::plugins(state, attributes, object)?;
        if *object != before {
            again.extend(called.drain(..));
        }
    }
    for hook in hooks.iter().filter(|hook| hook.reinvoked) {
        if !again.contains(&hook.id) {
            continue;
        }
        if call(state, attributes, object.as_deref_mut(), hook, 1)? == Some(true) {
            again.extend(called.drain(..));
        }
        called.push(hook.id.clone());
    }
    Ok(())
}

/// Calls one mutating webhook, if it is to be called; the answer is whether the object has changed.
fn call(
    state: &mut State,
    attributes: Attributes<'_>,
    object: Option<&mut Value>,
    hook: &Arc<Hook>,
    round: u8,
) -> Result<Option<bool>, Failure> {
    let Some(kind) = kind_for(state, hook, &attributes, object.as_deref())? else {
        return Ok(None);
    };
    let question = question(
        state,
        attributes,
        hook,
        &kind,
        object.as_deref(),
        (true, round),
    )?;
    let answer = match question {
        Ok(question) => state.admission.session.ask(question).ok_or_else(waiting)?,
        Err(why) => Err(why),
    };
    let Some(response) = judge(state, hook, answer)? else {
        return Ok(Some(false));
    };
    if response.patch.is_empty() || response.patch == b"[]" {
        return Ok(Some(false));
    }
    let Some(object) = object else {
        return Err(Failure::internal(&format!(
            "admission webhook {} attempted to modify the object, which is not supported for this operation",
            quote(&hook.name)
        )));
    };
    if response.patch_type != "JSONPatch" {
        let why = format!("unsupported patch type {}", quote(&response.patch_type));
        return failed(hook, &why).map(|()| Some(false));
    }
    let patched = patched(object, &kind, &response.patch).map_err(|why| Failure::internal(&why))?;
    let changed = patched != *object;
    *object = patched;
    Ok(Some(changed))
}

fn patched(object: &Value, kind: &Kind, patch: &[u8]) -> Result<Value, String> {
    let view = body::to_view(object, kind);
    let patched = patch::apply(PatchKind::Json, view, patch, None)
        .map_err(|failure| failure.message)?
        .object;
    let fields = patched.pointer("/metadata/managedFields").cloned();
    let mut stored = body::to_stored(patched, kind)?.object;
    if let Some(fields) = fields {
        crate::metadata::metadata_mut(&mut stored).insert("managedFields".into(), fields);
    }
    Ok(stored)
}

/// Calls all validating webhooks at once; the first refusal counts.
pub(super) fn validate(
    state: &mut State,
    attributes: Attributes<'_>,
    object: Option<&Value>,
) -> Result<(), Failure> {
    let hooks = state.admission.hooks.validating.clone();
    if hooks.is_empty() || is_exempt(attributes.call.kind()) {
        return Ok(());
    }
    let mut answers = Vec::new();
    let mut waits = false;
    for hook in hooks.iter() {
        let Some(kind) = kind_for(state, hook, &attributes, object)? else {
            continue;
        };
        let answer = match question(state, attributes, hook, &kind, object, (false, 0)) {
            Ok(Ok(question)) => {
                if let Some(answer) = state.admission.session.ask(question) {
                    Ok(answer)
                } else {
                    waits = true;
                    continue;
                }
            }
            Ok(Err(why)) => Ok(Err(why)),
            Err(failure) => Err(failure),
        };
        answers.push((hook, answer));
    }
    if waits {
        return Err(waiting());
    }
    let mut first = Ok(());
    for (hook, answer) in answers {
        let judged = answer.and_then(|answer| judge(state, hook, answer).map(|_| ()));
        first = first.and(judged);
    }
    first
}

/// Stands for an answer that is still to come, and is never seen: the server asks, and begins anew.
fn waiting() -> Failure {
    Failure::internal("a webhook has not answered")
}

/// What a webhook is to be asked, or why it cannot be.
fn question(
    state: &mut State,
    attributes: Attributes<'_>,
    hook: &Arc<Hook>,
    kind: &Kind,
    object: Option<&Value>,
    (mutating, round): (bool, u8),
) -> Result<Result<Question, String>, Failure> {
    if attributes.dry_run && !hook.harmless {
        let why = format!(
            "admission webhook {} does not support dry run",
            quote(&hook.name)
        );
        return Err(Failure::bad_request(why));
    }
    if !hook
        .review_versions
        .iter()
        .any(|version| matches!(version.as_str(), "v1" | "v1beta1"))
    {
        let why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        return Ok(Err(format!("could not create admission objects: {why}")));
    }
    Ok(Ok(Question {
        hook: hook.clone(),
        mutating,
        round,
        request: review::request(&attributes, kind, object),
        uid: state.source.uid(),
    }))
}

/// What an answer means for the write. None where the webhook has failed and that is passed over.
fn judge(
    state: &mut State,
    hook: &Hook,
    answer: Result<Response, String>,
) -> Result<Option<Response>, Failure> {
    match answer {
        Err(why) => failed(hook, &why).map(|()| None),
        Ok(response) => {
            state.admission.session.say(&response.warnings);
            if response.allowed {
                Ok(Some(response))
            } else {
                Err(review::denial(&hook.name, &response.result))
            }
        }
    }
}

fn failed(hook: &Hook, why: &str) -> Result<(), Failure> {
    let why = format!("failed calling webhook {}: {why}", quote(&hook.name));
    if hook.ignores_failure {
        warn!(webhook = hook.name, error = why, "failing open");
        return Ok(());
    }
    Err(Failure::internal(&why))
}
