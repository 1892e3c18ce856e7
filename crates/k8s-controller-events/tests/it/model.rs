//! Random histories, against a model that is a list.

use std::time::Duration;

use k8s_controller_events::{Event, EventRecorder, SERIES_WINDOW, Scope};
use proptest::prelude::*;
use tokio::time::{Instant, advance};

use crate::server::{Answer, Server, status};
use crate::{event, reference, reporter};

const CAP: usize = 4;
const NAMES: [&str; 3] = ["a", "b", "c"];
const REASONS: [&str; 2] = ["Broke", "Slow"];
const NOTES: [&str; 2] = ["one", "two"];

#[derive(Clone, Debug)]
enum Step {
    Publish {
        name: usize,
        scope: Scope,
        reason: usize,
        note: usize,
        refused: bool,
    },
    Forget {
        name: usize,
        scope: Scope,
    },
    Advance(u64),
    /// The server deletes all events.
    Expire,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let scope = || prop_oneof![Just(Scope::Ordinary), Just(Scope::Failure)];
    let publish = (
        0..NAMES.len(),
        scope(),
        0..REASONS.len(),
        0..NOTES.len(),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(name, scope, reason, note, refused)| Step::Publish {
            name,
            scope,
            reason,
            note,
            refused,
        });
    let forget = (0..NAMES.len(), scope()).prop_map(|(name, scope)| Step::Forget { name, scope });
    let seconds = prop_oneof![0..5_u64, 100..700_u64].prop_map(Step::Advance);
    let step = prop_oneof![8 => publish, 1 => forget, 2 => seconds, 1 => Just(Step::Expire)];
    prop::collection::vec(step, 1..60)
}

/// What the recorder has to remember, the least recently published first.
#[derive(Default)]
struct Model {
    series: Vec<Remembered>,
    requests: Vec<Option<i64>>,
    events_on_server: usize,
    failed: u64,
    evicted: u64,
}

struct Remembered {
    key: (usize, Scope, usize),
    note: usize,
    count: i64,
    at: Instant,
    on_server: bool,
}

impl Model {
    fn expire(&mut self) {
        let now = Instant::now();
        self.series.retain(|series| now - series.at < SERIES_WINDOW);
    }

    fn publish(&mut self, key: (usize, Scope, usize), note: usize, refused: bool) {
        self.expire();
        let found = self.series.iter().position(|series| series.key == key);
        let repeat = found.filter(|&at| self.series[at].note == note);
        if let Some(at) = repeat {
            self.requests.push(Some(self.series[at].count + 1));
            if refused {
                self.failed += 1;
                return;
            }
            let mut series = self.series.remove(at);
            if series.on_server {
                series.count += 1;
                series.at = Instant::now();
                self.series.push(series);
                return;
            }
        }
        self.requests.push(None);
        if refused {
            self.failed += 1;
            return;
        }
        self.series.retain(|series| series.key != key);
        self.series.push(Remembered {
            key,
            note,
            count: 1,
            at: Instant::now(),
            on_server: true,
        });
        self.events_on_server += 1;
        if self.series.len() > CAP {
            self.series.remove(0);
            self.evicted += 1;
        }
    }

    fn forget(&mut self, name: usize, scope: Scope) {
        self.series
            .retain(|series| (series.key.0, series.key.1) != (name, scope));
    }

    fn server_expires(&mut self) {
        self.events_on_server = 0;
        for series in &mut self.series {
            series.on_server = false;
        }
    }
}

async fn run(steps: Vec<Step>) {
    let server = Server::default();
    let recorder = EventRecorder::new(server.client(), reporter()).with_max_series(CAP);
    let mut model = Model::default();
    let mut calls = 0;
    for step in steps {
        match step {
            Step::Publish {
                name,
                scope,
                reason,
                note,
                refused,
            } => {
                calls += 1;
                if refused {
                    server.script([Answer::Refused(status(500, "InternalError", "no", &[]))]);
                }
                model.publish((name, scope, reason), note, refused);
                let event = Event {
                    note: Some(NOTES[note].into()),
                    ..event(REASONS[reason])
                };
                let result = recorder
                    .publish_to(&reference(NAMES[name]), scope, &event)
                    .await;
                assert_eq!(result.is_err(), refused);
            }
            Step::Forget { name, scope } => {
                model.forget(name, scope);
                recorder.forget_scope(&reference(NAMES[name]), scope);
            }
            Step::Advance(seconds) => advance(Duration::from_secs(seconds)).await,
            Step::Expire => {
                model.server_expires();
                server.expire_events();
            }
        }
        model.expire();
        assert_eq!(recorder.tracked_series(), model.series.len());
    }
    assert_eq!(server.counts(), model.requests);
    assert_eq!(server.events().len(), model.events_on_server);
    let stats = recorder.stats();
    assert_eq!(stats.sent() + stats.lost(), calls);
    assert_eq!(
        (stats.failed, stats.evicted_series),
        (model.failed, model.evicted)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_recorder_is_its_model(steps in steps()) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime")
            .block_on(run(steps));
    }
}
