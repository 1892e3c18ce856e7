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
    if bytes.len() <= THRESHOLD {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    // Writing to memory cannot fail.
    encoder.write_all(bytes).ok()?;
    Some(encoder.finish().ok()?.into())
}

/// A stream that is compressed as one, so that a client can read each piece as soon as it has come.
#[derive(Debug)]
pub(crate) struct GzipStream(GzEncoder<Vec<u8>>);

impl GzipStream {
    pub(crate) fn new() -> Self {
        Self(GzEncoder::new(Vec::new(), Compression::fast()))
    }

    /// What stands for the piece, all of it; `None` ends the stream.
    pub(crate) fn next(&mut self, piece: Option<&Bytes>) -> Option<Bytes> {
        // Writing to memory cannot fail.
        match piece {
            Some(bytes) => self.0.write_all(bytes).and_then(|()| self.0.flush()).ok()?,
            None => self.0.try_finish().ok()?,
        }
        let written = std::mem::take(self.0.get_mut());
        (!written.is_empty()).then(|| written.into())
    }
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

    /// As a client decodes it: each piece on arrival, the whole as one stream.
    #[test]
    fn each_piece_of_a_stream_can_be_read_at_once() {
        let mut stream = GzipStream::new();
        let mut decoder = flate2::write::MultiGzDecoder::new(Vec::new());
        let mut sent = Vec::new();
        for piece in ["one\n", "two\n", "three\n"] {
            let bytes = stream.next(Some(&Bytes::from(piece))).expect("bytes");
            decoder.write_all(&bytes).expect("gzip");
            decoder.flush().expect("gzip");
            sent.extend(bytes);
            assert!(decoder.get_ref().ends_with(piece.as_bytes()), "{piece}");
        }
        sent.extend(stream.next(None).expect("an end"));
        let mut back = String::new();
        let mut whole = flate2::read::GzDecoder::new(&*sent);
        whole.read_to_string(&mut back).expect("gzip");
        assert_eq!(back, "one\ntwo\nthree\n");
        assert_eq!(stream.next(None), None);
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
