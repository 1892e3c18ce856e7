//! Signals, in a process of their own: they are for the whole process.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use k8s_controller_manager::Manager;
use tokio::signal::unix::{SignalKind, signal};

use crate::support::*;

const ROLE: &str = "K8S_CONTROLLER_MANAGER_TEST_ROLE";
const PATIENCE: Duration = Duration::from_secs(60);
/// A signal that comes sooner after another is taken for the same.
const APART: Duration = Duration::from_millis(900);

/// Runs as the child only, where it is an operator; a line for each step.
#[test]
fn operator() {
    let Ok(role) = env::var(ROLE) else {
        return;
    };
    let mut runtime = match role.as_str() {
        "blocks one thread" => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(operate(&role));
}

async fn operate(role: &str) {
    let server = server();
    for name in ["a", "b", "c", "d"] {
        create(&server, name).await;
    }
    let blocks = role.starts_with("blocks");
    let probe = Probe::new(move |_, _| async move {
        println!("\nworking");
        if blocks {
            thread::sleep(2 * PATIENCE);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        println!("\nworked");
        Ok(())
    });
    let manager = || {
        Manager::new(client(&server))
            .with_leader_election(election(client(&server), "us"))
            .with_controller(probe.controller("c"))
    };
    if role.ends_with("after a failure") {
        let failing = Manager::new(client(&server));
        let failing = failing.with_task("t", |_, _| async { Err("no luck".into()) });
        failing.run().await.unwrap_err();
    }
    if role == "goes on alone after a failure" {
        let mut terminate = signal(SignalKind::terminate()).unwrap();
        for heard in ["once", "twice"] {
            println!("\nlistening");
            terminate.recv().await;
            println!("\n{heard}");
        }
        return;
    }
    manager().run().await.unwrap();
    println!("\nholder {:?}", holder(&server).await);
    if role == "lingers" {
        thread::sleep(2 * PATIENCE);
    }
}

struct Operator {
    child: Child,
    lines: Receiver<String>,
}

impl Operator {
    fn start(role: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "signals::operator",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ROLE, role)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        // Ends with the child.
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines }
    }

    /// Reads on until there is a line like this.
    fn wait_for(&self, wanted: &str) {
        let line = || self.lines.recv_timeout(PATIENCE);
        while line().unwrap_or_else(|error| panic!("no line {wanted:?}: {error}")) != wanted {}
    }

    fn send(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
    }

    fn end(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_first_stops_it_gracefully() {
    let rows = [
        ("graceful", "-TERM"),
        ("graceful", "-INT"),
        ("runs again after a failure", "-TERM"),
    ];
    for (role, signal) in rows {
        let mut operator = Operator::start(role);
        operator.wait_for("working");
        operator.send(signal);
        // As `timeout` does.
        operator.send("-TERM");
        operator.wait_for("worked");
        operator.wait_for("holder \"\"");
        assert_eq!(operator.end().code(), Some(0), "{role} {signal}");
    }
}

/// A program whose manager has failed has its signals back.
#[test]
fn they_are_left_alone_after_a_failure() {
    let mut operator = Operator::start("goes on alone after a failure");
    for heard in ["once", "twice"] {
        operator.wait_for("listening");
        operator.send("-TERM");
        operator.wait_for(heard);
        thread::sleep(APART);
    }
    assert_eq!(operator.end().code(), Some(0));
}

/// Also while passes block every thread, and when the manager has ended but the process not.
#[test]
fn the_second_ends_it_at_once() {
    let rows = [
        ("blocks one thread", "-TERM", "-TERM", 143),
        ("blocks all threads", "-TERM", "-TERM", 143),
        ("blocks all threads", "-TERM", "-INT", 130),
        ("lingers", "-INT", "-TERM", 143),
    ];
    for (role, first, second, code) in rows {
        let mut operator = Operator::start(role);
        operator.wait_for("working");
        operator.send(first);
        if role == "lingers" {
            operator.wait_for("holder \"\"");
        }
        thread::sleep(APART);
        assert!(operator.child.try_wait().unwrap().is_none(), "{role}");
        operator.send(second);
        assert_eq!(operator.end().code(), Some(code), "{role}");
    }
}
