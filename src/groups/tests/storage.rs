//! Offsets over time: transactions, expiry, deleted topics.

use super::*;
use crate::base::Timestamp;
use crate::groups::record::{OffsetKey, OffsetValue};

fn offset_record(offset: i64) -> Record {
    offset_record_of(TopicId::ZERO, offset)
}

fn offset_record_of(topic_id: TopicId, offset: i64) -> Record {
    let key = OffsetKey { group: text(GROUP), topic: text("t"), partition: 0 };
    let value = OffsetValue {
        offset,
        leader_epoch: -1,
        metadata: text(""),
        committed: Timestamp(0),
        expires: Timestamp::NONE,
        topic_id,
    };
    Record::Offset(key, Some(value))
}

fn apply(machine: &mut Groups, offset: i64, producer: i64, record: &Record) {
    machine.apply(Place { offset: Offset(offset), producer: ProducerId(producer) }, record);
}

#[test]
fn a_transactions_offset_counts_after_its_commit_unless_a_later_plain_one_stands() {
    let cases: [(i64, i64, bool, i64); 4] = [
        // place of the plain and of the transactional record, committed?, what is read
        (0, 1, true, 20),
        (1, 0, true, 10),
        (0, 1, false, 10),
        (1, 0, false, 10),
    ];
    for (plain, transactional, committed, wanted) in cases {
        let mut trial = Trial::new(settings());
        let mut records = [(plain, -1, offset_record(10)), (transactional, 7, offset_record(20))];
        records.sort_by_key(|(place, _, _)| *place);
        for (place, producer, record) in records {
            apply(&mut trial.machine, place, producer, &record);
        }
        let pending = trial.fetch_one("t", 0);
        assert_eq!((pending.error, pending.offset), (ErrorCode::UnstableOffsetCommit, -1));
        trial.machine.end_transaction(ProducerId(7), committed);
        assert_eq!(trial.fetch_one("t", 0).offset, wanted);
    }
}

#[test]
fn a_tombstone_takes_pending_offsets_along() {
    let mut trial = Trial::new(settings());
    apply(&mut trial.machine, 0, 7, &offset_record(20));
    assert_eq!(
        trial.ask(Command::DeleteGroups(vec![text(GROUP)])),
        Answer::DeleteGroups(vec![ErrorCode::None])
    );
    trial.machine.end_transaction(ProducerId(7), true);
    assert_eq!(trial.fetch_one("t", 0).offset, -1);
}

const DAY_MS: u64 = 24 * 3600 * 1000;

#[test]
fn offsets_of_a_group_without_members_go_after_their_retention_and_the_group_with_them() {
    let mut trial = Trial::new(settings());
    trial.commit(commit("", -1)).unwrap();
    trial.pass(6 * DAY_MS);
    trial
        .commit(Commit {
            topics: vec![CommitTopic { name: text("u"), ..commit("", -1).topics.remove(0) }],
            ..commit("", -1)
        })
        .unwrap();
    trial.pass(DAY_MS + 600_000);
    assert_eq!((trial.fetch_one("t", 0).offset, trial.fetch_one("u", 0).offset), (-1, 5));
    trial.pass(6 * DAY_MS);
    assert_eq!((trial.fetch_one("u", 0).offset, trial.machine.count()), (-1, 0));
    trial.crash();
    assert_eq!(trial.machine.count(), 0);
}

#[test]
fn retention_begins_when_the_last_member_has_left() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None)]);
    trial.commit(commit("a", 1)).unwrap();
    for _ in 0..(10 * 24 * 12) {
        trial.pass(300_000);
        assert_eq!(trial.heartbeat("a", 1), ErrorCode::None);
    }
    assert_eq!(trial.fetch_one("t", 0).offset, 5, "the member reads t");
    trial.leave("a", None).unwrap();
    trial.pass(6 * DAY_MS);
    assert_eq!(trial.fetch_one("t", 0).offset, 5);
    trial.pass(DAY_MS + 600_000);
    assert_eq!((trial.fetch_one("t", 0).offset, trial.machine.count()), (-1, 0));
}

#[test]
fn a_stable_consumer_group_loses_offsets_of_topics_it_no_longer_reads_and_others_keep_all() {
    for (kind, metadata, wanted) in [
        ("consumer", subscription(&["t"]), (5, -1)),
        ("consumer", Bytes::from_static(b"?"), (5, 5)),
        ("connect", subscription(&["t"]), (5, 5)),
    ] {
        let mut trial = Trial::new(settings());
        let protocols = vec![Protocol { name: text("p"), metadata }];
        trial.send(
            join("a").with(|join| (join.protocol_type, join.protocols) = (text(kind), protocols)).build(),
        );
        trial.pass(6_000);
        let Command::Sync(mut request) = sync("a", 1, Vec::new()) else { panic!() };
        request.protocol_type = None;
        trial.send(Command::Sync(request));
        let mut both = commit("a", 1);
        both.topics.push(CommitTopic { name: text("u"), ..both.topics[0].clone() });
        trial.commit(both).unwrap();
        for _ in 0..(7 * 24 * 12 + 3) {
            trial.pass(300_000);
            assert_eq!(trial.heartbeat("a", 1), ErrorCode::None);
        }
        assert_eq!((trial.fetch_one("t", 0).offset, trial.fetch_one("u", 0).offset), wanted, "{kind}");
    }
}

#[test]
fn an_offset_with_its_own_retention_goes_by_that() {
    let mut trial = Trial::new(settings());
    trial.commit(Commit { retention_ms: Some(1_000_000), ..commit("", -1) }).unwrap();
    trial.crash();
    trial.pass(900_000);
    assert_eq!(trial.fetch_one("t", 0).offset, 5);
    trial.pass(800_000);
    assert_eq!(trial.fetch_one("t", 0).offset, -1);
}

#[test]
fn offsets_of_deleted_topics_go_and_those_of_a_new_topic_of_that_name_stay() {
    let (old, new) =
        (TopicId::random_from(crate::io::random::uuid), TopicId::random_from(crate::io::random::uuid));
    for (own, wanted) in [(TopicId::ZERO, -1), (old, -1), (new, 5)] {
        let mut trial = Trial::new(settings());
        let mut request = commit("", -1);
        request.topics[0].id = own;
        trial.commit(request).unwrap();
        assert_eq!(trial.ask(Command::TopicsDeleted(vec![(text("other"), old)])), Answer::Done);
        assert_eq!(trial.fetch_one("t", 0).offset, 5);
        trial.ask(Command::TopicsDeleted(vec![(text("t"), old)]));
        assert_eq!(trial.fetch_one("t", 0).offset, wanted);
    }
}

#[test]
fn offsets_that_a_transaction_commits_for_a_new_topic_outlive_the_former_one() {
    let (old, new) =
        (TopicId::random_from(crate::io::random::uuid), TopicId::random_from(crate::io::random::uuid));
    let cases: [(Option<TopicId>, TopicId, i64); 4] = [
        // id of a committed offset 10, id of the pending offset 20, what is read after the end of the transaction
        (None, new, 20),
        (Some(old), new, 20),
        (Some(old), old, -1),
        (Some(TopicId::ZERO), TopicId::ZERO, -1),
    ];
    for (committed, pending, wanted) in cases {
        let mut trial = Trial::new(settings());
        if let Some(id) = committed {
            apply(&mut trial.machine, 0, -1, &offset_record_of(id, 10));
        }
        apply(&mut trial.machine, 1, 7, &offset_record_of(pending, 20));
        trial.ask(Command::TopicsDeleted(vec![(text("t"), old)]));
        trial.machine.end_transaction(ProducerId(7), true);
        assert_eq!(trial.fetch_one("t", 0).offset, wanted, "{committed:?} {pending}");
    }
}

#[test]
fn an_offset_of_a_former_topic_of_that_name_is_not_read_by_id() {
    let (old, new) =
        (TopicId::random_from(crate::io::random::uuid), TopicId::random_from(crate::io::random::uuid));
    let mut trial = Trial::new(settings());
    let mut request = commit("", -1);
    request.topics[0].id = old;
    trial.commit(request).unwrap();
    for (id, wanted) in [(old, 5), (new, -1), (TopicId::ZERO, 5)] {
        let topics = Some(vec![FetchTopic { name: text("t"), id, partitions: vec![0] }]);
        let Answer::Fetch(Ok(topics)) = trial.ask(Command::Fetch(Fetch {
            group: text(GROUP),
            member_id: None,
            member_epoch: -1,
            topics,
            require_stable: true,
        })) else {
            panic!()
        };
        assert_eq!(topics[0].partitions[0].offset, wanted);
    }
    let all = |trial: &mut Trial| {
        let group = text(GROUP);
        let all = Fetch { group, member_id: None, member_epoch: -1, topics: None, require_stable: true };
        let Answer::Fetch(Ok(topics)) = trial.ask(Command::Fetch(all)) else { panic!() };
        topics.len()
    };
    assert_eq!(all(&mut trial), 1, "no topic of that name is there now");
    trial.topics(&[("t", 1)]);
    assert_eq!(all(&mut trial), 0, "another one is");
}
