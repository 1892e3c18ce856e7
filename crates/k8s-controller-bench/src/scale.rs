//! How big a run is.

/// How big a run is, from the arguments that cargo and its user give to a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    small: bool,
    filters: Vec<String>,
}

impl Scale {
    /// From the arguments of this process.
    #[must_use]
    pub fn from_args() -> Self {
        Self::parse(std::env::args().skip(1))
    }

    /// Small with `--quick`, and without the `--bench` that `cargo bench` gives: `cargo test`
    /// only sees whether a benchmark runs.
    fn parse(args: impl IntoIterator<Item = String>) -> Self {
        let (options, filters): (Vec<_>, Vec<_>) =
            args.into_iter().partition(|arg| arg.starts_with('-'));
        let given = |name: &str| options.iter().any(|option| option == name);
        Self {
            small: given("--quick") || !given("--bench"),
            filters,
        }
    }

    /// One of two sizes.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.small { quick } else { full }
    }

    /// Whether something of this name is asked for: without a filter, everything is.
    #[must_use]
    pub fn asks_for(&self, name: &str) -> bool {
        self.filters.is_empty()
            || self
                .filters
                .iter()
                .any(|filter| name.contains(filter.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(args: &[&str]) -> Scale {
        Scale::parse(args.iter().map(ToString::to_string))
    }

    #[test]
    fn only_cargo_bench_without_quick_is_full() {
        for (args, full) in [
            (&["--bench"][..], true),
            (&["publish", "--bench"], true),
            (&["--quick", "--bench"], false),
            (&[], false),
        ] {
            assert_eq!(scale(args).pick(true, false), full, "{args:?}");
        }
    }

    #[test]
    fn filters_choose() {
        assert!(scale(&["--bench"]).asks_for("memory"));
        assert!(scale(&["mem", "--bench"]).asks_for("memory"));
        assert!(!scale(&["publish", "--bench"]).asks_for("memory"));
    }
}
