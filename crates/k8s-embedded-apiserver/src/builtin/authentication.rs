//! The group `authentication.k8s.io`, whose objects are questions and are not stored.

use k8s_openapi::api::authentication::v1 as authentication;

use crate::auth::reviews;
use crate::codec::typed;
use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("authentication.k8s.io", "v1", "SelfSubjectReview"),
            "selfsubjectreviews",
            "selfsubjectreview",
            typed::<authentication::SelfSubjectReview>,
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::self_subject),
        Kind::row(
            ("authentication.k8s.io", "v1", "TokenReview"),
            "tokenreviews",
            "tokenreview",
            typed::<authentication::TokenReview>,
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::token),
    ]
}
