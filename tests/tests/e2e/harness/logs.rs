//! What a scenario logged: events and closed spans with their fields.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

type Fields = BTreeMap<String, String>;

/// One log line, or one span at the moment it closed.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) target: String,
    /// The name of a span; empty for an event.
    pub(crate) span: String,
    pub(crate) fields: Fields,
    /// Fields of the spans around it, the outermost first.
    pub(crate) around: Vec<(String, Fields)>,
}

impl Line {
    /// The value of a field of the line, or of a span around it.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .get(name)
            .or_else(|| {
                self.around
                    .iter()
                    .rev()
                    .find_map(|(_, fields)| fields.get(name))
            })
            .map(String::as_str)
    }

    /// Whether the line, one of its fields or one of the fields around it contains the text.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        self.fields
            .values()
            .chain(self.around.iter().flat_map(|(_, fields)| fields.values()))
            .any(|v| v.contains(text))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:5} {} {}", self.level, self.target, self.span)?;
        for (name, fields) in &self.around {
            write!(f, " {name}{fields:?}")?;
        }
        write!(f, " {:?}", self.fields)
    }
}

/// The log of one scenario.
#[derive(Clone, Default)]
pub(crate) struct Logs(Arc<Mutex<Vec<Line>>>);

impl Logs {
    /// Captures what this thread logs until the guard is dropped.
    pub(crate) fn capture(&self) -> tracing::subscriber::DefaultGuard {
        tracing::subscriber::set_default(tracing_subscriber::registry().with(self.clone()))
    }

    pub(crate) fn all(&self) -> Vec<Line> {
        self.0.lock().unwrap().clone()
    }

    /// Lines (no spans) for which the test is true.
    pub(crate) fn lines(&self, test: impl Fn(&Line) -> bool) -> Vec<Line> {
        self.all()
            .into_iter()
            .filter(|line| line.span.is_empty() && test(line))
            .collect()
    }

    /// Lines of this project's crates at a level.
    pub(crate) fn at(&self, level: Level) -> Vec<Line> {
        self.lines(|line| line.level == level && line.target.starts_with("k8s_controller"))
    }

    /// Closed spans of a name.
    pub(crate) fn spans(&self, name: &str) -> Vec<Line> {
        self.all()
            .into_iter()
            .filter(|line| line.span == name)
            .collect()
    }

    /// The last lines, for the report of a failed scenario.
    pub(crate) fn tail(&self, count: usize) -> String {
        let lines = self.all();
        lines[lines.len().saturating_sub(count)..]
            .iter()
            .fold(String::new(), |mut text, line| {
                let _ = writeln!(text, "  {line}");
                text
            })
    }
}

#[derive(Default)]
struct Collect(Fields);

impl Visit for Collect {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Logs {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        let lowest = if metadata.target().starts_with("k8s_") {
            Level::DEBUG
        } else {
            Level::WARN
        };
        *metadata.level() <= lowest
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Collect::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Collect>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Collect::default();
        event.record(&mut fields);
        let around = context
            .event_scope(event)
            .into_iter()
            .flat_map(tracing_subscriber::registry::Scope::from_root)
            .map(|span| {
                let fields = span
                    .extensions()
                    .get::<Collect>()
                    .map(|fields| fields.0.clone())
                    .unwrap_or_default();
                (span.name().to_owned(), fields)
            });
        let line = Line {
            level: *event.metadata().level(),
            target: event.metadata().target().to_owned(),
            span: String::new(),
            fields: fields.0,
            around: around.collect(),
        };
        self.0.lock().unwrap().push(line);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let fields = span
            .extensions()
            .get::<Collect>()
            .map(|fields| fields.0.clone())
            .unwrap_or_default();
        let line = Line {
            level: *span.metadata().level(),
            target: span.metadata().target().to_owned(),
            span: span.name().to_owned(),
            fields,
            around: Vec::new(),
        };
        self.0.lock().unwrap().push(line);
    }
}
