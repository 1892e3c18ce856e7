//! Outcomes, phases, steps and observers, through the public interface.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_controller_observe::{
    ControllerRecord, DequeueRecord, Failure, Observers, Outcome, Phase, QueueRecord,
    ReconcileObserver, ReconcileRecord, Requeue, StartRecord, Step, StepRecord, Subject,
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

    fn controller_started(&self, record: &ControllerRecord<'_>) {
        let line = format!("{} runs up to {}", record.controller, record.concurrency);
        self.0.lock().unwrap().push(line);
    }

    fn pass_started(&self, record: &StartRecord<'_>) {
        let namespace = record.namespace.unwrap_or("-");
        let line = format!("{} begins {namespace}/{}", record.controller, record.name);
        self.0.lock().unwrap().push(line);
    }

    fn enqueued(&self, record: &QueueRecord<'_>) {
        let line = format!("{} has {} waiting", record.controller, record.depth);
        self.0.lock().unwrap().push(line);
    }

    fn dequeued(&self, record: &DequeueRecord<'_>) {
        let (depth, waited) = (record.depth, record.waited.as_millis());
        let line = format!("{} after {waited} has {depth} waiting", record.controller);
        self.0.lock().unwrap().push(line);
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
    fn controller_started(&self, _: &ControllerRecord<'_>) {
        panic!("controller_started");
    }
    fn pass_started(&self, _: &StartRecord<'_>) {
        panic!("pass_started");
    }
    fn enqueued(&self, _: &QueueRecord<'_>) {
        panic!("enqueued");
    }
    fn dequeued(&self, _: &DequeueRecord<'_>) {
        panic!("dequeued");
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
    let failures = [
        Failure::Error,
        Failure::Conflict,
        Failure::Terminal,
        Failure::Panicked,
        Failure::TimedOut,
    ];
    assert_eq!(
        failures.map(|failure| failure.to_string()),
        ["error", "conflict", "terminal", "panicked", "timed_out"]
    );
    let wishes = [Requeue::None, Requeue::Now, Requeue::After];
    assert_eq!(
        wishes.map(|wish| wish.to_string()),
        ["none", "now", "after"]
    );
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
    observers.controller_started(&ControllerRecord::new("c", "ConfigMap", 32));
    observers.enqueued(&QueueRecord::new("c", "ConfigMap", 2));
    let waited = Duration::from_millis(7);
    observers.dequeued(&DequeueRecord::new("c", "ConfigMap", 1, waited));
    observers.pass_started(&subject.started());
    assert_eq!(
        notes.take(),
        [
            "c ConfigMap -/a apply completed 5",
            "s failed 0",
            "c runs up to 32",
            "c has 2 waiting",
            "c after 7 has 1 waiting",
            "c begins -/a",
        ]
    );
}

#[test]
fn a_record_says_how_it_failed_only_if_it_did() {
    let subject = subject();
    let record = |outcome| subject.reconciled(Phase::Apply, outcome, Duration::ZERO);
    let completed = record(Outcome::Completed);
    assert_eq!(
        (completed.failure, completed.requeue),
        (None, Requeue::None)
    );
    assert_eq!(record(Outcome::Abandoned).failure, None);
    assert_eq!(record(Outcome::Failed).failure, Some(Failure::Error));
    let failed = completed.with_failure(Failure::TimedOut);
    assert_eq!(
        (failed.outcome, failed.failure),
        (Outcome::Failed, Some(Failure::TimedOut))
    );
    let waiting = record(Outcome::Waiting).with_requeue(Requeue::After);
    assert_eq!((waiting.failure, waiting.requeue), (None, Requeue::After));
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
