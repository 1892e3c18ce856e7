//! What became of everything: objects, events, steps.

use std::io::{self, Write};
use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::Timestamp;

use super::cast::{CAST, Role};
use super::screen::{Paint, WIDTH, cut, wrap};
use super::snapshot::{Snapshot, repeats};
use super::tally::Tally;
use crate::website::WebsitePhase;

/// Prints it all.
pub fn print(out: &mut impl Write, end: &Snapshot, tally: &Tally, paint: Paint) -> io::Result<()> {
    print_objects(out, end, tally, paint)?;
    print_events(out, end, paint)?;
    print_steps(out, tally, paint)
}

fn print_objects(
    out: &mut impl Write,
    end: &Snapshot,
    tally: &Tally,
    paint: Paint,
) -> io::Result<()> {
    let header = format!(
        "{:<10}  {:<24}  {:<7}  {:>6}  {:>6}  LAST MESSAGE",
        "WEBSITE", "HOST", "PHASE", "PASSES", "FAILED"
    );
    writeln!(out, "\n{}", paint.strong(&header))?;
    for role in CAST {
        let site = end.sites.get(role.name);
        let host = site.map_or(role.host, |site| &site.spec.host);
        let phase = site.map(|site| {
            site.status
                .as_ref()
                .map_or(WebsitePhase::Pending, |status| status.phase)
        });
        let phase = match phase {
            Some(WebsitePhase::Ready) => paint.good("Ready  "),
            Some(WebsitePhase::Failed) => paint.bad("Failed "),
            Some(WebsitePhase::Pending) => "Pending".to_owned(),
            None => "Deleted".to_owned(),
        };
        let count = tally.object(role.name);
        let message = end
            .events_of(role.name)
            .iter()
            .max_by_key(|event| last(event))
            .and_then(|e| e.note.as_deref());
        let row = format!("{:<10}  {:<24}  ", cut(role.name, 10), cut(host, 24));
        let rest = format!("  {:>6}  {:>6}  ", count.runs, count.failed);
        let room = WIDTH - row.len() - 7 - rest.len();
        writeln!(
            out,
            "{row}{phase}{rest}{}",
            cut(message.unwrap_or_default(), room)
        )?;
    }
    Ok(())
}

/// As `kubectl describe` shows them, for each Website that has a story.
fn print_events(out: &mut impl Write, end: &Snapshot, paint: Paint) -> io::Result<()> {
    let now = Timestamp::now();
    writeln!(
        out,
        "\n{}",
        paint.strong("EVENTS (of those that are good from beginning to end: one as an example)")
    )?;
    let header = format!(
        "  {:<7}  {:<15}  {:<15}  {:<7}  MESSAGE",
        "TYPE", "REASON", "AGE", "FROM"
    );
    writeln!(out, "{}", paint.strong(&header))?;
    let dull: Vec<&Role> = CAST.iter().filter(|role| role.about.is_empty()).collect();
    for role in CAST
        .iter()
        .filter(|role| !role.about.is_empty())
        .chain(dull.into_iter().take(1))
    {
        let about = if role.about.is_empty() {
            "nothing happens to it"
        } else {
            role.about
        };
        writeln!(out, "{}: {about}", paint.strong(role.name))?;
        for event in end.events_of(role.name) {
            print_event(out, event, now, paint)?;
        }
    }
    Ok(())
}

fn print_event(
    out: &mut impl Write,
    event: &Event,
    now: Timestamp,
    paint: Paint,
) -> io::Result<()> {
    let kind = event.type_.as_deref().unwrap_or_default();
    let kind = if kind == "Warning" {
        paint.bad("Warning")
    } else {
        format!("{kind:<7}")
    };
    let before = format!(
        "  {:<15}  {:<15}  {:<7}  ",
        event.reason.as_deref().unwrap_or_default(),
        age(event, now),
        event.reporting_controller.as_deref().unwrap_or_default(),
    );
    let indent = 2 + 7 + before.len();
    let note = event.note.as_deref().unwrap_or_default();
    for (at, line) in wrap(note, WIDTH - indent).iter().enumerate() {
        if at == 0 {
            writeln!(out, "  {kind}{before}{line}")?;
        } else {
            writeln!(out, "{:indent$}{line}", "")?;
        }
    }
    Ok(())
}

fn print_steps(out: &mut impl Write, tally: &Tally, paint: Paint) -> io::Result<()> {
    let header = format!(
        "{:<10}  {:>5}  {:>6}  {:>9}  {:>9}",
        "STEP", "RUNS", "FAILED", "MEAN", "LONGEST"
    );
    writeln!(out, "\n{}", paint.strong(&header))?;
    let all = ("whole pass", tally.passes());
    for (step, count) in tally.steps().into_iter().chain([all]) {
        let mean = count.total.checked_div(count.runs).unwrap_or_default();
        writeln!(
            out,
            "{step:<10}  {:>5}  {:>6}  {:>9}  {:>9}",
            count.runs,
            count.failed,
            millis(mean),
            millis(count.longest)
        )?;
    }
    Ok(())
}

/// `2s`, or `2s (x3 over 5s)` for a series.
fn age(event: &Event, now: Timestamp) -> String {
    let (Some(first), Some(last)) = (first(event), last(event)) else {
        return "<unknown>".into();
    };
    let since = |time: Timestamp| now.as_second().saturating_sub(time.as_second()).max(0);
    match repeats(event) {
        ..=1 => format!("{}s", since(first)),
        count => format!("{}s (x{count} over {}s)", since(last), since(first)),
    }
}

fn first(event: &Event) -> Option<Timestamp> {
    event.event_time.as_ref().map(|time| time.0)
}

fn last(event: &Event) -> Option<Timestamp> {
    event
        .series
        .as_ref()
        .map(|series| series.last_observed_time.0)
        .or_else(|| first(event))
}

fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}
