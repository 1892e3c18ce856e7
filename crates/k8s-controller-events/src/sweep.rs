//! Expiry of series when nothing is published any more.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::table::Table;

/// The least time between two sweeps, so that many series that expire one by one cost one timer.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// Owns the task that removes expired series. The task is there while there are series and ends
/// with the last of them, or with the recorder.
#[derive(Debug, Default)]
pub(crate) struct Sweeper(Mutex<Option<JoinHandle<()>>>);

impl Sweeper {
    /// Starts the task if there is something to sweep and nobody who does.
    pub(crate) fn wake(&self, table: &Arc<Table>) {
        {
            let mut series = table.lock();
            if series.swept || series.len() == 0 {
                return;
            }
            series.swept = true;
        }
        let watch = Watch {
            table: Arc::downgrade(table),
            on_duty: true,
        };
        let task = tokio::spawn(sweep(watch));
        // The task that was there before is off duty; it has ended or is about to.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        let task = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task.take() {
            task.abort();
        }
    }
}

async fn sweep(mut watch: Watch) {
    while let Some(deadline) = watch.expire() {
        sleep_until(deadline.max(Instant::now() + MIN_PAUSE)).await;
    }
}

/// The task's view of the table, which it does not keep alive.
struct Watch {
    table: Weak<Table>,
    /// Whether this task is the one that the table counts on.
    on_duty: bool,
}

impl Watch {
    /// Removes what has expired. None when nothing is left: the task is off duty and has to end.
    fn expire(&mut self) -> Option<Instant> {
        let table = self.table.upgrade()?;
        let mut series = table.lock();
        let next = series.expire(Instant::now());
        self.on_duty = next.is_some();
        series.swept = self.on_duty;
        next
    }
}

impl Drop for Watch {
    /// The runtime may stop while the recorder lives on, to be used on another one.
    fn drop(&mut self) {
        if let Some(table) = self.table.upgrade().filter(|_| self.on_duty) {
            table.lock().swept = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ObjectReference;
    use tokio::time::advance;

    use super::*;
    use crate::key::Digester;
    use crate::{Event, EventType, SERIES_WINDOW, Scope};

    async fn publish(table: &Table, uid: &str) {
        let reference = ObjectReference {
            uid: Some(uid.into()),
            ..ObjectReference::default()
        };
        let event = Event {
            type_: EventType::Normal,
            reason: "R".into(),
            action: "A".into(),
            note: None,
            related: None,
        };
        let digester = Digester::default();
        let key = digester.series(&reference, Scope::Ordinary, &event);
        let fingerprint = digester.fingerprint(&reference, &event, None);
        table.turn(key).await.published(0, fingerprint, 1);
    }

    async fn settle() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_table_empties_itself() {
        let table = Arc::new(Table::new(10));
        let sweeper = Sweeper::default();
        sweeper.wake(&table);
        assert!(!table.lock().swept, "nothing to sweep");

        publish(&table, "a").await;
        sweeper.wake(&table);
        advance(Duration::from_secs(60)).await;
        publish(&table, "b").await;
        sweeper.wake(&table);
        settle().await;
        assert_eq!(table.lock().entries(), 4);

        advance(Duration::from_secs(9 * 60)).await;
        settle().await;
        assert_eq!(table.lock().entries(), 2);

        advance(Duration::from_secs(60)).await;
        settle().await;
        let series = table.lock();
        assert_eq!(series.entries(), 0);
        assert!(!series.swept, "the task has ended");
    }

    #[tokio::test(start_paused = true)]
    async fn the_task_starts_again() {
        let table = Arc::new(Table::new(10));
        let sweeper = Sweeper::default();
        for uid in ["a", "b"] {
            publish(&table, uid).await;
            sweeper.wake(&table);
            settle().await;
            advance(SERIES_WINDOW).await;
            settle().await;
            assert_eq!(table.lock().entries(), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_task_ends_with_its_owner() {
        let table = Arc::new(Table::new(10));
        let sweeper = Sweeper::default();
        publish(&table, "a").await;
        sweeper.wake(&table);
        settle().await;
        drop(sweeper);
        settle().await;
        assert!(!table.lock().swept);
        assert_eq!(
            tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks(),
            0
        );
    }

    #[test]
    fn a_stopped_runtime_is_noticed() {
        let runtime = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder
                .enable_time()
                .start_paused(true)
                .build()
                .expect("a runtime")
        };
        let table = Arc::new(Table::new(10));
        let sweeper = Sweeper::default();
        for uid in ["a", "b"] {
            runtime().block_on(async {
                publish(&table, uid).await;
                sweeper.wake(&table);
                settle().await;
                assert!(table.lock().swept);
            });
            assert!(!table.lock().swept, "its runtime is gone");
        }
    }
}
