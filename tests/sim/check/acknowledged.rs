//! What was promised to survive is there after the process starts anew, and the log ends at a batch's border.

use crate::history::History;
use crate::history::Promise;
use dohle::log::Log;

/// `history` holds the promises that count for the way the process ended.
pub(crate) fn recovered(log: &Log, history: &History, seed: u64) {
    let promised = history.batches.iter().rfind(|batch| batch.promise > Promise::None);
    let end = log.log_end_offset();
    if let Some(promised) = promised {
        assert!(
            end >= promised.appended.end_offset,
            "seed {seed}: {} ends at {end}, {} was acknowledged",
            log.partition(),
            promised.appended.end_offset
        );
    }
    let known = history.batches.iter().any(|batch| batch.appended.end_offset == end);
    let at_start = end == log.log_start_offset() || end.0 == 0;
    assert!(known || at_start, "seed {seed}: {} ends at {end}, which is no batch's end", log.partition());
}
