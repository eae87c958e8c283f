//! What an earlier process wrote is looked at before it is served.

use super::*;

/// Forty batches of one record in several segments, closed in good order.
fn forty(bench: &Bench) {
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    for _ in 0..40 {
        append(&log, batch(1, 1000, 0));
    }
    assert!(log.segment_count() > 1);
    dirs.close(-1);
}

/// The offsets that readers get from `from` on, and what stopped them.
fn served(log: &Log, from: i64) -> (Vec<i64>, Option<Error>) {
    let (mut next, mut seen) = (from, Vec::new());
    while next < log.log_end_offset().0 {
        match log.read_bytes(Offset(next), log.log_end_offset(), 3000) {
            Err(error) => return (seen, Some(error)),
            Ok(bytes) => {
                assert!(!bytes.is_empty(), "nothing at {next}, and no error");
                for walked in crate::record::walk(&bytes) {
                    let (_, header) = walked.unwrap();
                    next = header.last_offset() + 1;
                    seen.push(header.base_offset);
                }
            }
        }
    }
    (seen, None)
}

#[test]
fn a_batch_whose_offset_was_changed_is_not_served_and_what_lies_before_it_is() {
    for (slot, delta) in [(0, 1), (0, -1), (0, 1 << 32), (3, 1), (3, -1), (3, 500), (5, 0x100)] {
        let bench = Bench::new();
        forty(&bench);
        let dirs = bench.open();
        let log = open_log(&dirs, small);
        let base = log.view.load()[1].base.0;
        drop(log);
        dirs.close(-1);
        let file = bench.path().join(format!("topic-0/{base:020}.log"));
        let mut bytes = std::fs::read(&file).unwrap();
        let size = batch(1, 1000, 0).bytes().len();
        let place = slot * size..slot * size + 8;
        let offset = i64::from_be_bytes(bytes[place.clone()].try_into().unwrap());
        assert_eq!(offset, base + i64::try_from(slot).unwrap());
        bytes[place].copy_from_slice(&(offset + delta).to_be_bytes());
        std::fs::write(&file, &bytes).unwrap();

        let dirs = bench.open();
        let log = open_log(&dirs, small);
        let (seen, stopped) = served(&log, 0);
        assert!(matches!(stopped, Some(Error::Damaged { .. })), "{slot} {delta}: {stopped:?}");
        // Of two batches that overlap nothing tells which is wrong, so the one before may be missing, too.
        assert!(seen.iter().copied().eq(0..i64::try_from(seen.len()).unwrap()), "{slot} {delta}: {seen:?}");
        assert!(seen.len() + 1 >= usize::try_from(offset).unwrap(), "{slot} {delta}: {seen:?}");
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "nothing is cut");
        let after = log.view.load()[2].base.0;
        assert_eq!(served(&log, after).0.len(), usize::try_from(40 - after).unwrap(), "the rest is there");
    }
}

#[test]
fn what_was_read_once_is_not_looked_at_again() {
    let bench = Bench::new();
    forty(&bench);
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    let first = log.view.load()[0].clone();
    assert!(!first.proof.holds(0, first.size()));
    assert!(served(&log, 0).1.is_none());
    assert!(first.proof.holds(0, first.size()));
}

/// As [`forty`], and a checkpoint that says that the log ends elsewhere.
fn forty_that_end_at(bench: &Bench, end: i64) -> PathBuf {
    forty(bench);
    let file = bench.path().join("recovery-point-offset-checkpoint");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("topic 0 40\n"), "{text}");
    std::fs::write(&file, text.replace("topic 0 40\n", &format!("topic 0 {end}\n"))).unwrap();
    file
}

#[test]
fn a_checkpoint_that_ends_too_early_hides_no_record() {
    let bench = Bench::new();
    forty_that_end_at(&bench, 39);
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    assert_eq!(log.log_end_offset(), Offset(39));
    log.confirm_end();
    assert_eq!(log.log_end_offset(), Offset(40));
    assert_eq!(served(&log, 0).0.len(), 40);
}

#[test]
fn a_checkpoint_that_ends_too_late_is_forgotten() {
    let bench = Bench::new();
    let file = forty_that_end_at(&bench, 90);
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    log.confirm_end();
    assert_eq!((log.log_end_offset(), log.recovery_point()), (Offset(40), Offset(40)));
    assert!(log.high_watermark() <= Offset(40));
    append(&log, batch(1, 100, 1000));
    // With nothing to wait for, the disk thread comes to rest.
    dirs.close(-1);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("topic 0 41\n"), "{text}");
}
