//! What Prometheus and the kubelet see of two replicas.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::cluster::Cluster;
use crate::support::pair::Pair;

const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0";

pub(crate) async fn metrics_and_probes_of_both(cluster: Cluster) {
    let mut pair = Pair::start(&cluster, &[]).await;
    for (admin, leads) in [(&pair.leader_admin, true), (&pair.standby_admin, false)] {
        for path in ["/healthz", "/readyz"] {
            let answer = admin.get(path).await;
            assert_eq!((answer.code, answer.body.as_str()), (200, "ok"), "{path}");
            let verbose = admin.get(&format!("{path}?verbose")).await.body;
            assert!(verbose.contains("[+]controller/website ok"), "{verbose}");
        }
        assert_eq!(admin.says_it_leads().await, leads);
        let text = admin.get("/metrics").await;
        assert!(
            text.content_type.starts_with("text/plain; version=0.0.4"),
            "{text:?}"
        );
        let open = admin.try_get("/metrics", OPEN_METRICS).await.unwrap();
        assert!(
            open.content_type
                .starts_with("application/openmetrics-text; version=1.0.0"),
            "{open:?}"
        );
        assert!(open.body.ends_with("# EOF\n"), "{open:?}");
    }
    // What the leader has done for the first Website.
    let metrics = pair.leader_admin.get("/metrics").await.body;
    for series in [
        "controller_runtime_reconcile_total{controller=\"website\",result=\"success\"} ",
        "workqueue_adds_total{",
        "rest_client_requests_total{code=\"201\",",
        "k8s_controller_events_total{",
    ] {
        let mut lines = metrics.lines().filter(|line| line.starts_with(series));
        let is_counted = lines.any(|line| !line.ends_with(" 0"));
        assert!(is_counted, "{series}:\n{metrics}");
    }
    pair.leader.assert_well();
    pair.standby.assert_well();
}

pub(crate) async fn promtool_accepts_the_metrics(cluster: Cluster) {
    let pair = Pair::start(&cluster, &[]).await;
    let promtool = cluster.given().promtool.as_deref().unwrap();
    for admin in [&pair.leader_admin, &pair.standby_admin] {
        let text = admin.get("/metrics").await.body;
        run(promtool, &["check", "metrics"], &text);

        let open = admin.try_get("/metrics", OPEN_METRICS).await.unwrap();
        // promtool reads this format only to store it, for which each sample needs a time.
        let mut stamped = String::new();
        for line in open.body.lines() {
            stamped.push_str(line);
            stamped.push_str(if line.starts_with('#') {
                "\n"
            } else {
                " 1700000000\n"
            });
        }
        let file = cluster.folder().join("metrics");
        std::fs::write(&file, stamped).unwrap();
        let store = cluster.folder().join("store");
        let words = ["tsdb", "create-blocks-from", "openmetrics"];
        let paths = [file.to_str().unwrap(), store.to_str().unwrap()];
        run(promtool, &[&words[..], &paths[..]].concat(), "");
    }
}

fn run(promtool: &Path, words: &[&str], input: &str) {
    let mut child = Command::new(promtool)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{words:?}: {}{}\n{input}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
