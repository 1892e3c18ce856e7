//! End-to-end scenarios, each on two servers by the same code.
//!
//! `embedded::NAME` runs on the embedded API server in virtual time. `real::NAME` runs on the
//! server of the kubeconfig that the environment variable `K8S_CONTROLLER_E2E_KUBECONFIG` names,
//! in real time and in a namespace of its own, and is ignored without that variable.
//! Arguments are those of the standard test harness.

// In a test, a panic is the failure. A scenario is one story, and may take more than a screen.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::too_many_lines)]
// A constant stands where it is used, and a closure shows what it is given.
#![allow(
    clippy::items_after_statements,
    clippy::redundant_closure_for_method_calls
)]

mod harness;
mod scenarios;

use std::process::ExitCode;

use futures::future::FutureExt as _;
use harness::trial;
use libtest_mimic::Arguments;

macro_rules! scenarios {
    ($($module:ident { $($name:ident),* $(,)? })*) => {
        [$($((
            concat!(stringify!($module), "::", stringify!($name)),
            (|cluster| scenarios::$module::$name(cluster).boxed_local()) as trial::Scenario,
        )),*),*]
    };
}

fn main() -> ExitCode {
    let scenarios = scenarios! {
        finalizers {
            added_then_cleanup_waits_twice_then_gone,
            deletion_while_the_controller_is_down,
            two_controllers_with_different_finalizers,
            refused_by_validation,
            answer_to_adding_is_lost,
            answer_to_removing_is_lost,
        }
        writers {
            concurrent_writer_while_adding,
            concurrent_writer_while_removing,
            gone_while_adding,
            deleted_while_adding,
            recreated_while_adding,
        }
        conditions {
            controller_settles,
            time_of_the_transition_is_kept,
            written_by_patch_and_by_update,
            schema_demands_what_check_demands,
        }
        conflicts {
            stale_replace_is_a_conflict,
            conflicts_about_another_object,
        }
        failures {
            panic_in_apply,
            panic_in_cleanup,
            chains_are_readable,
            failure_event_may_be_withheld,
        }
        counting {
            recreated_object_starts_at_zero,
            recreated_behind_the_watch,
            success_restarts_the_count,
            terminal_error_waits_for_a_change,
            retry_after_is_honoured,
        }
        events {
            accepted_for_all_sorts_of_objects,
            long_note_is_cut,
            terminating_namespace_drops_quietly,
            taken_name,
            timeout,
            refused_events_do_not_fail_passes,
            both_event_groups_show_it,
        }
        series {
            failing_apply_is_one_series_until_it_succeeds,
            deleted_event_is_created_again,
            equal_events_are_one_series,
        }
        refusals {
            refused_before_sending,
            bad_reporters,
            server_has_the_same_limits,
        }
        running {
            cancelled_pass_is_abandoned,
            owner_of_namespaced_children_runs_one_pass_at_a_time,
            concurrency_is_finite,
            status_updates_settle,
        }
        observing {
            metadata_reaches_span_observer_and_events,
            panicking_observer_takes_nothing_down,
            default_names,
        }
        watching {
            all_namespaces,
            ways_to_list,
            short_watches_miss_nothing,
            leaving_the_selector,
            watch_that_ends_in_the_middle_of_a_line,
            watch_that_breaks_in_the_middle_of_a_line,
            expired_watch,
        }
        timeouts {
            hanging_pass_fails_and_is_retried,
            hanging_cleanup_keeps_the_finalizer,
            hanging_finalizer_requests_time_out,
        }
        stopping {
            running_passes_end,
            slow_passes_are_abandoned,
            server_that_never_answers,
            server_that_forbids,
            server_that_stops_answering,
        }
        leading {
            taken_renewed_and_released,
            another_takes_over,
            lease_edited_by_hand,
            lease_deleted_while_held,
            lease_created_by_hand,
            fenced_client_writes_only_while_it_leads,
            names_as_servers_take_them,
        }
        nonsense {
            lists_that_are_no_json,
            lists_that_are_no_lists,
            answers_to_the_finalizer_patch,
            answers_to_events,
            events_of_failures_that_meet_nonsense,
            watch_that_talks_nonsense,
            forbidden_list,
            slow_server,
        }
        objects {
            object_without_uid,
            object_without_namespace,
            event_about_an_object_without_uid,
        }
        sites {
            objects_that_own_others_and_share_one,
        }
    };
    trial::keep_panics();
    let mut arguments = Arguments::from_args();
    // Scenarios on a real server mostly wait, so more of them than there are processors run at once.
    arguments.test_threads = arguments.test_threads.or(Some(8));
    let trials = scenarios.iter().flat_map(|(name, scenario)| {
        [
            trial::embedded(name, *scenario),
            trial::real(name, *scenario),
        ]
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
