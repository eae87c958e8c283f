//! Readers meet exactly the appended batches, in order, without gaps, each once and unchanged.

use crate::history::History;
use dohle::base::Offset;
use dohle::log::Log;
use dohle::record::is_intact;
use dohle::record::records;
use dohle::record::walk;

/// Reads the whole log in fetches of at most `max_bytes`.
pub(crate) fn reads(log: &Log, history: &History, max_bytes: usize) {
    let (mut from, end) = (log.log_start_offset(), log.log_end_offset());
    let start = from;
    let mut expected = history.batches.iter().filter(|batch| batch.appended.end_offset > start);
    while from < end {
        let bytes = match log.read_bytes(from, end, max_bytes) {
            Ok(bytes) => bytes,
            Err(error) if log.is_online() => {
                // A planted fault may strike a read; damage it must not be.
                assert!(!error.to_string().contains("damaged"), "{error}");
                return;
            }
            Err(_) => return,
        };
        assert!(!bytes.is_empty(), "nothing to read at {from} of {end}");
        for walked in walk(&bytes) {
            let (position, header) = walked.unwrap();
            let whole = &bytes[position..position + header.total_size()];
            assert!(is_intact(whole), "torn batch at {from}");
            let batch = expected.next().expect("a batch nobody appended");
            let place = format!("{} from {from}, start {start}, end {end}", log.partition());
            assert_eq!(Offset(header.base_offset), batch.appended.base_offset, "{place}");
            assert_eq!(Offset(header.last_offset() + 1), batch.appended.end_offset);
            for record in records(whole, 1 << 20).unwrap() {
                let value = record.unwrap().value.unwrap();
                assert_eq!(value[..8], batch.value.to_be_bytes(), "another batch's bytes at {from}");
            }
            from = batch.appended.end_offset;
        }
    }
    assert_eq!(from, end, "{} ends within a batch", log.partition());
}
