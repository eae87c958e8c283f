//! One rule, one case.

use super::*;
use crate::base::ErrorCode;
use crate::share::Failure;
use crate::share::partition::Acknowledgement;
use crate::share::partition::Cause;
use crate::share::partition::Change;
use crate::share::partition::Dead;
use crate::share::partition::Kind;
use crate::share::state::batches::Batch;
use crate::share::state::batches::State;

const NOW: Instant = Instant(10);

fn said(first: i64, end: i64, kinds: &[Kind]) -> Acknowledgement {
    Acknowledgement { first, end, kinds: kinds.to_vec() }
}

fn acknowledge(
    partition: &mut Partition,
    name: &str,
    said: &[Acknowledgement],
    rules: &Rules,
) -> Result<Change, Failure> {
    partition.acknowledge(&member(name), said, (NOW, Instant(5_000)), rules)
}

/// Acknowledges and keeps it.
fn done(partition: &mut Partition, name: &str, said: &[Acknowledgement]) {
    let change = acknowledge(partition, name, said, &RULES).unwrap();
    partition.settle(&change, true, NOW, &RULES);
}

fn batch(first: i64, end: i64, state: State, count: i16) -> Batch {
    Batch { first, end, state, count }
}

#[test]
fn whole_batches_are_acquired_and_the_start_follows_what_is_dealt_with() {
    let mut partition = empty();
    let found = batches(0, &[10, 10, 10]);
    assert_eq!(ranges(&partition.acquire(&wants("a", 12, 0), &found, &RULES)), [(0, 20, 1)]);
    assert_eq!(partition.next_offset(), 20);
    assert_eq!(ranges(&partition.acquire(&wants("b", 5, 20), &found[2..], &RULES)), [(20, 30, 1)]);
    done(&mut partition, "b", &[said(20, 30, &[Kind::Accept])]);
    assert_eq!((partition.start(), partition.complete_count()), (0, 10));
    done(&mut partition, "a", &[said(0, 20, &[Kind::Accept])]);
    assert_eq!((partition.start(), partition.end(), partition.complete_count()), (30, 30, 0));
}

#[test]
fn acquired_ranges_follow_the_batch_size() {
    let mut partition = empty();
    let request = Acquire { batch_size: 8, ..wants("a", 100, 0) };
    let acquired = partition.acquire(&request, &batches(0, &[5, 5, 5, 5]), &RULES);
    assert_eq!(ranges(&acquired), [(0, 10, 1), (10, 20, 1)]);
}

#[test]
fn an_exact_limit_leaves_the_rest_of_a_batch_to_others() {
    let mut partition = empty();
    let found = batches(0, &[10]);
    let exact = |name: &str, from| Acquire { exact: true, ..wants(name, 4, from) };
    assert_eq!(ranges(&partition.acquire(&exact("a", 0), &found, &RULES)), [(0, 4, 1)]);
    assert_eq!((partition.next_offset(), partition.end()), (4, 10));
    assert_eq!(ranges(&partition.acquire(&exact("b", 4), &found, &RULES)), [(4, 8, 1)]);
    assert_eq!(ranges(&partition.acquire(&exact("b", 8), &found, &RULES)), [(8, 10, 1)]);
}

#[test]
fn acknowledgements_are_taken_as_a_whole_or_not_at_all() {
    let mut partition = empty();
    partition.acquire(&wants("a", 10, 0), &batches(0, &[10]), &RULES);
    partition.acquire(&wants("b", 10, 10), &batches(10, &[10]), &RULES);
    let mixed = [said(0, 5, &[Kind::Accept]), said(5, 15, &[Kind::Accept])];
    let refused = acknowledge(&mut partition, "a", &mixed, &RULES).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidRecordState);
    done(&mut partition, "a", &[said(0, 10, &[Kind::Accept])]);
    assert_eq!(partition.start(), 10);
    for (first, end, code) in [
        (10, 25, ErrorCode::InvalidRequest),
        (20, 22, ErrorCode::InvalidRequest),
        (10, 20, ErrorCode::InvalidRecordState),
    ] {
        let refused = acknowledge(&mut partition, "a", &[said(first, end, &[Kind::Accept])], &RULES);
        assert_eq!(refused.unwrap_err().code, code, "{first}..{end}");
    }
    let before = acknowledge(&mut partition, "a", &[said(0, 5, &[Kind::Accept])], &RULES).unwrap();
    assert!(before.is_empty(), "what lies before the start is dealt with");
}

#[test]
fn each_record_may_have_its_own_kind() {
    let mut partition = empty();
    partition.acquire(&wants("a", 6, 0), &batches(0, &[6]), &RULES);
    let kinds = [Kind::Accept, Kind::Accept, Kind::Release, Kind::Reject, Kind::Gap, Kind::Release];
    let change = acknowledge(&mut partition, "a", &[said(0, 6, &kinds)], &RULES).unwrap();
    let expected = [
        batch(0, 2, State::Acknowledged, 1),
        batch(2, 3, State::Available, 1),
        batch(3, 5, State::Archived, 1),
        batch(5, 6, State::Available, 1),
    ];
    assert_eq!(change.batches, expected);
    assert_eq!(partition.next_offset(), 6, "nothing is delivered again before it is kept");
    partition.settle(&change, true, NOW, &RULES);
    assert_eq!((partition.start(), partition.next_offset()), (2, 2));
    let again = partition.acquire(&wants("b", 10, 2), &batches(0, &[6]), &RULES);
    assert_eq!(ranges(&again), [(2, 3, 2), (5, 6, 2)]);
}

#[test]
fn what_cannot_be_kept_is_the_members_again_while_its_lock_holds() {
    let mut partition = empty();
    partition.acquire(&wants("a", 4, 0), &batches(0, &[4]), &RULES);
    let change = acknowledge(&mut partition, "a", &[said(0, 4, &[Kind::Accept])], &RULES).unwrap();
    let twice = acknowledge(&mut partition, "a", &[said(0, 4, &[Kind::Accept])], &RULES).unwrap_err();
    assert_eq!(twice.code, ErrorCode::InvalidRecordState);
    partition.settle(&change, false, NOW, &RULES);
    assert_eq!(partition.next_offset(), 4);
    let change = acknowledge(&mut partition, "a", &[said(0, 4, &[Kind::Accept])], &RULES).unwrap();
    partition.settle(&change, false, Instant(1_001), &RULES);
    assert_eq!(ranges(&partition.acquire(&wants("b", 4, 0), &batches(0, &[4]), &RULES)), [(0, 4, 2)]);
}

#[test]
fn locks_end_unless_they_are_renewed() {
    let mut partition = empty();
    partition.acquire(&wants("a", 4, 0), &batches(0, &[4]), &RULES);
    let renewed = acknowledge(&mut partition, "a", &[said(0, 2, &[Kind::Renew])], &RULES).unwrap();
    assert!(renewed.is_empty());
    assert!(partition.expire(Instant(999), &RULES).is_empty());
    let change = partition.expire(Instant(1_000), &RULES);
    assert_eq!(change.batches, [batch(2, 4, State::Available, 1)]);
    assert_eq!((partition.next_offset(), partition.next_lock()), (2, Some(Instant(5_000))));
    let change = partition.expire(Instant(5_000), &RULES);
    assert_eq!(change.batches, [batch(0, 2, State::Available, 1)]);
    let never = Rules { renews: false, ..RULES };
    partition.acquire(&wants("a", 4, 0), &batches(0, &[4]), &never);
    let refused = acknowledge(&mut partition, "a", &[said(0, 2, &[Kind::Renew])], &never).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidRecordState);
}

#[test]
fn what_a_lost_member_held_is_released() {
    let mut partition = empty();
    partition.acquire(&wants("a", 4, 0), &batches(0, &[4]), &RULES);
    partition.acquire(&wants("b", 4, 4), &batches(4, &[4]), &RULES);
    let change = partition.release("a", &RULES);
    assert_eq!(change.batches, [batch(0, 4, State::Available, 1)]);
    partition.settle(&change, true, NOW, &RULES);
    assert_eq!(partition.next_offset(), 0);
    assert!(partition.release("a", &RULES).is_empty());
}

#[test]
fn a_record_that_fails_again_and_again_is_given_up_alone() {
    let rules = Rules { delivery_limit: 3, dead_letters: true, ..RULES };
    let mut partition = empty();
    let found = batches(0, &[8]);
    let release = |partition: &mut Partition, acquired: &[Acquired]| {
        let all: Vec<_> = acquired.iter().map(|one| said(one.first, one.end, &[Kind::Release])).collect();
        let change = acknowledge(partition, "a", &all, &rules).unwrap();
        partition.settle(&change, true, NOW, &rules);
        change.dead
    };
    let first = partition.acquire(&wants("a", 8, 0), &found, &rules);
    assert_eq!(ranges(&first), [(0, 8, 1)]);
    release(&mut partition, &first);
    let second = partition.acquire(&wants("a", 8, 0), &found, &rules);
    assert_eq!(ranges(&second), [(0, 8, 2)]);
    release(&mut partition, &second);
    for offset in 0..8 {
        let next = partition.next_offset();
        let last = partition.acquire(&wants("a", 8, next), &found, &rules);
        assert_eq!(ranges(&last), [(offset, offset + 1, 3)], "alone");
        let dead = release(&mut partition, &last);
        let cause = Some(Cause::Exhausted);
        assert_eq!(dead, [Dead { first: offset, end: offset + 1, count: 3, cause }]);
        assert_eq!(partition.start(), offset, "it is not done with before the dead letter is written");
        let change = partition.bury(offset, offset + 1);
        assert_eq!(change.batches, [batch(offset, offset + 1, State::Archived, 3)]);
        assert_eq!(partition.start(), offset + 1);
    }
}

#[test]
fn no_more_are_under_way_than_the_group_allows() {
    let rules = Rules { locks_max: 10, ..RULES };
    let mut partition = empty();
    assert_eq!(ranges(&partition.acquire(&wants("a", 6, 0), &batches(0, &[6]), &rules)), [(0, 6, 1)]);
    assert!(partition.has_room(&rules));
    assert_eq!(ranges(&partition.acquire(&wants("a", 6, 6), &batches(6, &[6, 6]), &rules)), [(6, 12, 1)]);
    assert!(!partition.has_room(&rules));
    assert_eq!(partition.acquire(&wants("a", 6, 12), &batches(12, &[6]), &rules), []);
    let change = acknowledge(&mut partition, "a", &[said(8, 9, &[Kind::Release])], &rules).unwrap();
    partition.settle(&change, true, NOW, &rules);
    assert!(partition.has_room(&rules), "what was released may be delivered again");
    let again = partition.acquire(&wants("b", 6, 8), &batches(6, &[6, 6]), &rules);
    assert_eq!(ranges(&again), [(8, 9, 2)]);
}

#[test]
fn gaps_in_what_was_kept_are_delivered_again_and_holes_in_the_log_are_not() {
    let kept = [batch(2, 4, State::Acknowledged, 1), batch(6, 8, State::Available, 1)];
    let (mut partition, dead) = Partition::load(0, &kept).unwrap();
    assert!(dead.is_empty());
    assert_eq!((partition.next_offset(), partition.end()), (0, 8));
    // The log was compacted: 1 and 5 are not there any more.
    let found = [
        Found { first: 0, end: 1, aborted: false },
        Found { first: 2, end: 5, aborted: false },
        Found { first: 6, end: 10, aborted: false },
    ];
    let acquired = partition.acquire(&wants("a", 100, 0), &found, &RULES);
    let held: i64 = acquired.iter().map(|one| one.end - one.first).sum();
    assert_eq!(acquired.first().map(|one| one.first), Some(0));
    assert_eq!(acquired.last().map(|one| one.end), Some(10));
    assert_eq!(held, 8, "all but 2 and 3, which are dealt with");
    let mut behind = empty();
    behind.acquire(&wants("a", 2, 0), &batches(0, &[2]), &RULES);
    assert_eq!(ranges(&behind.acquire(&wants("a", 2, 2), &batches(5, &[2]), &RULES)), [(5, 7, 1)]);
    done(&mut behind, "a", &[said(0, 2, &[Kind::Accept])]);
    assert_eq!(behind.start(), 5, "2, 3 and 4 are no more");
}

#[test]
fn records_of_aborted_transactions_are_dealt_with() {
    let mut partition = empty();
    let mut found = batches(0, &[2, 2, 2, 1]);
    found[1].aborted = true;
    let acquired = partition.acquire(&wants("a", 100, 0), &found, &RULES);
    assert_eq!(ranges(&acquired), [(0, 2, 1), (4, 7, 1)]);
    done(&mut partition, "a", &[said(0, 2, &[Kind::Accept])]);
    assert_eq!(partition.start(), 4);
    let mut all = batches(7, &[2]);
    all[0].aborted = true;
    done(&mut partition, "a", &[said(4, 7, &[Kind::Accept])]);
    assert_eq!(partition.acquire(&wants("a", 100, 7), &all, &RULES), []);
    assert_eq!((partition.start(), partition.end()), (9, 9));
}

#[test]
fn what_the_log_has_lost_is_dealt_with() {
    let mut partition = empty();
    partition.acquire(&wants("a", 10, 0), &batches(0, &[10]), &RULES);
    partition.cut(4);
    assert_eq!(partition.start(), 4);
    done(&mut partition, "a", &[said(0, 10, &[Kind::Accept])]);
    assert_eq!((partition.start(), partition.end()), (10, 10));
    partition.cut(50);
    assert_eq!((partition.start(), partition.end(), partition.next_offset()), (50, 50, 50));
}

#[test]
fn what_was_on_its_way_to_the_dead_letters_is_found_again() {
    let kept = [batch(0, 2, State::Archiving, 5), batch(2, 3, State::Archived, 1)];
    let (mut partition, dead) = Partition::load(0, &kept).unwrap();
    assert_eq!(dead, [Dead { first: 0, end: 2, count: 5, cause: None }]);
    assert_eq!((partition.start(), partition.next_offset()), (0, 3));
    assert!(!partition.is_quiet());
    let _change = partition.bury(0, 2);
    assert_eq!((partition.start(), partition.is_quiet()), (3, true));
    assert!(Partition::load(0, &[batch(2, 5, State::Archived, 1), batch(4, 6, State::Archived, 1)]).is_err());
    assert!(Partition::load(3, &[batch(2, 5, State::Archived, 1)]).is_err());
}

#[test]
fn what_is_given_up_and_cannot_be_kept_still_waits_for_its_dead_letter() {
    let rules = Rules { delivery_limit: 2, dead_letters: true, ..RULES };
    let kept = [batch(0, 4, State::Available, 1)];
    let (mut partition, _) = Partition::load(0, &kept).unwrap();
    let found = batches(0, &[4]);
    // A limit of two does not part records: all four are delivered the last time.
    assert_eq!(ranges(&partition.acquire(&wants("a", 4, 0), &found, &rules)), [(0, 4, 2)]);
    let change = acknowledge(&mut partition, "a", &[said(3, 4, &[Kind::Reject])], &rules).unwrap();
    partition.settle(&change, false, NOW, &rules);
    assert_eq!(partition.given_up(change.dead[0]), [], "it is the member's again");
    let change = partition.expire(Instant(2_000), &rules);
    let dead = Dead { first: 0, end: 4, count: 2, cause: Some(Cause::Exhausted) };
    assert_eq!(change.dead, [dead]);
    partition.settle(&change, false, Instant(2_000), &rules);
    assert_eq!(partition.start(), 0);
    let parts = [Dead { end: 3, ..dead }, Dead { first: 3, ..dead }];
    assert_eq!(partition.given_up(dead), parts, "nobody else would bring them further");
    assert!(!partition.bury(0, 4).is_empty());
    assert_eq!((partition.start(), partition.given_up(dead)), (4, Vec::new()));
}
