//! Websites to try the operator with.

use crate::website::{Website, WebsiteSpec};

/// Two good ones, one that wants the host of the first, and an invalid one.
pub fn samples() -> [Website; 4] {
    let site = |name: &str, host: &str, replicas| {
        let content = format!("<h1>Welcome to {name}</h1>");
        let mut site = Website::new(
            name,
            WebsiteSpec {
                content,
                replicas,
                host: host.into(),
            },
        );
        site.metadata.namespace = Some("default".into());
        site
    };
    [
        site("bakery", "bread.example.com", 2),
        site("cinema", "cinema.example.com", 1),
        site("rival", "bread.example.com", 1),
        site("below-zero", "below-zero.example.com", -1),
    ]
}
