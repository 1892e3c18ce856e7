//! Graceful stops.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_controller::{Controller, Outcome, Phase};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Level;

use crate::harness::{Cluster, Fault, Records, Running, Script, Widget, Without};

/// What a stop returned: the names of abandoned objects, and when.
type End = Arc<Mutex<Option<(Vec<String>, Instant)>>>;

/// Runs a controller until the sender is used.
fn run_until(
    cluster: &Cluster,
    controller: Controller<Script<Widget, Without>>,
) -> (Running, oneshot::Sender<()>, End) {
    let (stop, stopped) = oneshot::channel();
    let end = End::default();
    let result = end.clone();
    let running = cluster.spawn(async move {
        let stopped = controller.run_until(async { drop(stopped.await) }).await;
        let abandoned = stopped
            .abandoned
            .iter()
            .map(|object| object.name.clone())
            .collect();
        *result.lock().unwrap() = Some((abandoned, Instant::now()));
    });
    (running, stop, end)
}

fn taken(end: &End) -> (Vec<String>, Instant) {
    end.lock().unwrap().take().expect("it returned")
}

/// Applies take as long as the text says, in milliseconds; then they fail if told so by the name.
fn sleeping() -> Script<Widget, Without> {
    Script::<Widget, Without>::new().apply(|_, widget| async move {
        tokio::time::sleep(Duration::from_millis(widget.spec.text.parse().unwrap())).await;
        if widget.metadata.name.as_deref() == Some("failing") {
            Err("as told".into())
        } else {
            Ok(None)
        }
    })
}

async fn create_and_wait(
    cluster: &Cluster,
    script: &Script<Widget, Without>,
    objects: &[(&str, &str)],
) {
    for (name, text) in objects {
        cluster
            .create_widget_with(name, |widget| widget.spec.text = String::from(*text))
            .await;
    }
    cluster
        .eventually("passes that run", async || {
            match script.calls(Phase::Apply).len() {
                all if all >= objects.len() => Ok(()),
                some => Err(format!("{some}")),
            }
        })
        .await;
}

/// Passes that run may end, with their events; the stop returns when the last has ended, and no
/// new one begins.
pub(crate) async fn running_passes_end(cluster: Cluster) {
    let records = Records::default();
    let script = sleeping();
    let controller = cluster
        .controller(cluster.client(), &script)
        .with_observer(records.observer());
    let controller = controller
        .with_event_recorder(cluster.recorder())
        .with_stop_deadline(Duration::from_secs(10));
    let (running, stop, end) = run_until(&cluster, controller);
    create_and_wait(&cluster, &script, &[("w", "800"), ("failing", "800")]).await;

    let asked = Instant::now();
    stop.send(()).unwrap();
    cluster.pass(Duration::from_millis(100)).await;
    assert!(running.is_running(), "passes are running");
    cluster
        .create_widget_with("late", |widget| widget.spec.text = "0".into())
        .await;
    running.ended().await;
    let (abandoned, at) = taken(&end);
    assert!(abandoned.is_empty(), "{abandoned:?}");
    assert!(
        at - asked < Duration::from_secs(3),
        "no longer than the passes: {:?}",
        at - asked
    );
    cluster.pass(Duration::from_millis(500)).await;
    assert_eq!(records.of("w").len(), 1);
    assert!(
        matches!(
            records.outline("w")[0],
            (Phase::Apply, Outcome::Completed | Outcome::Waiting)
        ),
        "{:?}",
        records.outline("w")
    );
    assert_eq!(
        records.outline("failing"),
        [(Phase::Apply, Outcome::Failed)]
    );
    assert!(
        script
            .calls(Phase::Apply)
            .iter()
            .all(|call| call.name != "late"),
        "no new pass"
    );
    let failing = cluster.widgets().get("failing").await.unwrap();
    assert_eq!(
        cluster.events(&failing).await.len(),
        1,
        "its event was sent"
    );
}

/// Passes that are too slow are abandoned at the deadline, and named.
pub(crate) async fn slow_passes_are_abandoned(cluster: Cluster) {
    let records = Records::default();
    let script = sleeping();
    let controller = cluster
        .controller(cluster.client(), &script)
        .with_observer(records.observer());
    let (running, stop, end) = run_until(
        &cluster,
        controller.with_stop_deadline(Duration::from_millis(500)),
    );
    create_and_wait(
        &cluster,
        &script,
        &[("quick", "200"), ("slow", "100000"), ("slower", "200000")],
    )
    .await;

    let asked = Instant::now();
    stop.send(()).unwrap();
    running.ended().await;
    let (mut abandoned, at) = taken(&end);
    abandoned.sort();
    assert_eq!(abandoned, ["slow", "slower"]);
    let took = at - asked;
    assert!(
        took >= Duration::from_millis(500) && took < Duration::from_secs(2),
        "{took:?}"
    );
    for name in ["slow", "slower"] {
        assert_eq!(
            records.outline(name),
            [(Phase::Apply, Outcome::Abandoned)],
            "reported before the stop returns"
        );
    }
    assert_ne!(records.outline("quick")[0].1, Outcome::Abandoned);
}

/// The first list is never answered: the stop is at once all the same.
pub(crate) async fn server_that_never_answers(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    faults.inject(usize::MAX, |_| true, Fault::Hang);
    let controller = cluster.controller(client, &Script::<Widget, Without>::new());
    let (running, stop, end) = run_until(
        &cluster,
        controller.with_stop_deadline(Duration::from_secs(2)),
    );
    cluster
        .eventually("a list", async || {
            if faults.sent(|_| true).is_empty() {
                Err("none".into())
            } else {
                Ok(())
            }
        })
        .await;
    cluster.pass(Duration::from_millis(500)).await;
    let asked = Instant::now();
    stop.send(()).unwrap();
    running.ended().await;
    let (abandoned, at) = taken(&end);
    assert!(abandoned.is_empty());
    assert!(
        at - asked < Duration::from_secs(3),
        "within the deadline: {:?}",
        at - asked
    );
}

/// Nor does a server that refuses the first list delay a stop; and passes that hang in a request
/// are abandoned.
pub(crate) async fn server_that_forbids(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let message = "widgets.e2e.example.com is forbidden: User \"nobody\" cannot list resource";
    faults.inject(
        usize::MAX,
        |sent| sent.is_list("widgets"),
        Fault::status(403, "Forbidden", message),
    );
    let controller = cluster.controller(client, &Script::<Widget, Without>::new());
    let (running, stop, end) = run_until(
        &cluster,
        controller.with_stop_deadline(Duration::from_secs(2)),
    );
    cluster
        .eventually("the error", async || {
            let told = [
                cluster.logs().at(Level::WARN),
                cluster.logs().at(Level::ERROR),
            ]
            .concat();
            if told.iter().any(|line| line.mentions("is forbidden")) {
                Ok(())
            } else {
                Err(cluster.logs().tail(5))
            }
        })
        .await;
    let asked = Instant::now();
    stop.send(()).unwrap();
    running.ended().await;
    let (_, at) = taken(&end);
    assert!(
        at - asked < Duration::from_secs(3),
        "within the deadline: {:?}",
        at - asked
    );
}

/// The server stops answering while passes wait for it: they are abandoned at the deadline.
pub(crate) async fn server_that_stops_answering(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let namespace = cluster.namespace().to_owned();
    let script = Script::<Widget, Without>::new().apply(move |client, _| {
        let widgets = kube::Api::<Widget>::namespaced(client, &namespace);
        async move {
            widgets.get("w").await?;
            Ok(None)
        }
    });
    let controller = cluster
        .controller(client, &script)
        .with_stop_deadline(Duration::from_millis(500));
    let (running, stop, end) = run_until(&cluster, controller);
    faults.inject(
        usize::MAX,
        |sent| sent.path.ends_with("/widgets/w"),
        Fault::Hang,
    );
    create_and_wait(&cluster, &script, &[("w", "")]).await;
    let asked = Instant::now();
    stop.send(()).unwrap();
    running.ended().await;
    let (abandoned, at) = taken(&end);
    assert_eq!(abandoned, ["w"]);
    assert!(at - asked < Duration::from_secs(2), "{:?}", at - asked);
}
