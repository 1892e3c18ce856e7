//! What sources of published crates must not do outside the place that is there for it.

/// Where sockets may be opened: the admin server, the embedded server's HTTP front and its client of webhooks, and the
/// program around that.
const SOCKET_PLACES: [&str; 4] = [
    "crates/k8s-controller-admin/src/",
    "crates/k8s-embedded-apiserver/src/http/",
    "crates/k8s-embedded-apiserver/src/admission/https.rs",
    "crates/k8s-embedded-apiserver/src/main.rs",
];

const SOCKETS: [&str; 6] = [
    "TcpListener",
    "TcpStream",
    "TcpSocket",
    "UdpSocket",
    "UnixListener",
    "UnixStream",
];

const WALL_CLOCKS: [&str; 4] = ["SystemTime", "Timestamp::now", "Zoned::now", "Utc::now"];

const RANDOMNESS: [&str; 5] = [
    "rand::rng(",
    "rand::random",
    "rand::make_rng",
    "SysRng",
    "RandomState::new",
];

const FACADE: &str = "k8s-controller";

/// Checks the sources of one crate, given as pairs of path and text.
pub(super) fn breaches(member: &str, files: &[(String, String)]) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut clocks = Vec::new();
    let mut random = Vec::new();
    let tests = test_modules(files);
    for (path, text) in files {
        if tests.iter().any(|test| is_in(path, test)) {
            continue;
        }
        let code = Code { path, text };
        if !SOCKET_PLACES.iter().any(|place| path.starts_with(place)) {
            breaches.extend(code.hits("opens a socket", |line| has_any(line, &SOCKETS)));
        }
        breaches.extend(code.hits("reads std's clock; use tokio's", reads_std_instant));
        breaches.extend(code.hits("drops the handle of a task", drops_task));
        if member == FACADE {
            breaches.extend(code.hits("has logic; the facade has none", is_logic));
        }
        if code.has(|line| has_any(line, &WALL_CLOCKS)) {
            clocks.push(path.as_str());
        }
        if code.has(|line| has_any(line, &RANDOMNESS)) {
            random.push(path.as_str());
        }
    }
    for (what, places) in [
        ("reads the wall clock", clocks),
        ("takes randomness", random),
    ] {
        if places.len() > 1 {
            breaches.push(format!(
                "{member}: {what} in more than one file: {}",
                places.join(", ")
            ));
        }
    }
    breaches
}

/// The paths, without an ending, of modules that are files of their own and only there for tests.
fn test_modules(files: &[(String, String)]) -> Vec<String> {
    let mut modules = Vec::new();
    for (path, text) in files {
        let place = ["/lib.rs", "/main.rs", "/mod.rs", ".rs"]
            .iter()
            .find_map(|end| path.strip_suffix(end))
            .unwrap_or(path);
        let mut lines = text.lines().map(str::trim);
        while lines.any(|line| line == "#[cfg(test)]") {
            let name = lines.next().and_then(|line| {
                let line = line.trim_start_matches("pub(crate) ");
                line.strip_prefix("mod ")?.strip_suffix(';')
            });
            modules.extend(name.map(|name| format!("{place}/{name}")));
        }
    }
    modules
}

fn is_in(path: &str, module: &str) -> bool {
    path.strip_prefix(module)
        .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

struct Code<'a> {
    path: &'a str,
    text: &'a str,
}

impl Code<'_> {
    /// Lines of code with their numbers, without comments and without the tests, which come last.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_test = self.path.ends_with("tests.rs") || self.path.contains("/tests/");
        self.text
            .lines()
            .take_while(move |line| !is_test && *line != "#[cfg(test)]")
            .map(str::trim)
            .enumerate()
            .filter(|(_, line)| !line.starts_with("//"))
            .map(|(at, line)| (at + 1, line))
    }

    fn has(&self, wrong: impl Fn(&str) -> bool) -> bool {
        self.lines().any(|(_, line)| wrong(line))
    }

    fn hits(&self, what: &str, wrong: impl Fn(&str) -> bool) -> Vec<String> {
        self.lines()
            .filter(|(_, line)| wrong(line))
            .map(|(number, _)| format!("{}:{number} {what}", self.path))
            .collect()
    }
}

fn has_any(line: &str, words: &[&str]) -> bool {
    words.iter().any(|word| line.contains(word))
}

fn reads_std_instant(line: &str) -> bool {
    line.contains("std::time::Instant")
        || (line.starts_with("use std::time::") && line.contains("Instant"))
        || (line.starts_with("time::{") && line.contains("Instant"))
}

/// A statement that starts a task and keeps nothing of it.
fn drops_task(line: &str) -> bool {
    line.starts_with("tokio::spawn(") || line.starts_with("let _ = tokio::spawn(")
}

fn is_logic(line: &str) -> bool {
    let line = line.trim_start_matches("pub ");
    [
        "fn ",
        "async fn ",
        "const fn ",
        "impl ",
        "impl<",
        "macro_rules!",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(member: &str, files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|&(path, text)| (path.into(), text.into()))
            .collect();
        breaches(member, &files)
    }

    #[test]
    fn sockets_belong_to_the_front() {
        let text = "use tokio::net::TcpListener;\n";
        let front = "crates/k8s-embedded-apiserver/src/http/listen.rs";
        assert!(of("k8s-embedded-apiserver", &[(front, text)]).is_empty());
        let elsewhere = "crates/k8s-embedded-apiserver/src/store.rs";
        assert_eq!(
            of("k8s-embedded-apiserver", &[(elsewhere, text)]),
            ["crates/k8s-embedded-apiserver/src/store.rs:1 opens a socket"]
        );
    }

    #[test]
    fn comments_and_tests_are_free() {
        let text =
            "// No TcpListener here.\nfn f() {}\n#[cfg(test)]\nmod tests {\n TcpListener\n}\n";
        assert!(of("a", &[("crates/a/src/lib.rs", text)]).is_empty());
        assert!(of("a", &[("crates/a/src/x/tests.rs", "TcpStream")]).is_empty());
        assert!(of("a", &[("crates/a/src/x_tests.rs", "TcpStream")]).is_empty());
    }

    #[test]
    fn modules_for_tests_are_free() {
        let bad = "tokio::spawn(f);\n";
        let breaches = of(
            "a",
            &[
                (
                    "crates/a/src/lib.rs",
                    "#[cfg(test)]\nmod play;\nmod plays;\n",
                ),
                ("crates/a/src/play/mod.rs", bad),
                ("crates/a/src/plays.rs", "#[cfg(test)]\nmod inner;\n"),
                ("crates/a/src/plays/inner.rs", bad),
                ("crates/a/src/plays/outer.rs", bad),
            ],
        );
        assert_eq!(
            breaches,
            ["crates/a/src/plays/outer.rs:1 drops the handle of a task"]
        );
    }

    #[test]
    fn one_file_of_a_crate_has_the_clock() {
        let text = "let now = Timestamp::now();";
        assert!(of("a", &[("a/clock.rs", text), ("a/lib.rs", "")]).is_empty());
        let two = of(
            "a",
            &[
                ("a/clock.rs", text),
                ("a/lib.rs", "std::time::SystemTime::now()"),
            ],
        );
        assert_eq!(
            two,
            ["a: reads the wall clock in more than one file: a/clock.rs, a/lib.rs"]
        );
    }

    #[test]
    fn randomness_has_one_place_too() {
        let two = of(
            "a",
            &[
                ("a/x.rs", "rand::rng()"),
                ("a/y.rs", "rand::random::<u8>()"),
            ],
        );
        assert_eq!(
            two,
            ["a: takes randomness in more than one file: a/x.rs, a/y.rs"]
        );
    }

    #[test]
    fn tasks_and_instants() {
        let text =
            "use std::time::{Duration, Instant};\ntokio::spawn(f());\nlet t = tokio::spawn(f());\n";
        let found = of("a", &[("a/lib.rs", text)]);
        assert_eq!(
            found,
            [
                "a/lib.rs:1 reads std's clock; use tokio's",
                "a/lib.rs:2 drops the handle of a task"
            ]
        );
        assert!(
            of(
                "a",
                &[(
                    "a/lib.rs",
                    "use std::time::Duration;\nuse tokio::time::Instant;"
                )]
            )
            .is_empty()
        );
    }

    #[test]
    fn the_facade_only_names_things() {
        let text = "pub use k8s_controller_error::Error;\npub mod events {\n    pub use x::*;\n}\n";
        assert!(of(FACADE, &[("lib.rs", text)]).is_empty());
        assert_eq!(of(FACADE, &[("lib.rs", "pub fn helper() {}")]).len(), 1);
    }
}
