//! The Websites of the demonstration, and what has to become of each.

use Outlook::{Failing, Gone, Ready};

use crate::website::{Website, WebsiteSpec};

/// What the operator has to make of a Website by the end of an act.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outlook {
    /// It is served, as its newest spec says.
    Ready,
    /// It fails again and again, with an event of this reason.
    Failing(&'static str),
    /// It and what it had are no longer there.
    Gone,
}

/// One Website.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    pub name: &'static str,
    pub host: &'static str,
    pub replicas: i32,
    /// After all have been created.
    pub first: Outlook,
    /// After repairs, changes and deletions.
    pub last: Outlook,
    /// The reason of its Warning events, if it has to get any; no others may appear.
    pub warning: Option<&'static str>,
    /// What happens to it.
    pub about: &'static str,
}

const fn good(name: &'static str, host: &'static str) -> Role {
    Role {
        name,
        host,
        replicas: 2,
        first: Ready,
        last: Ready,
        warning: None,
        about: "",
    }
}

const fn bad(name: &'static str, host: &'static str, reason: &'static str) -> Role {
    Role {
        first: Failing(reason),
        warning: Some(reason),
        ..good(name, host)
    }
}

/// All Websites, in the order of their creation. The first one has settled before the others come,
/// so that it is always the same one that gets the host that two of them want.
pub const CAST: &[Role] = &[
    Role {
        last: Gone,
        about: "deleted",
        ..good("bakery", "bread.example.com")
    },
    Role {
        about: "its page is edited",
        ..good("aurora", "aurora.example.com")
    },
    Role {
        about: "its host is renamed",
        ..good("cinema", "cinema.example.com")
    },
    Role {
        about: "scaled to 5 replicas",
        ..good("dockyard", "dockyard.example.com")
    },
    Role {
        about: "somebody deletes its Deployment",
        ..good("elmstreet", "elmstreet.example.com")
    },
    good("florist", "florist.example.com"),
    good("gazette", "gazette.example.com"),
    good("harbour", "harbour.example.com"),
    good("icecream", "icecream.example.com"),
    good("jukebox", "jukebox.example.com"),
    good("kiosk", "kiosk.example.com"),
    good("library", "library.example.com"),
    Role {
        about: "loses two races (409)",
        ..good("contended", "contended.example.com")
    },
    Role {
        last: Gone,
        warning: Some("RequestFailed"),
        about: "deleted while writing the hosts fails (500)",
        ..good("museum", "museum.example.com")
    },
    Role {
        first: Ready,
        about: "reading its Deployment fails three times (500)",
        ..bad("flaky", "flaky.example.com", "RequestFailed")
    },
    Role {
        first: Ready,
        about: "its first three passes panic",
        ..bad("panics", "panics.example.com", "ReconcileFailed")
    },
    Role {
        about: "invalid host, then repaired",
        ..bad("bad-host", "no_host", "InvalidSpec")
    },
    Role {
        replicas: -1,
        about: "negative replicas, then repaired",
        ..bad("below-zero", "below-zero.example.com", "InvalidSpec")
    },
    Role {
        about: "its name is taken by a stranger's ConfigMap, then free",
        ..bad("name-taken", "name-taken.example.com", "NameTaken")
    },
    Role {
        about: "wants the host of bakery, and gets it when bakery is deleted",
        ..bad("rival", "bread.example.com", "HostTaken")
    },
    Role {
        last: Failing("InvalidSpec"),
        about: "invalid host, never repaired",
        ..bad("hopeless", "-.example.com", "InvalidSpec")
    },
    Role {
        replicas: 1000,
        last: Gone,
        about: "too many replicas, deleted as it is",
        ..bad("too-many", "too-many.example.com", "InvalidSpec")
    },
];

impl Role {
    /// The object to create.
    pub fn website(&self) -> Website {
        let content = format!("<h1>Welcome to {}</h1>", self.name);
        Website::new(
            self.name,
            WebsiteSpec {
                content,
                replicas: self.replicas,
                host: self.host.into(),
            },
        )
    }

    /// Whether it is to be served at some time of the demonstration.
    pub fn is_ever_ready(&self) -> bool {
        self.first == Ready || self.last == Ready
    }
}
