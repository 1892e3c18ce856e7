//! Paths of fields.

/// The way to a value, as strict decoding prints it: `spec.list[1].name`.
#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<String>);

impl Steps {
    pub(crate) fn push_key(&mut self, key: &str) {
        let step = if self.0.is_empty() {
            key.to_owned()
        } else {
            format!(".{key}")
        };
        self.0.push(step);
    }

    pub(crate) fn push_index(&mut self, index: usize) {
        self.0.push(format!("[{index}]"));
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of a field here.
    pub(crate) fn with_key(&self, key: &str) -> String {
        let mut path = self.0.concat();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
        path
    }
}

/// A path in an error; the root has none and prints as `<nil>`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path(Option<String>);

impl Path {
    pub(crate) fn root() -> Self {
        Self(None)
    }

    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self(Some(path.into()))
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        Self::new(match &self.0 {
            Some(path) => format!("{path}.{name}"),
            None => name.to_owned(),
        })
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        let path = self.0.as_deref().unwrap_or_default();
        Self::new(format!("{path}[{key}]"))
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        let path = self.0.as_deref().unwrap_or_default();
        Self::new(format!("{path}[{index}]"))
    }

    /// As an error says it.
    pub(crate) fn text(&self) -> String {
        self.0.clone().unwrap_or_else(|| "<nil>".into())
    }
}
