//! The group `authorization.k8s.io`, whose objects are questions and are not stored.

use crate::auth::reviews;
use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("authorization.k8s.io", "v1", "LocalSubjectAccessReview"),
            "localsubjectaccessreviews",
            "localsubjectaccessreview",
        )
        .verbs(&["create"])
        .answered(reviews::local_subject_access),
        Kind::row(
            ("authorization.k8s.io", "v1", "SelfSubjectAccessReview"),
            "selfsubjectaccessreviews",
            "selfsubjectaccessreview",
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::self_subject_access),
        Kind::row(
            ("authorization.k8s.io", "v1", "SelfSubjectRulesReview"),
            "selfsubjectrulesreviews",
            "selfsubjectrulesreview",
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::self_subject_rules),
        Kind::row(
            ("authorization.k8s.io", "v1", "SubjectAccessReview"),
            "subjectaccessreviews",
            "subjectaccessreview",
        )
        .cluster()
        .verbs(&["create"])
        .answered(reviews::subject_access),
    ]
}
