//! A program written against the published interface, as a user of it has it today: names, paths,
//! signatures and defaults. That it compiles is most of the test.

// In a test, a panic is the failure.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::items_after_statements
)]

mod conditions;
mod leader;
mod metrics;

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use k8s_controller::events::{
    DEFAULT_TIMEOUT, Event, EventRecorder, EventType, MAX_NOTE_BYTES, PublishError, Reporter,
    SERIES_WINDOW,
};
use k8s_controller::{
    Context, Controller, Error, Outcome, Phase, ReconcileObserver, ReconcileRecord, Step,
    StepRecord, TraceMetadata,
};
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ObjectReference};
use kube::api::{Api, ListParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::{finalizer, watcher};
use kube::{Client, Resource, ResourceExt as _};

#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error("request failed")]
    Kube(#[from] kube::Error),
    #[error("{0}")]
    Text(String),
}

/// Everything left at its default.
struct Plain;

#[async_trait]
impl Context for Plain {
    type Resource = ConfigMap;
    type Error = AppError;

    async fn apply(
        &self,
        _: Client,
        _: &ConfigMap,
        _: &mut TraceMetadata,
    ) -> Result<Option<Action>, AppError> {
        Ok(None)
    }
}

/// Everything overridden, on a cluster-scoped kind.
struct Full;

#[async_trait]
impl Context for Full {
    type Resource = Namespace;
    type Error = AppError;
    const FINALIZER_NAME: Option<&'static str> = Some("example.com/full");

    async fn apply(
        &self,
        client: Client,
        resource: &Namespace,
        metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, AppError> {
        metadata.annotate("name", resource.name_any());
        let step = metadata.step("read");
        let read = Api::<Namespace>::all(client)
            .get(&resource.name_any())
            .await;
        step.finish(if read.is_ok() {
            Outcome::Completed
        } else {
            Outcome::Failed
        });
        read?;
        metadata.set_outcome(Outcome::Skipped);
        Ok(Some(Action::requeue(Duration::from_secs(300))))
    }

    async fn cleanup(
        &self,
        _: Client,
        _: &Namespace,
        metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, AppError> {
        metadata.publish_event(some_event()).await;
        Ok(None)
    }

    fn success_action(&self, _: &Namespace) -> Action {
        Action::await_change()
    }

    fn error_action(
        self: Arc<Self>,
        _: Arc<Namespace>,
        err: &Error<AppError>,
        consecutive_errors: u32,
    ) -> Action {
        if err.is_conflict() {
            Action::requeue(Duration::from_millis(10))
        } else {
            Action::requeue(Duration::from_secs(1 << consecutive_errors.min(5)))
        }
    }

    fn failure_event(&self, _: &Namespace, phase: Phase, err: &Error<AppError>) -> Option<Event> {
        (phase != Phase::Init).then(|| Event {
            note: Some(err.display_chain()),
            ..some_event()
        })
    }
}

fn some_event() -> Event {
    Event {
        type_: EventType::Normal,
        reason: "Tested".into(),
        action: "Test".into(),
        note: None,
        related: None,
    }
}

#[derive(Default)]
struct Counts(Mutex<BTreeMap<String, u32>>);

impl Counts {
    fn add(&self, key: String) {
        *self.0.lock().unwrap().entry(key).or_default() += 1;
    }
}

impl ReconcileObserver for Counts {
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        let (kind, namespace, name): (&str, Option<&str>, &str) =
            (record.kind, record.namespace, record.name);
        let (controller, duration): (&str, Duration) = (record.controller, record.duration);
        assert!(duration < Duration::from_secs(60) && !kind.is_empty());
        self.add(format!(
            "{controller} {namespace:?} {name} {} {}",
            record.phase.as_str(),
            record.outcome.as_str()
        ));
    }

    fn step_finished(&self, record: &StepRecord<'_>) {
        let step: &'static str = record.step;
        let (kind, namespace, name): (&str, Option<&str>, &str) =
            (record.kind, record.namespace, record.name);
        self.add(format!(
            "{} {kind} {namespace:?} {name} {step} {}",
            record.controller, record.outcome
        ));
        let _: Duration = record.duration;
    }
}

/// Both methods have a default.
struct Deaf;

impl ReconcileObserver for Deaf {}

/// The shape of a `main` that stays as it is.
async fn main_of_an_operator(client: Client) {
    let reporter = Reporter {
        controller: "example.com/operator".into(),
        instance: std::env::var("POD_NAME").ok(),
    };
    let recorder =
        Arc::new(EventRecorder::new(client.clone(), reporter).with_timeout(Duration::from_secs(2)));
    let observer: Arc<dyn ReconcileObserver> = Arc::new(Deaf);
    let plain =
        Controller::namespaced(client.clone(), Plain, "default", watcher::Config::default())
            .with_name("plain")
            .with_observer(observer)
            .with_event_recorder(recorder.clone());
    let everywhere = Controller::namespaced_all(client.clone(), Plain, watcher::Config::default())
        .with_name(String::from("all"));
    let children = Api::<ConfigMap>::all(client.clone());
    let full = Controller::cluster(client, Full, watcher::Config::default().labels("a=b"))
        .with_controller(|controller| controller.owns(children, watcher::Config::default()));
    futures::join!(plain.run(), everywhere.run(), full.run());
}

#[test]
fn futures_can_be_spawned() {
    fn spawnable<F: Future + Send + 'static>(_: fn(Client) -> F) {}
    spawnable(main_of_an_operator);
}

#[test]
fn signatures() {
    let _: fn(Client, Reporter) -> EventRecorder = EventRecorder::new;
    let _: fn(EventRecorder, Duration) -> EventRecorder = EventRecorder::with_timeout;
    let _: for<'a> fn(&'a EventRecorder) -> &'a Reporter = EventRecorder::reporter;
    let _: fn(&EventRecorder, &ConfigMap) = EventRecorder::forget::<ConfigMap>;
    let _: fn(&Result<Option<Action>, AppError>) -> Outcome = Outcome::of_result::<AppError>;
    let _: fn(&TraceMetadata, &'static str) -> Step = TraceMetadata::step;
    let _: fn(Step, Outcome) = Step::finish;
    let _: fn(Step, &Result<Option<Action>, AppError>) = Step::finish_with::<AppError>;
    let _: fn(&Error<AppError>) -> bool = Error::is_conflict;
    fn sendable<T: Send + Sync + 'static>() {}
    sendable::<EventRecorder>();
    sendable::<Error<AppError>>();
    sendable::<PublishError>();
    fn record<T: Copy + Clone + Debug>() {}
    record::<ReconcileRecord<'_>>();
    record::<StepRecord<'_>>();
    fn shown<T: Display + Debug + Copy + PartialEq>() {}
    shown::<Outcome>();
    shown::<Phase>();
    fn std_error<T: std::error::Error>() {}
    std_error::<Error<AppError>>();
    std_error::<PublishError>();
    fn meta<T: Default + Debug>() {}
    meta::<TraceMetadata>();
    let _: Option<k8s_controller::observe::Outcome> = Some(Outcome::Completed);
    let _: Option<k8s_controller::observe::Phase> = Some(Phase::Apply);
    let _: &dyn k8s_controller::observe::ReconcileObserver = &Deaf;
}

#[test]
fn constants() {
    assert_eq!(SERIES_WINDOW, Duration::from_secs(600));
    assert_eq!(MAX_NOTE_BYTES, 1024);
    assert_eq!(DEFAULT_TIMEOUT, Duration::from_secs(5));
    assert_eq!(Plain::FINALIZER_NAME, None);
}

impl Plain {
    const FINALIZER_NAME: Option<&'static str> = <Self as Context>::FINALIZER_NAME;
}

#[test]
fn words() {
    let outcomes = [
        (Outcome::Completed, "completed"),
        (Outcome::Waiting, "waiting"),
        (Outcome::Skipped, "skipped"),
        (Outcome::Failed, "failed"),
        (Outcome::Abandoned, "abandoned"),
    ];
    for (outcome, word) in outcomes {
        assert_eq!(
            (outcome.as_str(), outcome.to_string().as_str()),
            (word, word)
        );
    }
    for (phase, word) in [
        (Phase::Init, "init"),
        (Phase::Apply, "apply"),
        (Phase::Cleanup, "cleanup"),
        (Phase::Delete, "delete"),
    ] {
        assert_eq!((phase.as_str(), phase.to_string().as_str()), (word, word));
    }
    let ok = |action| Outcome::of_result(&Ok::<_, AppError>(action));
    assert_eq!(ok(None), Outcome::Completed);
    assert_eq!(ok(Some(Action::await_change())), Outcome::Completed);
    assert_eq!(ok(Some(Action::requeue(Duration::ZERO))), Outcome::Waiting);
    assert_eq!(
        Outcome::of_result(&Err(AppError::Text("no".into()))),
        Outcome::Failed
    );
}

#[test]
fn default_actions() {
    let delay = |action: &Action| -> f64 {
        // `Action` shows its time in its debug output alone.
        let text = format!("{action:?}");
        let number: String = text
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        number
            .parse::<f64>()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    for _ in 0..100 {
        let after = delay(&Plain.success_action(&ConfigMap::default()));
        assert!((2400.0..3600.0).contains(&after), "{after}");
    }
    let error = Error::ControllerError(AppError::Text("no".into()));
    for failures in 0..12 {
        let s = f64::from(1_u32 << (failures.min(7) + 1));
        for _ in 0..100 {
            let action =
                Arc::new(Plain).error_action(Arc::new(ConfigMap::default()), &error, failures);
            let text = format!("{action:?}");
            // Below a second the debug output of a duration has another unit; the least is 1 s.
            let after = delay(&action);
            assert!(after >= 0.5 * s && after <= s, "{failures}: {text}");
        }
    }
}

#[test]
fn default_failure_events() {
    let error: Error<AppError> = Error::ControllerError(AppError::Text("no luck".into()));
    let object = ConfigMap::default();
    for (phase, reason, action) in [
        (Phase::Init, "ReconcileFailed", "Reconcile"),
        (Phase::Apply, "ReconcileFailed", "Reconcile"),
        (Phase::Cleanup, "CleanupFailed", "Cleanup"),
        (Phase::Delete, "CleanupFailed", "Cleanup"),
    ] {
        let expected = Event {
            type_: EventType::Warning,
            reason: reason.into(),
            action: action.into(),
            note: Some("no luck".into()),
            related: None,
        };
        assert_eq!(Plain.failure_event(&object, phase, &error), Some(expected));
    }
}

#[test]
fn errors() {
    let api = |code: u16, reason: &str| {
        let status = kube::core::Status::failure("the message", reason).with_code(code);
        kube::Error::Api(status.boxed())
    };
    let user = Error::ControllerError(AppError::Kube(api(409, "Conflict")));
    assert_eq!(user.to_string(), "request failed", "displays as its source");
    assert!(user.is_conflict(), "at any depth");
    assert!(!Error::ControllerError(AppError::Kube(api(409, "AlreadyExists"))).is_conflict());
    assert!(
        !Error::ControllerError(AppError::Kube(api(422, "Invalid"))).is_conflict(),
        "not of the user's own writes"
    );
    let ours: Error<AppError> =
        Error::FinalizerError(finalizer::Error::AddFinalizer(api(422, "Invalid")));
    assert!(ours.is_conflict(), "a failed test of the finalizer patch");
    let ours: Error<AppError> =
        Error::FinalizerError(finalizer::Error::RemoveFinalizer(api(409, "Conflict")));
    assert!(ours.is_conflict());
    let applied: Error<AppError> =
        Error::FinalizerError(finalizer::Error::ApplyFailed(AppError::Text("no".into())));
    assert_eq!(applied.to_string(), "failed to apply object: no");
    assert_eq!(
        applied.display_chain(),
        "failed to apply object: no",
        "what was said is not said again"
    );
    assert_eq!(user.display_chain().matches("the message").count(), 1);
    match user {
        Error::ControllerError(AppError::Kube(_)) => {}
        Error::ControllerError(_) | Error::FinalizerError(_) => panic!(),
        _ => panic!("more variants may come"),
    }
}

/// As in a unit test of somebody's `apply`.
#[tokio::test(start_paused = true)]
async fn apply_in_a_unit_test() {
    let client = Client::new(EmbeddedApiServer::new(), "default");
    let mut metadata = TraceMetadata::default();
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some("default".into());
    let action = Full
        .apply(client.clone(), &namespace, &mut metadata)
        .await
        .unwrap();
    assert_eq!(action, Some(Action::requeue(Duration::from_secs(300))));
    assert_eq!(
        Full.cleanup(client.clone(), &namespace, &mut metadata)
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        Plain
            .cleanup(client, &ConfigMap::default(), &mut metadata)
            .await
            .unwrap(),
        Some(Action::await_change())
    );
}

/// As in somebody's integration test: the controller runs, an object is seen, events are there.
#[tokio::test(start_paused = true)]
async fn operator_runs() {
    let client = Client::new(EmbeddedApiServer::new(), "default");
    let counts = Arc::new(Counts::default());
    let reporter = Reporter {
        controller: "example.com/operator".into(),
        instance: None,
    };
    let recorder = Arc::new(EventRecorder::new(client.clone(), reporter.clone()));
    assert_eq!(recorder.reporter(), &reporter);
    let controller = Controller::cluster(
        client.clone(),
        Full,
        watcher::Config::default().fields("metadata.name=mine"),
    )
    .with_observer(counts.clone())
    .with_event_recorder(recorder.clone());
    let running = tokio::spawn(async move { controller.run().await });
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some("mine".into());
    let namespace = namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(
        namespaces.get("mine").await.unwrap().finalizers(),
        ["example.com/full"]
    );
    let seen = counts.0.lock().unwrap().clone();
    for key in [
        "example.com/full None mine init completed",
        "example.com/full None mine apply skipped",
        "example.com/full Namespace None mine read completed",
    ] {
        assert!(seen.contains_key(key), "{key} in {seen:?}");
    }

    let related: ObjectReference = namespace.object_ref(&());
    recorder
        .publish(
            &namespace,
            &Event {
                related: Some(related),
                ..some_event()
            },
        )
        .await
        .unwrap();
    recorder.forget(&namespace);
    let events: Api<k8s_openapi::api::events::v1::Event> = Api::namespaced(client, "default");
    let stored = events.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(stored.len(), 1);
    assert_eq!(
        stored[0].reporting_instance.as_deref(),
        Some("example.com/operator"),
        "falls back to the controller"
    );
    running.abort();
}
