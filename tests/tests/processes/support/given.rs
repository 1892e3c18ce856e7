//! What the environment gives to the tests.

use std::path::PathBuf;

/// The kubeconfig of an administrator.
const KUBECONFIG: &str = "K8S_CONTROLLER_E2E_KUBECONFIG";
/// The audit log of kube-apiserver.
const AUDIT_LOG: &str = "K8S_CONTROLLER_E2E_AUDIT_LOG";
/// The file that holds the process id of kube-apiserver, which somebody starts again.
const APISERVER_PID: &str = "K8S_CONTROLLER_E2E_APISERVER_PID";
/// The website example, built.
const WEBSITE: &str = "K8S_CONTROLLER_E2E_WEBSITE";
/// The folder with kubectl.
const ASSETS: &str = "KUBEBUILDER_ASSETS";
/// The path of promtool; only one test needs it.
pub(crate) const PROMTOOL: &str = "K8S_CONTROLLER_PROMTOOL";

#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub kubeconfig: PathBuf,
    pub audit_log: PathBuf,
    pub apiserver_pid: PathBuf,
    pub website: PathBuf,
    pub kubectl: PathBuf,
    pub promtool: Option<PathBuf>,
}

/// Reads the environment.
///
/// # Errors
///
/// With the names of the variables that are missing.
pub(crate) fn from_env() -> Result<Given, String> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let missing: Vec<_> = [KUBECONFIG, AUDIT_LOG, APISERVER_PID, WEBSITE, ASSETS]
        .into_iter()
        .filter(|name| variable(name).is_none())
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "{} not set; see cargo xtask e2e",
            missing.join(", ")
        ));
    }
    let required = |name: &str| variable(name).unwrap_or_default();
    Ok(Given {
        kubeconfig: required(KUBECONFIG),
        audit_log: required(AUDIT_LOG),
        apiserver_pid: required(APISERVER_PID),
        website: required(WEBSITE),
        kubectl: required(ASSETS).join("kubectl"),
        promtool: variable(PROMTOOL),
    })
}
