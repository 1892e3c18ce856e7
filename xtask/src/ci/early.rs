//! What the last step needs, built while the steps before it leave a core idle.

use std::{cell::RefCell, env, path::Path};

use anyhow::{Context, Result};

use crate::{
    control_plane::{self, ASSETS},
    process::{Guarded, Spec},
    signals::Signals,
};

/// A build of the control plane at the lowest priority; ends when this is dropped.
pub(super) struct Early(RefCell<Option<Guarded>>);

impl Early {
    pub(super) fn none() -> Self {
        Self(RefCell::new(None))
    }

    /// Starts the build, if there is something to build and to build it with.
    pub(super) fn start(target: &Path) -> Result<Self> {
        let given = env::var_os(ASSETS).is_some_and(|folder| !folder.is_empty());
        if given || control_plane::unavailable().is_some() {
            return Ok(Self::none());
        }
        let program = env::current_exe().context("cannot find this program")?;
        let mut spec = Spec::new(["nice", "-n", "19"]);
        spec.command
            .extend([program.into(), "control-plane".into()]);
        let log = target.join("control-plane.log");
        eprintln!(
            "Building the control plane meanwhile; see {}.",
            log.display()
        );
        spec.log = Some(log);
        Ok(Self(RefCell::new(Some(Guarded::spawn(&spec)?))))
    }

    /// Waits for its end. A failure is not told: who needs the programs builds them then, and sees it.
    pub(super) fn finish(&self, signals: &Signals) -> Result<()> {
        if let Some(build) = self.0.take() {
            build.wait(signals)?;
        }
        Ok(())
    }
}
