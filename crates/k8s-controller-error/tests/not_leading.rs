//! `NotLeading` is found wherever it stands in a chain.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod answers;

use std::error::Error as StdError;
use std::io;

use answers::not_found;
use k8s_controller_error::{
    Error, ErrorClass, NotLeading, classify, display_chain, is_not_leading, is_terminal,
};
use kube::runtime::finalizer;

#[derive(Debug, thiserror::Error)]
enum Own {
    #[error("cannot write the deployment")]
    Write(#[source] kube::Error),
    #[error(transparent)]
    Transparent(#[from] kube::Error),
    #[error("cannot write")]
    Io(#[source] io::Error),
}

fn refused() -> NotLeading {
    NotLeading::new("shop/website")
}

fn service() -> kube::Error {
    kube::Error::Service(refused().into())
}

#[test]
fn found_anywhere_in_the_chain() {
    let cases: [(&str, Box<dyn StdError>); 6] = [
        ("itself", Box::new(refused())),
        ("of a service", Box::new(service())),
        ("below the user's error", Box::new(Own::Write(service()))),
        (
            "behind a transparent one",
            Box::new(Own::Transparent(service())),
        ),
        (
            "carried by an io::Error",
            Box::new(Own::Io(io::Error::other(refused()))),
        ),
        (
            "adding the finalizer",
            Box::new(Error::<Own>::FinalizerError(
                finalizer::Error::AddFinalizer(service()),
            )),
        ),
    ];
    for (case, error) in &cases {
        assert!(is_not_leading(&**error), "{case}");
        assert_eq!(classify(&**error), ErrorClass::NotLeading, "{case}");
        assert!(
            !is_terminal(&**error),
            "{case}: a later pass may be allowed to write"
        );
    }
    assert!(!is_not_leading(&not_found()));
    assert_eq!(ErrorClass::NotLeading.as_str(), "not_leading");
}

#[test]
fn says_which_lease() {
    assert_eq!(
        display_chain(&Own::Write(service())).to_string(),
        "cannot write the deployment: ServiceError: not sent: the lease shop/website is no \
         longer certainly held, somebody else may lead",
    );
}
