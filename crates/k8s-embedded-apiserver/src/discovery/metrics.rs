//! `/metrics`: a few of the metrics that a real server has, those that say something here.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::ApiResource;
use super::version::{MAJOR, MINOR, git_version};

pub(super) fn text(resources: &[ApiResource]) -> String {
    let mut served: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for resource in resources {
        *served
            .entry((&resource.group, &resource.version))
            .or_default() += 1;
    }
    let mut text = format!(
        "# HELP kubernetes_build_info [ALPHA] A metric with a constant '1' value labeled by major, minor and git version.\n\
         # TYPE kubernetes_build_info gauge\n\
         kubernetes_build_info{{git_version=\"{}\",major=\"{MAJOR}\",minor=\"{MINOR}\"}} 1\n\
         # HELP k8s_embedded_apiserver_resources Resources that are served, by group and version.\n\
         # TYPE k8s_embedded_apiserver_resources gauge\n",
        git_version()
    );
    for ((group, version), count) in served {
        // Neither has a character that would need an escape.
        let _ = writeln!(
            text,
            "k8s_embedded_apiserver_resources{{group=\"{group}\",version=\"{version}\"}} {count}"
        );
    }
    text
}
