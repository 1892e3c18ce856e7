//! Builds the programs from the Go module, once for each state of what they are made of.

use std::{
    fs::{self, File, TryLockError},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, anyhow};

use super::{ASSETS, Folder, PROGRAMS, check, go, names};
use crate::{
    process::{self, Spec},
    signals::Signals,
    workspace,
};

/// The Go module that requires Kubernetes.
pub(crate) fn module() -> PathBuf {
    workspace::root().join("xtask/control-plane")
}

/// The programs from `cache`, built first if this state of the module is not there yet.
pub(crate) fn cached(cache: &Path, signals: &Signals) -> Result<Folder> {
    let go = go::version()
        .map_err(|error| anyhow!("{error:#}; or a folder with the programs, in {ASSETS}"))?;
    let recipe = Recipe::read(&module(), &go)?;
    let folder = cache.join(recipe.key());
    if folder.is_dir() {
        return Ok(Folder(folder));
    }
    fs::create_dir_all(cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let _lock = lock(&cache.join("lock"))?;
    // Another call may have built it while this one waited.
    if !folder.is_dir() {
        remove_unfinished(cache)?;
        let unfinished = cache.join(format!("{UNFINISHED}{}", std::process::id()));
        build(&recipe, &unfinished, signals)?;
        fs::rename(&unfinished, &folder)
            .with_context(|| format!("cannot rename {}", unfinished.display()))?;
    }
    Ok(Folder(folder))
}

const UNFINISHED: &str = "unfinished-";

/// All that decides what comes out of a build.
#[derive(Debug, Hash)]
struct Recipe {
    kubernetes: String,
    go: String,
    platform: String,
    flags: Vec<String>,
    /// Names and contents of the module's files; go.mod first.
    files: Vec<(String, String)>,
}

impl Recipe {
    fn read(module: &Path, go: &go::Go) -> Result<Self> {
        let mut files = Vec::new();
        let paths = ["go.mod".to_owned(), "go.sum".to_owned()]
            .into_iter()
            .chain(PROGRAMS.iter().map(|program| format!("{program}/main.go")));
        for path in paths {
            let text = fs::read_to_string(module.join(&path))
                .with_context(|| format!("cannot read {}", module.join(&path).display()))?;
            files.push((path, text));
        }
        let go_mod = &files[0].1;
        let kubernetes = required(go_mod, "k8s.io/kubernetes")
            .context("go.mod does not require k8s.io/kubernetes")?;
        Ok(Self {
            flags: flags(&kubernetes),
            kubernetes,
            go: go.version.clone(),
            platform: go.platform.clone(),
            files,
        })
    }

    /// The name of the folder for this recipe: the Kubernetes version, for people, and a hash.
    ///
    /// The hash may differ between releases of Rust, which costs a build and nothing else.
    fn key(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        format!("{}-{:016x}", self.kubernetes, hasher.finish())
    }
}

/// The version that a go.mod requires of a module.
fn required(go_mod: &str, module: &str) -> Option<String> {
    go_mod.lines().find_map(|line| {
        let line = line.trim().trim_start_matches("require ");
        let mut words = line.split_whitespace();
        let version = (words.next()? == module).then(|| words.next())??;
        version.starts_with('v').then(|| version.to_owned())
    })
}

/// The flags of `go build`. Programs that were not told their version say v0.0.0.
fn flags(kubernetes: &str) -> Vec<String> {
    let mut numbers = kubernetes.trim_start_matches('v').split('.');
    let major = numbers.next().unwrap_or_default();
    let minor = numbers.next().unwrap_or_default();
    let set = |name: &str, value: &str| format!("-X k8s.io/component-base/version.{name}={value}");
    let linker = [
        "-s -w".to_owned(),
        set("gitVersion", kubernetes),
        set("gitMajor", major),
        set("gitMinor", minor),
        set("gitTreeState", "clean"),
    ];
    vec![
        "-mod=readonly".into(),
        "-trimpath".into(),
        "-buildvcs=false".into(),
        format!("-ldflags={}", linker.join(" ")),
    ]
}

fn build(recipe: &Recipe, folder: &Path, signals: &Signals) -> Result<()> {
    let start = Instant::now();
    eprintln!(
        "Building the control plane of Kubernetes {} with {}, once; takes some minutes.",
        recipe.kubernetes, recipe.go
    );
    go_command(["list", "-deps", "-mod=readonly"].map(Into::into).into(), true, signals).context(
        "cannot get the Go modules: needs a network, or a filled module cache (see GOPROXY, GOFLAGS)",
    )?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut words = vec!["build".to_owned()];
    words.extend(recipe.flags.iter().cloned());
    words.extend(["-o".into(), format!("{}/", folder.display())]);
    go_command(words, false, signals).context("cannot build the control plane")?;
    check(folder).with_context(|| format!("after the build, {:?}", names(folder)))?;
    eprintln!("Built in {} s.", start.elapsed().as_secs());
    Ok(())
}

/// Runs Go on the four programs; ends with this program.
fn go_command(words: Vec<String>, quiet: bool, signals: &Signals) -> Result<()> {
    let packages = PROGRAMS.iter().map(|program| format!("./{program}"));
    // Stdout is for the folder's name only.
    let redirection = if quiet { ">/dev/null" } else { ">&2" };
    let script = format!("exec go \"$@\" {redirection}");
    let command = ["sh".into(), "-c".into(), script, "go".into()]
        .into_iter()
        .chain(words)
        .chain(packages);
    let mut spec = Spec::new(command);
    spec.folder = Some(module());
    spec.env = vec![
        ("CGO_ENABLED", Some("0".into())),
        ("GOWORK", Some("off".into())),
    ];
    let status = process::Guarded::spawn(&spec)?.wait(signals)?;
    anyhow::ensure!(status.success(), "go ended with {status}");
    Ok(())
}

/// Held until dropped, also by a process that is killed.
fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            eprintln!("Waiting for another build of the control plane.");
        }
        Err(TryLockError::Error(error)) => return Err(error).context("cannot lock"),
    }
    file.lock()
        .with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// Removes what interrupted builds left. Only for who holds the lock.
fn remove_unfinished(cache: &Path) -> Result<()> {
    for name in names(cache)
        .iter()
        .filter(|name| name.starts_with(UNFINISHED))
    {
        let path = cache.join(name);
        fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(version: &str) -> go::Go {
        go::Go {
            version: version.into(),
            platform: "linux/amd64".into(),
        }
    }

    fn copy_of_module() -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        for path in ["go.mod", "go.sum"] {
            fs::copy(module().join(path), copy.path().join(path)).unwrap();
        }
        for program in PROGRAMS {
            fs::create_dir(copy.path().join(program)).unwrap();
            let path = format!("{program}/main.go");
            fs::copy(module().join(&path), copy.path().join(&path)).unwrap();
        }
        copy
    }

    #[test]
    fn the_key_is_stable_and_names_the_version() {
        let copy = copy_of_module();
        let key = |folder: &Path| Recipe::read(folder, &go("go1.26.8")).unwrap().key();
        assert_eq!(key(copy.path()), key(&module()));
        assert!(key(copy.path()).starts_with("v1."), "{}", key(copy.path()));
    }

    #[test]
    fn the_key_changes_with_everything_a_build_is_made_of() {
        let copy = copy_of_module();
        let key = |version: &str| Recipe::read(copy.path(), &go(version)).unwrap().key();
        let mut seen = vec![key("go1.26.8"), key("go1.27.0")];
        for path in ["go.mod", "go.sum", "etcd/main.go", "kubectl/main.go"] {
            let path = copy.path().join(path);
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text + "// more\n").unwrap();
            seen.push(key("go1.26.8"));
        }
        let mut recipe = Recipe::read(copy.path(), &go("go1.26.8")).unwrap();
        recipe.flags.push("-race".into());
        seen.push(recipe.key());
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count, "{seen:?}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let copy = copy_of_module();
        fs::remove_file(copy.path().join("go.sum")).unwrap();
        let error = Recipe::read(copy.path(), &go("go1.26.8")).unwrap_err();
        assert!(format!("{error:#}").contains("go.sum"), "{error:#}");
    }

    #[test]
    fn required_versions_are_read() {
        let go_mod = "module m\nrequire a/b v1.2.3\nrequire (\n\tc/d v0.1.0 // indirect\n)\nreplace (\n\te/f => e/f v2.0.0\n)\n";
        assert_eq!(required(go_mod, "a/b").as_deref(), Some("v1.2.3"));
        assert_eq!(required(go_mod, "c/d").as_deref(), Some("v0.1.0"));
        assert_eq!(required(go_mod, "e/f"), None);
        assert_eq!(required(go_mod, "g/h"), None);
    }

    #[test]
    fn programs_are_told_their_version() {
        let flags = flags("v1.37.2").join(" ");
        for part in ["gitVersion=v1.37.2", "gitMajor=1", "gitMinor=37"] {
            assert!(flags.contains(part), "{flags}");
        }
    }

    #[test]
    fn what_an_interrupted_build_left_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        fs::create_dir(cache.path().join("unfinished-7")).unwrap();
        fs::create_dir(cache.path().join("v1.37.2-00")).unwrap();
        remove_unfinished(cache.path()).unwrap();
        assert_eq!(names(cache.path()), ["v1.37.2-00"]);
    }
}
