//! Names of events.

/// The most bytes of a DNS subdomain, and so of an event's name (RFC 1123, as Kubernetes reads it).
const MAX_NAME_BYTES: usize = 253;

/// The name of an event about `object`: the object's name, a dot and `unique` in 16 hexadecimal
/// digits, or `event` for the object's name where that would be no DNS subdomain (RBAC objects may
/// be called `system:foo`; a name may be too long for a suffix).
pub(crate) fn event_name(object: &str, unique: u64) -> String {
    let name = format!("{object}.{unique:016x}");
    if is_subdomain(&name) {
        name
    } else {
        format!("event.{unique:016x}")
    }
}

/// Whether it is a lower-case RFC 1123 subdomain: labels of letters, digits and inner hyphens,
/// joined by dots, in at most 253 bytes. A single label may be as long as the whole.
pub(crate) fn is_subdomain(value: &str) -> bool {
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_label = |label: &[u8]| {
        label.first().is_some_and(alphanumeric)
            && label.last().is_some_and(alphanumeric)
            && label.iter().all(|b| alphanumeric(b) || *b == b'-')
    };
    value.len() <= MAX_NAME_BYTES && value.as_bytes().split(|b| *b == b'.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names() {
        let fits = "n".repeat(236);
        let long = "n".repeat(237);
        for (object, expected) in [
            ("web", "web.00000000000000ff"),
            ("a.b-c", "a.b-c.00000000000000ff"),
            (fits.as_str(), &format!("{fits}.00000000000000ff")),
            (long.as_str(), "event.00000000000000ff"),
            ("system:foo", "event.00000000000000ff"),
            ("Upper", "event.00000000000000ff"),
            ("a_b", "event.00000000000000ff"),
            ("", "event.00000000000000ff"),
            ("-a", "event.00000000000000ff"),
            ("a..b", "event.00000000000000ff"),
            ("a.", "event.00000000000000ff"),
            ("é", "event.00000000000000ff"),
        ] {
            assert_eq!(event_name(object, 0xff), expected);
        }
    }

    proptest! {
        #[test]
        fn every_name_is_a_subdomain(object in ".{0,300}", unique: u64) {
            prop_assert!(is_subdomain(&event_name(&object, unique)));
        }

        #[test]
        fn a_good_object_name_is_kept(object in "[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?){0,3}", unique: u64) {
            let kept = event_name(&object, unique).starts_with(&format!("{object}."));
            prop_assert!(kept);
        }
    }
}
