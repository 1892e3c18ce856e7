//! The group `authentication.k8s.io`, whose objects are questions and are not stored.

use crate::auth::reviews;
use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("authentication.k8s.io", "v1", "SelfSubjectReview"),
            "selfsubjectreviews",
            "selfsubjectreview",
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::self_subject),
        Kind::row(
            ("authentication.k8s.io", "v1", "TokenReview"),
            "tokenreviews",
            "tokenreview",
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::token),
    ]
}
