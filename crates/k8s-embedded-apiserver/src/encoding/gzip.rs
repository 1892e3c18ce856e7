//! Compression of answers.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Answers are compressed from the byte after this one on, as by a real server.
const THRESHOLD: usize = 128 * 1024;

/// Whether an `Accept-Encoding` header asks for gzip. As to the real server, one with a quality is another word.
pub(crate) fn is_asked_for(accept_encoding: &str) -> bool {
    accept_encoding
        .split(',')
        .any(|coding| coding.trim() == "gzip")
}

/// The compressed bytes, if there are enough of them that it pays.
pub(crate) fn gzip(bytes: &Bytes) -> Option<Bytes> {
    (bytes.len() > THRESHOLD).then(|| member(bytes)).flatten()
}

/// Bytes compressed by themselves: put together, such members make one stream.
pub(crate) fn member(bytes: &Bytes) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    // Writing to memory cannot fail.
    encoder.write_all(bytes).ok()?;
    Some(encoder.finish().ok()?.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn large_answers_come_back() {
        assert_eq!(gzip(&Bytes::from(vec![b'a'; THRESHOLD])), None);
        let large = Bytes::from(vec![b'a'; THRESHOLD + 1]);
        let compressed = gzip(&large).expect("compressed");
        assert!(compressed.len() < 2_000);
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(&*compressed)
            .read_to_end(&mut back)
            .expect("gzip");
        assert_eq!(back, large);
    }

    #[test]
    fn a_word_among_others_asks_for_it() {
        for (header, asked) in [
            ("gzip", true),
            ("deflate, gzip", true),
            ("gzip;q=1.0", false),
            ("br", false),
            ("", false),
        ] {
            assert_eq!(is_asked_for(header), asked, "{header}");
        }
    }
}
