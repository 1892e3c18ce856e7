//! The group `authorization.k8s.io`, whose objects are questions and are not stored.

use k8s_openapi::api::authorization::v1 as authorization;

use crate::auth::reviews;
use crate::codec::typed;
use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("authorization.k8s.io", "v1", "LocalSubjectAccessReview"),
            "localsubjectaccessreviews",
            "localsubjectaccessreview",
            typed::<authorization::LocalSubjectAccessReview>,
        )
        .verbs(&["create"])
        .answered(reviews::local_subject_access),
        Kind::row(
            ("authorization.k8s.io", "v1", "SelfSubjectAccessReview"),
            "selfsubjectaccessreviews",
            "selfsubjectaccessreview",
            typed::<authorization::SelfSubjectAccessReview>,
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::self_subject_access),
        Kind::row(
            ("authorization.k8s.io", "v1", "SelfSubjectRulesReview"),
            "selfsubjectrulesreviews",
            "selfsubjectrulesreview",
            typed::<authorization::SelfSubjectRulesReview>,
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::self_subject_rules),
        Kind::row(
            ("authorization.k8s.io", "v1", "SubjectAccessReview"),
            "subjectaccessreviews",
            "subjectaccessreview",
            typed::<authorization::SubjectAccessReview>,
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::subject_access),
    ]
}
