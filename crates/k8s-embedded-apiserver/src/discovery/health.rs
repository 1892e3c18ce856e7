//! Health: a server that answers is healthy.

use super::Reply;

pub(super) fn reply(path: &str) -> Option<Reply> {
    let mut segments = path.split('/').skip(1);
    let is_health = matches!(segments.next(), Some("healthz" | "livez" | "readyz"));
    let check = segments.next();
    let known = matches!(check, None | Some("ping" | "etcd" | "log")) && segments.next().is_none();
    (is_health && known).then(|| Reply::Text("ok".into()))
}
