//! Outcomes, phases, steps and observers, through the public interface.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_controller_observe::{
    Observers, Outcome, Phase, ReconcileObserver, ReconcileRecord, Step, StepRecord, Subject,
};
use kube::runtime::controller::Action;

/// Writes down what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl ReconcileObserver for Notes {
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        let ReconcileRecord {
            controller,
            kind,
            name,
            phase,
            outcome,
            ..
        } = record;
        let namespace = record.namespace.unwrap_or("-");
        let millis = record.duration.as_millis();
        self.0.lock().unwrap().push(format!(
            "{controller} {kind} {namespace}/{name} {phase} {outcome} {millis}"
        ));
    }

    fn step_finished(&self, record: &StepRecord<'_>) {
        let StepRecord {
            step,
            outcome,
            duration,
            ..
        } = record;
        self.0
            .lock()
            .unwrap()
            .push(format!("{step} {outcome} {}", duration.as_millis()));
    }
}

struct Silent;
impl ReconcileObserver for Silent {}

struct Panicking;
impl ReconcileObserver for Panicking {
    fn reconciled(&self, _: &ReconcileRecord<'_>) {
        panic!("reconciled");
    }
    fn step_finished(&self, _: &StepRecord<'_>) {
        panic!("step_finished");
    }
}

fn subject() -> Arc<Subject> {
    Arc::new(Subject {
        controller: "c".into(),
        kind: "ConfigMap".into(),
        namespace: None,
        name: "a".into(),
    })
}

#[test]
fn names_are_lower_case() {
    let outcomes = [
        Outcome::Completed,
        Outcome::Waiting,
        Outcome::Skipped,
        Outcome::Failed,
        Outcome::Abandoned,
    ];
    assert_eq!(
        outcomes.map(|outcome| outcome.to_string()),
        ["completed", "waiting", "skipped", "failed", "abandoned"]
    );
    let phases = [Phase::Init, Phase::Apply, Phase::Cleanup, Phase::Delete];
    assert_eq!(
        phases.map(|phase| phase.to_string()),
        ["init", "apply", "cleanup", "delete"]
    );
    assert_eq!(format!("[{:>9}]", Phase::Init), "[     init]");
}

#[test]
fn outcomes_of_results() {
    let cases = [
        (Ok(None), Outcome::Completed),
        (Ok(Some(Action::await_change())), Outcome::Completed),
        (Ok(Some(Action::requeue(Duration::ZERO))), Outcome::Waiting),
        (Ok(Some(Action::requeue(Duration::MAX))), Outcome::Waiting),
        (Err(()), Outcome::Failed),
    ];
    for (result, outcome) in cases {
        assert_eq!(Outcome::of_result(&result), outcome, "{result:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn steps_are_timed_and_told_once() {
    let notes = Arc::new(Notes::default());
    let observers = Observers::default().with(notes.clone());
    let start = |name| Step::start(observers.clone(), subject(), name);

    let step = start("fetch");
    tokio::time::advance(Duration::from_millis(30)).await;
    step.finish(Outcome::Skipped);
    start("write").finish_with(&Ok::<_, ()>(Some(Action::requeue(Duration::from_secs(1)))));
    start("check").finish_with(&Err(()));
    drop(start("dropped"));
    assert_eq!(
        notes.take(),
        [
            "fetch skipped 30",
            "write waiting 0",
            "check failed 0",
            "dropped abandoned 0"
        ]
    );
}

#[test]
fn one_that_panics_does_not_keep_others_from_hearing() {
    let notes = Arc::new(Notes::default());
    let observers = Observers::default()
        .with(Arc::new(Silent))
        .with(Arc::new(Panicking))
        .with(notes.clone());
    let subject = subject();
    observers.reconciled(&subject.reconciled(
        Phase::Apply,
        Outcome::Completed,
        Duration::from_millis(5),
    ));
    observers.step_finished(&subject.step_finished("s", Outcome::Failed, Duration::ZERO));
    assert_eq!(
        notes.take(),
        ["c ConfigMap -/a apply completed 5", "s failed 0"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_step_dropped_by_a_panic_is_abandoned_also_if_the_observer_panics_too() {
    let notes = Arc::new(Notes::default());
    let observers = Observers::default()
        .with(Arc::new(Panicking))
        .with(notes.clone());
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _step = Step::start(observers.clone(), subject(), "s");
        panic!("user");
    }));
    assert!(result.is_err());
    assert_eq!(notes.take(), ["s abandoned 0"]);
}
