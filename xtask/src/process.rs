//! Processes that end with this program, however it ends.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::Write,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::{signals::Signals, workspace};

/// How often a running process is looked at.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// The exit code of a [`Guarded`] process that SIGKILL ended, as shells have it.
pub(crate) const KILLED: i32 = 128 + 9;

/// What a [`Guarded`] process is started with.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The working folder; `None` is this program's.
    pub folder: Option<PathBuf>,
    /// Variables to set, or with `None` to remove.
    pub env: Vec<(&'static str, Option<OsString>)>,
    /// The file for its output, which is appended to; `None` is this program's stdout and stderr.
    pub log: Option<PathBuf>,
    /// The file that is to hold the id of the process.
    pub pid_file: Option<PathBuf>,
    /// A folder that nobody else removes if this program is killed.
    pub orphaned_folder: Option<PathBuf>,
    /// How long it may take to end after SIGTERM before it is killed; in steps of 0.1 s.
    pub patience: Duration,
}

impl Spec {
    /// A command with this program's output, folder and environment.
    pub(crate) fn new<I>(command: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            folder: None,
            env: Vec::new(),
            log: None,
            pid_file: None,
            orphaned_folder: None,
            patience: Duration::from_secs(5),
        }
    }
}

/// A process in a group of its own, whose whole group ends when this value is dropped, and also
/// when this program ends without dropping it, be it by SIGKILL.
///
/// Between the two stands a shell that reads a pipe which only this program can write to: a line
/// is the order to end the group, and so is the end of the pipe.
#[derive(Debug)]
pub(crate) struct Guarded {
    shell: Child,
    order: Option<ChildStdin>,
    patience: Duration,
}

/// `$1` is the folder to remove if the pipe ended without an order, `$2` the tenths of a second
/// between SIGTERM and SIGKILL, `$3` the file for the id of the process, or empty; the rest is the
/// command.
///
/// The shell is the leader of the group that process id 0 means. Its own trap keeps it alive until
/// the command has ended.
const GUARD: &str = r#"
exec 3<&0 </dev/null
folder=$1
patience=$2
pid_file=$3
shift 3
stopping=
orphaned=
trap 'stopping=1' TERM
trap 'orphaned=1' USR1
"$@" 3<&- &
command=$!
if [ -n "$pid_file" ]; then echo $command >"$pid_file.new" && mv "$pid_file.new" "$pid_file"; fi
(
    trap : TERM
    read -r _ <&3 || kill -s USR1 $$
    kill -s TERM 0
    tries=0
    while [ $tries -lt $patience ] && kill -s 0 $command 2>/dev/null; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -s KILL $command 2>/dev/null
) 2>/dev/null &
guard=$!
while :; do
    wait $command 2>/dev/null
    status=$?
    kill -s 0 $command 2>/dev/null || break
done
if [ -n "$stopping" ]; then
    if [ -n "$orphaned" ] && [ -n "$folder" ]; then rm -rf "$folder"; fi
    kill -s KILL 0
fi
kill -s KILL $guard 2>/dev/null
exit $status
"#;

impl Guarded {
    /// Starts a process.
    ///
    /// # Errors
    ///
    /// If its log file or the shell cannot be opened. A program that does not exist shows as exit
    /// status 127 of the process.
    pub(crate) fn spawn(spec: &Spec) -> Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", GUARD, "guard"]);
        shell.arg(spec.orphaned_folder.as_deref().unwrap_or(Path::new("")));
        shell.arg((spec.patience.as_millis() / 100).to_string());
        shell.arg(spec.pid_file.as_deref().unwrap_or(Path::new("")));
        shell.args(&spec.command);
        shell.stdin(Stdio::piped()).process_group(0);
        if let Some(folder) = &spec.folder {
            shell.current_dir(folder);
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_cargo_run(name)) {
            shell.env_remove(name);
        }
        for (name, value) in &spec.env {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(log) = &spec.log {
            let file = File::options()
                .create(true)
                .append(true)
                .open(log)
                .with_context(|| format!("cannot write {}", log.display()))?;
            shell.stderr(file.try_clone().context("cannot share a log file")?);
            shell.stdout(file);
        }
        let mut shell = shell.spawn().context("cannot start sh")?;
        let order = shell.stdin.take();
        Ok(Self {
            shell,
            order,
            patience: spec.patience,
        })
    }

    /// Its exit status, once it has ended.
    pub(crate) fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.shell.try_wait().context("cannot wait for a process")
    }

    /// Waits until it has ended; a caught signal ends it and is the error.
    pub(crate) fn wait(self, signals: &Signals) -> Result<ExitStatus> {
        self.wait_while(|| Ok(signals.check()?))
    }

    /// Waits until it has ended; an error of `check`, which is called often, ends it.
    pub(crate) fn wait_while(
        mut self,
        mut check: impl FnMut() -> Result<()>,
    ) -> Result<ExitStatus> {
        loop {
            check()?;
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            thread::sleep(POLL);
        }
    }

    /// Orders it to end, without waiting.
    fn order_end(&mut self) {
        if let Some(mut order) = self.order.take() {
            // A broken pipe means that it has ended already.
            let _ = order.write_all(b"end\n");
        }
    }

    /// Kills the group, where the shell did not; somebody may have killed a part of it.
    fn kill(&mut self) {
        let group = format!("kill -s KILL -- -{}", self.shell.id());
        let _ = Command::new("sh").args(["-c", &group]).status();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.order_end();
        let limit = Instant::now() + self.patience + Duration::from_secs(2);
        while matches!(self.shell.try_wait(), Ok(None)) {
            if Instant::now() > limit {
                self.kill();
                let _ = self.shell.wait();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether Cargo has set a variable for this program.
///
/// A Cargo that this program starts must not see them: build scripts of some crates (ring's) run
/// again when they change, so that it would build those anew after each call from elsewhere.
fn is_of_cargo_run(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Runs a command to its end; it shares this program's output.
///
/// # Errors
///
/// If it cannot be started, fails, or a signal is caught.
pub(crate) fn run(spec: &Spec, signals: &Signals) -> Result<()> {
    run_while(spec, || Ok(signals.check()?))
}

/// Like [`run`], until `check` errs.
pub(crate) fn run_while(spec: &Spec, check: impl FnMut() -> Result<()>) -> Result<()> {
    let shown = shown(&spec.command);
    eprintln!("$ {shown}");
    let status = Guarded::spawn(spec)?.wait_while(check)?;
    anyhow::ensure!(status.success(), "`{shown}` failed: {status}");
    Ok(())
}

/// As somebody would type it.
fn shown(command: &[OsString]) -> String {
    let words = command.iter().map(|word| {
        if Path::new(word) == Path::new(&workspace::cargo()) {
            "cargo".into()
        } else {
            word.to_string_lossy()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The command writes the ids of itself and of a child to a file and sleeps; with `deaf` both
    /// ignore SIGTERM.
    fn sleeper(folder: &Path, deaf: bool) -> (Guarded, Vec<String>) {
        let trap = if deaf { "trap '' TERM;" } else { "" };
        let script =
            format!("{trap} sleep 1000 & echo $$ $! > ids.new; mv ids.new ids; wait; wait");
        let mut spec = Spec::new(["sh", "-c", &script]);
        spec.folder = Some(folder.into());
        spec.patience = if deaf {
            Duration::from_millis(200)
        } else {
            Duration::from_secs(60)
        };
        let guarded = Guarded::spawn(&spec).unwrap();
        until(|| folder.join("ids").exists());
        let ids = fs::read_to_string(folder.join("ids")).unwrap();
        (guarded, ids.split_whitespace().map(str::to_owned).collect())
    }

    fn until(mut done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !done() {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "still waiting after 30 s"
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ids and parents of all processes that have not ended.
    fn processes() -> Vec<(String, String)> {
        let output = Command::new("sh")
            .args([
                "-c",
                "cat /proc/[0-9]*/stat 2>/dev/null || ps -A -o pid=,stat=,ppid=",
            ])
            .output()
            .unwrap();
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        lines
            .lines()
            .filter_map(|line| {
                // The name may contain blanks, and in /proc stands in parentheses.
                let (id, rest) = line.trim().split_once(' ')?;
                let rest = rest.rsplit_once(") ").map_or(rest, |(_, rest)| rest);
                let mut words = rest.split_whitespace();
                let (state, parent) = (words.next()?, words.next()?);
                (!state.starts_with('Z')).then(|| (id.to_owned(), parent.to_owned()))
            })
            .collect()
    }

    fn alive(id: &str) -> bool {
        processes().iter().any(|(other, _)| other == id)
    }

    fn assert_end(ids: &[String]) {
        assert_eq!(ids.len(), 2, "{ids:?}");
        until(|| !ids.iter().any(|id| alive(id)));
    }

    #[test]
    fn the_status_is_that_of_the_command() {
        let guarded = Guarded::spawn(&Spec::new(["sh", "-c", "exit 7"])).unwrap();
        let status = guarded.wait(&Signals::default()).unwrap();
        assert_eq!(status.code(), Some(7));
    }

    #[test]
    fn what_cargo_sets_for_this_program_is_not_handed_on() {
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let script = r#"[ -z "$CARGO_PKG_NAME$CARGO_MANIFEST_DIR" ]"#;
        let guarded = Guarded::spawn(&Spec::new(["sh", "-c", script])).unwrap();
        assert!(guarded.wait(&Signals::default()).unwrap().success());
    }

    #[test]
    fn a_missing_program_is_status_127() {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = Spec::new(["no-such-program"]);
        spec.log = Some(folder.path().join("log"));
        let status = Guarded::spawn(&spec)
            .unwrap()
            .wait(&Signals::default())
            .unwrap();
        assert_eq!(status.code(), Some(127));
        assert!(
            fs::read_to_string(folder.path().join("log"))
                .unwrap()
                .contains("no-such-program")
        );
    }

    #[test]
    fn the_id_of_the_process_is_told_and_its_log_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut spec = Spec::new(["sh", "-c", "echo started; exec sleep 1000"]);
        spec.log = Some(path("log"));
        spec.pid_file = Some(path("pid"));
        let lines = || {
            let text = fs::read_to_string(path("log")).unwrap_or_default();
            text.lines().count()
        };

        let mut guarded = Guarded::spawn(&spec).unwrap();
        until(|| path("pid").exists() && lines() == 1);
        let id = fs::read_to_string(path("pid")).unwrap();
        Command::new("kill")
            .args(["-KILL", id.trim()])
            .status()
            .unwrap();
        until(|| guarded.try_wait().unwrap().is_some());
        let status = guarded.try_wait().unwrap().unwrap();
        assert_eq!(status.code(), Some(KILLED));

        let _again = Guarded::spawn(&spec).unwrap();
        until(|| fs::read_to_string(path("pid")).unwrap() != id && lines() == 2);
    }

    #[test]
    fn dropping_ends_the_whole_group() {
        let folder = tempfile::tempdir().unwrap();
        let (guarded, ids) = sleeper(folder.path(), false);
        assert!(ids.iter().all(|id| alive(id)));
        drop(guarded);
        assert_end(&ids);
    }

    #[test]
    fn a_group_deaf_to_sigterm_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let (guarded, ids) = sleeper(folder.path(), true);
        drop(guarded);
        assert_end(&ids);
    }

    #[test]
    fn a_group_whose_guard_was_killed_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut guarded, ids) = sleeper(folder.path(), false);
        let shell = guarded.shell.id().to_string();
        let processes = processes();
        let (guard, _) = processes
            .iter()
            .find(|(id, parent)| *parent == shell && *id != ids[0])
            .unwrap();
        Command::new("kill")
            .args(["-KILL", guard])
            .status()
            .unwrap();
        guarded.patience = Duration::ZERO;
        drop(guarded);
        assert_end(&ids);
    }

    #[test]
    fn the_end_of_the_pipe_ends_the_group_and_removes_the_folder() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("data");
        fs::create_dir(&folder).unwrap();
        let mut spec = Spec::new([
            "sh",
            "-c",
            "echo $$ $$ > ids.new; mv ids.new ids; exec sleep 1000",
        ]);
        spec.folder = Some(folder.clone());
        spec.orphaned_folder = Some(folder.clone());
        let mut guarded = Guarded::spawn(&spec).unwrap();
        until(|| folder.join("ids").exists());
        let ids = fs::read_to_string(folder.join("ids")).unwrap();
        let ids: Vec<_> = ids.split_whitespace().map(str::to_owned).collect();

        // What the shell sees when this program is killed.
        drop(guarded.order.take());
        assert_end(&ids);
        until(|| !folder.exists());
    }

    #[test]
    fn an_ordered_end_leaves_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = Spec::new(["sleep", "1000"]);
        spec.orphaned_folder = Some(folder.path().into());
        drop(Guarded::spawn(&spec).unwrap());
        assert!(folder.path().exists());
    }
}
