//! Every codec gives back what went in, refuses the rest, and takes no more memory than it may.

use super::*;
use proptest::prelude::*;

/// Bytes that compress, longer than any codec's block.
fn text() -> Vec<u8> {
    (0..200_000u32).flat_map(|number| (number / 7).to_be_bytes()).collect()
}

#[test]
fn what_goes_in_comes_out() {
    let text = text();
    for codec in Codec::ALL {
        for size in [0, 1, 32 * 1024, 64 * 1024 + 1, text.len()] {
            let compressed = compress(codec, DEFAULT_LEVEL, &text[..size]);
            assert_eq!(decompress(codec, &compressed, size).unwrap(), text[..size], "{codec:?} {size}");
        }
    }
}

#[test]
fn levels_change_the_size_only() {
    let text = text();
    for (codec, low, high) in [(Codec::Gzip, 1, 9), (Codec::Zstd, -5, 19)] {
        let (fast, small) = (compress(codec, low, &text), compress(codec, high, &text));
        assert!(small.len() < fast.len(), "{codec:?}: {} and {}", small.len(), fast.len());
        assert_eq!(
            decompress(codec, &fast, text.len()).unwrap(),
            decompress(codec, &small, text.len()).unwrap()
        );
    }
}

#[test]
fn the_limit_is_exact() {
    let text = text();
    for codec in Codec::ALL {
        let compressed = compress(codec, DEFAULT_LEVEL, &text);
        let max = text.len() - 1;
        assert!(
            matches!(decompress(codec, &compressed, max), Err(Error::TooLarge { max: told }) if told == max)
        );
    }
}

#[test]
fn a_stream_that_is_cut_off_is_refused() {
    let text = text();
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let compressed = compress(codec, DEFAULT_LEVEL, &text);
        for cut in [compressed.len() / 2, compressed.len() - 1] {
            let result = decompress(codec, &compressed[..cut], text.len());
            assert!(matches!(result, Err(Error::Corrupt { .. })), "{codec:?} cut at {cut}");
        }
    }
}

#[test]
fn both_framings_of_snappy_are_read() {
    let raw = snap::raw::Encoder::new().compress_vec(b"one raw block").unwrap();
    assert_eq!(&decompress(Codec::Snappy, &raw, 100).unwrap()[..], b"one raw block");
    let stream = compress(Codec::Snappy, DEFAULT_LEVEL, b"a stream");
    let mut foreign = stream.to_vec();
    foreign[8..16].copy_from_slice(&[1, 0, 0, 0, 9, 0, 0, 0]);
    let glued = [&stream[..], &foreign[..]].concat();
    assert_eq!(&decompress(Codec::Snappy, &glued, 100).unwrap()[..], b"a streama stream");
    let negative = [&stream[..16], &[0xff; 4]].concat();
    assert!(decompress(Codec::Snappy, &negative, 100).is_err());
}

#[test]
fn a_claimed_size_is_not_believed() {
    // A raw block of four bytes that claims 4 GiB - 1.
    let claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0];
    assert!(matches!(decompress(Codec::Snappy, &claim, usize::MAX), Err(Error::Corrupt { .. })));
}

#[test]
fn numbers_of_codecs() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_id(codec.id()), Ok(codec));
    }
    assert_eq!(Codec::from_id(5), Err(UnknownCodec(5)));
}

fn any_codec() -> impl Strategy<Value = Codec> {
    proptest::sample::select(Codec::ALL.to_vec())
}

proptest! {
    #[test]
    fn any_content_round_trips(codec in any_codec(), content in proptest::collection::vec(any::<u8>(), 0..3_000)) {
        let compressed = compress(codec, DEFAULT_LEVEL, &content);
        prop_assert_eq!(&decompress(codec, &compressed, content.len()).unwrap()[..], &content[..]);
    }

    #[test]
    fn any_bytes_end_within_the_limit(codec in any_codec(), bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(out) = decompress(codec, &bytes, 10_000) {
            prop_assert!(out.len() <= 10_000);
        }
    }

    #[test]
    fn changed_streams_end_within_the_limit(
        codec in any_codec(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut stream = compress(codec, DEFAULT_LEVEL, &b"some text, some text again, ".repeat(40)).to_vec();
        for (at, value) in changes {
            let at = at.index(stream.len());
            stream[at] = value;
        }
        if let Ok(out) = decompress(codec, &stream, 10_000) {
            prop_assert!(out.len() <= 10_000);
        }
    }
}
