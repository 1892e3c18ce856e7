//! What the audience sees while it waits, and how lines are made to fit.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use tokio::time::Instant;

/// The width that everything is made for.
pub const WIDTH: usize = 100;
/// How often progress is reported where lines cannot be overwritten.
const PLAIN_PERIOD: Duration = Duration::from_secs(1);

/// Progress, on standard error: one line that is overwritten on a terminal, else a line now and then.
#[derive(Debug)]
pub struct Screen {
    started: Instant,
    overwrite: bool,
    last_line: Option<Instant>,
}

impl Screen {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            overwrite: stderr().is_terminal(),
            last_line: None,
        }
    }

    /// How long the demonstration has been running.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// A line that stays.
    pub fn announce(&mut self, text: &str) {
        self.clear();
        eprintln!("{text}");
        self.last_line = Some(Instant::now());
    }

    /// A line that the next one replaces.
    pub fn progress(&mut self, text: &str) {
        let line = cut(
            &format!("  [{:4.1} s] {text}", self.elapsed().as_secs_f32()),
            WIDTH,
        );
        if self.overwrite {
            // Without the wrapping of lines, since what a narrow terminal has wrapped cannot be overwritten.
            eprint!("\r\x1b[K\x1b[?7l{line}\x1b[?7h");
            let _ = stderr().flush();
        } else if self
            .last_line
            .is_none_or(|last| last.elapsed() >= PLAIN_PERIOD)
        {
            eprintln!("{line}");
            self.last_line = Some(Instant::now());
        }
    }

    /// Takes the progress line away.
    pub fn clear(&mut self) {
        if self.overwrite {
            eprint!("\r\x1b[K");
            let _ = stderr().flush();
        }
    }
}

/// Colours, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paint(bool);

impl Paint {
    /// Colours if standard output is a terminal and `NO_COLOR` is not set.
    pub fn for_stdout() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self(wanted && stdout().is_terminal())
    }

    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// `text` in one line of at most `width` characters.
pub fn cut(text: &str, width: usize) -> String {
    let text = text.replace('\n', " ");
    if text.chars().count() <= width {
        return text;
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{kept}...")
}

/// `text` in lines of at most `width` characters, broken at spaces where there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word = word.to_owned();
        loop {
            let line = lines.last_mut().filter(|line| !line.is_empty());
            let used = line.as_ref().map_or(0, |line| line.chars().count() + 1);
            match line {
                Some(line) if used + word.chars().count() <= width => {
                    line.push(' ');
                    line.push_str(&word);
                    break;
                }
                Some(_) => lines.push(String::new()),
                None => {
                    let rest = word
                        .char_indices()
                        .nth(width)
                        .map(|(at, _)| word.split_off(at));
                    lines.pop();
                    lines.push(word);
                    let Some(rest) = rest else { break };
                    lines.push(String::new());
                    word = rest;
                }
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_keeps_to_the_width() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("äöü and more", 6), "äöü...");
        assert_eq!(cut("two\nlines", 20), "two lines");
    }

    #[test]
    fn wrap_breaks_at_spaces_and_inside_long_words() {
        assert_eq!(wrap("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
