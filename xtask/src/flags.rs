//! The command line.

use std::{ffi::OsString, path::PathBuf};

xflags::xflags! {
    /// What contributors and CI of this workspace run.
    cmd xtask {
        /// Prints this help.
        default cmd overview {}

        /// Builds etcd, kube-apiserver, kube-controller-manager and kubectl, or finds them, and
        /// prints their folder.
        ///
        /// The folder that KUBEBUILDER_ASSETS names is taken if it is set; otherwise they are built
        /// with Go 1.26 or newer, once, and kept in the target folder.
        cmd control-plane {}

        /// Runs the end-to-end tests on a real control plane.
        ///
        /// First e2e, the scenarios; then kubectl, a table of its commands on both servers; then
        /// clients, operators of controller-runtime and kopf on both (built with Go and Python, each
        /// skipped where it is missing, failing then if CI=true); then processes, which runs the
        /// website example as an operator, stops, pauses and kills it, and kills kube-apiserver.
        cmd e2e {
            /// Leaves the control plane up until Ctrl-C, and prints how to talk to it.
            optional --keep
            /// Runs on the existing cluster of this kubeconfig; starts nothing. Only e2e.
            optional --kubeconfig path: PathBuf
            /// Runs on the existing cluster that the variable KUBECONFIG names; starts nothing. Only
            /// e2e.
            optional --use-kubeconfig
            /// Runs only this test program: e2e, kubectl, clients or processes.
            optional --test name: String
            /// Arguments of the test programs, after `--`: a filter, `--nocapture`, ...
            repeated args: OsString
        }

        /// Runs what a change must pass: all steps, or the named ones.
        ///
        /// Steps, in this order:
        ///   format    sources are formatted
        ///   rules     rules of the repository: dependencies between crates, sockets, clocks
        ///   clippy    no lint fires, all targets and features
        ///   test      all tests, with all features; end-to-end tests on the embedded server; checks
        ///             of metrics with promtool, from PATH or else Debian's package of prometheus,
        ///             are skipped where it cannot be had, fail then if CI=true
        ///   example   the website example shows what it should
        ///   alone     each published crate is tested alone, and checked with each feature alone
        ///   doc       documentation builds without a warning
        ///   deny      licenses, sources and bans of dependencies
        ///   fuzz      60 seconds of mutated requests to embedded servers
        ///   e2e       end-to-end tests on a real control plane, also of operators as processes, and
        ///             the check of the built-in types (see schemas, needs Go);
        ///             needs Go 1.26 or newer or KUBEBUILDER_ASSETS, is skipped where neither is
        ///             there, fails then if CI=true
        cmd ci {
            /// Goes on after a step that failed.
            optional --keep-going
            /// Names of steps.
            repeated steps: String
        }

        /// Writes the types of the built-in kinds, which the embedded API server knows, as a real
        /// server and its Go types tell them. Needs Go 1.26 or newer.
        cmd schemas {
            /// Writes nothing; fails if what is checked in differs.
            optional --check
        }

        /// Sends mutated requests to embedded servers; fails with the seed if one panics, hangs or
        /// answers what no client can read.
        cmd fuzz {
            /// For how many seconds; 60 if not given.
            optional --seconds seconds: u64
            /// Repeats a run that has printed this seed.
            optional --seed seed: u64
        }

        /// Runs the benchmarks.
        cmd bench {
            /// Few samples: is it alive, not how fast is it.
            optional --quick
            /// Arguments of the benchmark program, after `--`.
            repeated args: OsString
        }
    }
}

/// The help text, as `--help` prints it.
pub(crate) fn help() -> &'static str {
    Xtask::HELP_
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> xflags::Result<Xtask> {
        Xtask::from_vec(args.iter().map(OsString::from).collect())
    }

    #[test]
    fn no_argument_gives_the_overview() {
        let flags = parse(&[]).unwrap();
        assert!(matches!(flags.subcommand, XtaskCmd::Overview(_)));
    }

    #[test]
    fn test_arguments_follow_two_dashes() {
        let flags = parse(&[
            "e2e",
            "--keep",
            "--test",
            "e2e",
            "--",
            "panic",
            "--nocapture",
        ])
        .unwrap();
        let XtaskCmd::E2e(flags) = flags.subcommand else {
            panic!("expected e2e, got {flags:?}");
        };
        assert!(flags.keep);
        assert_eq!(flags.test.as_deref(), Some("e2e"));
        assert_eq!(flags.args, ["panic", "--nocapture"]);
    }

    #[test]
    fn unknown_commands_and_flags_are_refused() {
        assert!(parse(&["build"]).is_err());
        assert!(parse(&["e2e", "--kubecfg", "x"]).is_err());
    }
}
