use clap::CommandFactory;

use super::*;

fn run(words: &[&str]) -> Result<Run, clap::Error> {
    let words = ["website", "run"].iter().chain(words);
    match Options::try_parse_from(words)?.command {
        Some(Command::Run(run)) => Ok(*run),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_command_line_is_consistent() {
    Options::command().debug_assert();
}

#[test]
fn without_words_it_is_the_demonstration() {
    let options = Options::try_parse_from(["website"]).unwrap();
    assert!(options.command.is_none());
}

#[test]
fn defaults() {
    let run = run(&[]).unwrap();
    let (election, admin) = (&run.election, &run.admin);
    assert!(!run.install_crd && !election.leader_elect && admin.address.is_none());
    assert_eq!(run.log_format, LogFormat::Text);
    assert_eq!(election.lost_lease, LostLease::Exit);
    assert_eq!(
        [
            run.pass_timeout,
            run.stop_deadline,
            election.lease_duration,
            election.renew_deadline,
            election.retry_period
        ]
        .map(|duration| duration.as_secs()),
        [60, 25, 15, 10, 2]
    );
}

#[test]
fn switches_take_a_value_after_an_equals_sign() {
    for (word, expected) in [
        ("--leader-elect", true),
        ("--leader-elect=true", true),
        ("--leader-elect=false", false),
    ] {
        let run = run(&[word]).unwrap();
        assert_eq!(run.election.leader_elect, expected, "{word}");
    }
}

#[test]
fn durations() {
    for (text, milliseconds) in [
        ("15s", 15_000),
        ("1m", 60_000),
        ("1m30s", 90_000),
        ("500ms", 500),
        ("1h", 3_600_000),
    ] {
        assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)));
    }
    for text in ["", "15", "s", "0s", "-1s", "1s ago", "1 fortnight"] {
        assert!(duration(text).is_err(), "{text}");
    }
}

#[test]
fn bad_values_name_their_flag_and_what_is_expected() {
    for (words, flag, expected) in [
        (
            &["--lease-duration=15"][..],
            "--lease-duration",
            "such as 500ms, 15s",
        ),
        (&["--pass-timeout=0s"], "--pass-timeout", "above zero"),
        (&["--concurrency=70000"], "--concurrency", "0 to 65535"),
        (
            &["--admin-address=8080"],
            "--admin-address",
            "such as 0.0.0.0:8080",
        ),
        (&["--namespace=No Way"], "--namespace", "a-z, 0-9"),
        (&["--namespace="], "--namespace", "a-z, 0-9"),
        (&["--identity="], "--identity", "value is required"),
        (&["--lost-lease=retry"], "--lost-lease", "exit, rejoin"),
        (&["--log-format=xml"], "--log-format", "text, json"),
        (&["--leader-elect=yes"], "--leader-elect", "true, false"),
        (
            &["--tls-cert=a", "--admin-address=[::]:0"],
            "--tls-key",
            "required",
        ),
        (
            &["--tls-cert=a", "--tls-key=b"],
            "--admin-address",
            "required",
        ),
    ] {
        let error = run(words).unwrap_err().to_string();
        assert!(error.contains(flag), "{words:?}: {error}");
        assert!(error.contains(expected), "{words:?}: {error}");
    }
}

#[test]
fn the_help_has_each_flag_under_its_heading() {
    let mut options = Options::command();
    options.build();
    let run = options.find_subcommand("run").unwrap();
    for flag in run.get_arguments() {
        let heading = match flag.get_id().as_str() {
            "address" | "tls_cert" | "tls_key" => Some("Metrics and health"),
            "leader_elect" | "identity" | "renew_deadline" | "retry_period" => {
                Some("Leader election")
            }
            id if id.starts_with("lease_") || id == "lost_lease" => Some("Leader election"),
            _ => None,
        };
        assert_eq!(flag.get_help_heading(), heading, "{}", flag.get_id());
    }
}

/// The guide lists every flag with its variable.
#[test]
fn every_flag_is_in_the_guide_with_its_variable() {
    let guide = include_str!("../../README.md");
    let options = Options::command();
    let mut flags = 0;
    for command in options.get_subcommands() {
        for flag in command.get_arguments() {
            let Some(long) = flag.get_long().filter(|&long| long != "help") else {
                continue;
            };
            let variable = flag.get_env().unwrap().to_str().unwrap();
            let derived = long.replace('-', "_").to_uppercase();
            assert_eq!(variable, format!("WEBSITE_{derived}"));
            let row = format!("| `--{long}` | `{variable}` |");
            assert!(guide.contains(&row), "expected in the guide: {row}");
            flags += 1;
        }
    }
    assert!(flags > 15, "{flags}");
}
