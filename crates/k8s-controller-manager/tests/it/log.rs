//! What is logged.

use std::cell::RefCell;
use std::io::{self, Write};

use k8s_controller_manager::{LostLease, Manager};
use tokio::time::sleep;

use crate::network::Network;
use crate::support::*;

thread_local! {
    static CAPTURED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct ToThread;

impl Write for ToThread {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        CAPTURED.with_borrow_mut(|captured| captured.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_life_in_lines() {
    tracing_subscriber::fmt()
        .with_ansi(false)
        .without_time()
        .with_env_filter("k8s_controller_manager=info")
        .with_writer(|| ToThread)
        .init();
    let server = server();
    let network = Network::to(&server);
    let probe = Probe::sleeping(3600 * SECOND);
    let manager = Manager::new(network.client())
        .with_leader_election(election(network.client(), "us"))
        .with_lost_lease(LostLease::Rejoin)
        .with_stop_deadline(SECOND)
        .with_controller(probe.controller("c"))
        .with_task("t", |_, stop| async move {
            stop.cancelled().await;
            Ok(())
        });
    create(&server, "a").await;
    let run = Run::start(manager);
    sleep(5 * SECOND).await;
    network.cut();
    sleep(30 * SECOND).await;
    network.mend();
    sleep(30 * SECOND).await;
    run.stop().await.0.unwrap();
    let failing = Manager::new(network.client()).with_task("t", |_, _| async { Ok(()) });
    Run::start(failing).end().await.unwrap_err();

    let captured = CAPTURED.with_borrow(Clone::clone);
    let text = String::from_utf8(captured).unwrap();
    let lines: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().split_once(" k8s_controller_manager::"))
        .map(|(level, rest)| format!("{level} {}", rest.split_once(": ").unwrap().1))
        .collect();
    let started = "INFO manager started controllers=[\"c\"] tasks=1 lease=\"default/operator\" \
                   identity=\"us\"";
    let leading = "INFO leading controllers=[\"c\"] tasks=1";
    assert_eq!(
        lines[..5],
        [
            started,
            leading,
            "WARN lost the lease lease=\"default/operator\" then=Rejoin",
            leading,
            "INFO stopping why=\"asked to\"",
        ],
        "{text}"
    );
    assert!(
        lines[5].starts_with("INFO manager stopped stop_seconds=1.0"),
        "{text}"
    );
    assert!(lines[5].ends_with(" abandoned=1"), "{text}");
    let failed = "error=task \"t\" ended although it was not asked to stop";
    assert_eq!(lines.len(), 10, "{text}");
    assert_eq!(lines[8], format!("ERROR stopping {failed} why=\"failed\""));
    assert!(
        lines[9].starts_with(&format!("ERROR manager failed {failed} ")),
        "{text}"
    );
}
