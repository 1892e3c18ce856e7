//! Cutting long notes.

use crate::MAX_NOTE_BYTES;

/// What a cut note ends in.
const ELLIPSIS: &str = "...";

/// The note as it is sent: cut at a character boundary and ending in `...` if it is too long.
pub(crate) fn cut(note: &str) -> String {
    if note.len() <= MAX_NOTE_BYTES {
        return note.to_owned();
    }
    let mut end = MAX_NOTE_BYTES - ELLIPSIS.len();
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{ELLIPSIS}", &note[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn boundaries() {
        assert_eq!(cut(""), "");
        assert_eq!(cut(&"n".repeat(1024)), "n".repeat(1024));
        assert_eq!(cut(&"n".repeat(1025)), format!("{}...", "n".repeat(1021)));
        assert_eq!(cut(&"日".repeat(342)), format!("{}...", "日".repeat(340)));
    }

    proptest! {
        #[test]
        fn a_cut_note_fits_and_is_a_prefix(note in "(a|é|日|😀){0,1100}") {
            let sent = cut(&note);
            prop_assert!(sent.len() <= MAX_NOTE_BYTES);
            if note.len() <= MAX_NOTE_BYTES {
                prop_assert_eq!(sent, note);
            } else {
                let kept = sent.strip_suffix("...").expect("a cut note ends in dots");
                prop_assert!(note.starts_with(kept));
                // No character that would have fitted is missing.
                let next = note[kept.len()..].chars().next().expect("more was cut").len_utf8();
                prop_assert!(kept.len() + next + 3 > MAX_NOTE_BYTES);
            }
        }
    }
}
