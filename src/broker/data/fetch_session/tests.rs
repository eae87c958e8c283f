//! What sessions promise a client, and who must go when there is no room.

use super::*;
use std::time::Duration;
use uuid::Uuid;

const START: Instant = Instant(1_000_000_000);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    key: Key,
    wanted: Wanted,
    news: News,
}

impl Answered for Answer {
    fn key(&self) -> &Key {
        &self.key
    }
    fn wanted(&self) -> &Wanted {
        &self.wanted
    }
    fn news(&self) -> News {
        self.news
    }
}

fn key(partition: i32) -> Key {
    Key { topic: TopicKey::Id(TopicId(Uuid::from_u128(7))), partition }
}

fn wanted(offset: i64) -> Wanted {
    Wanted {
        offset: Offset(offset),
        max_bytes: 1024,
        leader_epoch: None,
        last_fetched_epoch: None,
        log_start: Offset(-1),
    }
}

fn quiet(high_watermark: i64) -> News {
    News { records: false, high_watermark, log_start: 0, error: false, redirect: false }
}

fn records(high_watermark: i64) -> News {
    News { records: true, ..quiet(high_watermark) }
}

const FAILED: News = News { records: false, high_watermark: -1, log_start: -1, error: true, redirect: false };

fn ask(session_id: i32, epoch: i32) -> Ask {
    Ask { session_id, epoch, topic_ids: true, follower: false }
}

fn answer(wanted: Vec<(Key, Wanted)>, news: &[News]) -> Vec<Answer> {
    wanted.into_iter().zip(news).map(|((key, wanted), news)| Answer { key, wanted, news: *news }).collect()
}

/// A whole request: begins, answers with `news` in the order of what is wanted, ends.
fn step(
    sessions: &FetchSessions,
    ask: Ask,
    named: &[(i32, i64)],
    forgotten: &[i32],
    news: &[News],
) -> Result<(i32, Vec<i32>), ErrorCode> {
    let named = named.iter().map(|(partition, offset)| (key(*partition), wanted(*offset))).collect();
    let forgotten: Vec<Key> = forgotten.iter().map(|partition| key(*partition)).collect();
    let (context, all) = sessions.begin(ask, named, &forgotten, START)?;
    assert_eq!(all.len(), news.len(), "one answer for each partition that is wanted: {all:?}");
    let finished = sessions.finish(context, answer(all, news), START);
    match finished.error {
        ErrorCode::None => {
            let shown = finished.answers.iter().map(|answer| answer.key.partition).collect();
            Ok((finished.session_id, shown))
        }
        error => Err(error),
    }
}

fn open(sessions: &FetchSessions, partitions: &[i32], follower: bool, now: Instant) -> i32 {
    let named = partitions.iter().map(|partition| (key(*partition), wanted(0))).collect();
    let ask = Ask { follower, ..ask(0, 0) };
    let (context, all) = sessions.begin(ask, named, &[], now).unwrap();
    let news = vec![quiet(0); all.len()];
    sessions.finish(context, answer(all, &news), now).session_id
}

fn alive(sessions: &FetchSessions, id: i32, now: Instant) -> bool {
    sessions.begin(ask(id, 1), Vec::new(), &[], now).is_ok()
}

#[test]
fn an_incremental_answer_leaves_out_what_has_no_news() {
    let sessions = FetchSessions::new(10);
    let (id, shown) = step(&sessions, ask(0, 0), &[(0, 0), (1, 5)], &[], &[quiet(3), quiet(5)]).unwrap();
    assert!(id > 0);
    assert_eq!(shown, [0, 1], "the first answer has all");
    assert_eq!(step(&sessions, ask(id, 1), &[], &[], &[quiet(3), quiet(5)]), Ok((id, vec![])));
    assert_eq!(step(&sessions, ask(id, 2), &[], &[], &[quiet(3), quiet(6)]), Ok((id, vec![1])));
    assert_eq!(step(&sessions, ask(id, 3), &[], &[], &[records(4), quiet(6)]), Ok((id, vec![0])));
}

#[test]
fn an_error_is_always_shown_and_so_is_its_end() {
    let sessions = FetchSessions::new(10);
    let (id, _) = step(&sessions, ask(0, 0), &[(0, 0)], &[], &[quiet(3)]).unwrap();
    assert_eq!(step(&sessions, ask(id, 1), &[], &[], &[FAILED]), Ok((id, vec![0])));
    assert_eq!(step(&sessions, ask(id, 2), &[], &[], &[FAILED]), Ok((id, vec![0])));
    assert_eq!(step(&sessions, ask(id, 3), &[], &[], &[quiet(3)]), Ok((id, vec![0])));
    assert_eq!(step(&sessions, ask(id, 4), &[], &[], &[quiet(3)]), Ok((id, vec![])));
}

#[test]
fn a_partition_that_had_records_goes_to_the_end_of_the_line() {
    let sessions = FetchSessions::new(10);
    let all = [(0, 0), (1, 0), (2, 0)];
    let (id, _) = step(&sessions, ask(0, 0), &all, &[], &[quiet(0); 3]).unwrap();
    step(&sessions, ask(id, 1), &[], &[], &[records(9), quiet(0), quiet(0)]).unwrap();
    let (_, wanted) = sessions.begin(ask(id, 2), Vec::new(), &[], START).unwrap();
    let order: Vec<i32> = wanted.iter().map(|(key, _)| key.partition).collect();
    assert_eq!(order, [1, 2, 0]);
}

#[test]
fn partitions_are_added_changed_and_forgotten() {
    let sessions = FetchSessions::new(10);
    let (id, _) = step(&sessions, ask(0, 0), &[(0, 0), (1, 0)], &[], &[quiet(0); 2]).unwrap();
    let (_, all) =
        sessions.begin(ask(id, 1), vec![(key(1), wanted(8)), (key(2), wanted(4))], &[key(0)], START).unwrap();
    assert_eq!(all, [(key(1), wanted(8)), (key(2), wanted(4))]);
    assert_eq!(size(&sessions), (1, 2));
    let left = step(&sessions, ask(id, 2), &[], &[1, 2], &[]);
    assert_eq!(left, Ok((NO_SESSION, vec![])), "a session without partitions ends");
    assert_eq!(size(&sessions), (0, 0));
}

#[test]
fn wrong_ids_epochs_and_ways_to_name_topics_are_refused() {
    let sessions = FetchSessions::new(10);
    let (id, _) = step(&sessions, ask(0, 0), &[(0, 0)], &[], &[quiet(0)]).unwrap();
    let refused = |ask| sessions.begin(ask, Vec::new(), &[], START).unwrap_err();
    assert_eq!(refused(ask(id ^ 1, 1)), ErrorCode::FetchSessionIdNotFound);
    assert_eq!(refused(ask(0, 1)), ErrorCode::FetchSessionIdNotFound);
    assert_eq!(refused(ask(id, 2)), ErrorCode::InvalidFetchSessionEpoch);
    assert_eq!(refused(Ask { topic_ids: false, ..ask(id, 1) }), ErrorCode::FetchSessionTopicIdError);
    assert!(alive(&sessions, id, START), "a refused request changes nothing");
}

#[test]
fn a_request_that_was_overtaken_by_its_duplicate_is_refused_at_the_end() {
    let sessions = FetchSessions::new(10);
    let (id, _) = step(&sessions, ask(0, 0), &[(0, 0)], &[], &[quiet(0)]).unwrap();
    let (first, all) = sessions.begin(ask(id, 1), Vec::new(), &[], START).unwrap();
    step(&sessions, ask(id, 2), &[], &[], &[quiet(0)]).unwrap();
    let finished = sessions.finish(first, answer(all, &[records(1)]), START);
    assert_eq!((finished.error, finished.session_id), (ErrorCode::InvalidFetchSessionEpoch, id));
    assert!(finished.answers.is_empty());
}

#[test]
fn a_full_request_closes_the_session_it_names() {
    let sessions = FetchSessions::new(10);
    let first = open(&sessions, &[0], false, START);
    let (second, _) = step(&sessions, ask(first, 0), &[(0, 0)], &[], &[quiet(0)]).unwrap();
    assert_ne!(first, second);
    assert!(!alive(&sessions, first, START));
    let closed = step(&sessions, ask(second, -1), &[(0, 0)], &[], &[quiet(0)]);
    assert_eq!(closed, Ok((NO_SESSION, vec![0])));
    assert_eq!(size(&sessions), (0, 0));
}

#[test]
fn without_room_a_client_gets_no_session_and_all_answers() {
    let sessions = FetchSessions::new(1);
    let first = open(&sessions, &[0], false, START);
    assert_eq!(open(&sessions, &[0, 1], false, START), NO_SESSION, "the first one is too young to go");
    assert!(alive(&sessions, first, START));
    assert_eq!(open(&FetchSessions::new(0), &[0], false, START), NO_SESSION);
}

#[test]
fn a_session_out_of_use_makes_room() {
    let sessions = FetchSessions::new(1);
    let first = open(&sessions, &[0, 1], false, START);
    let later = START.plus(Duration::from_secs(121));
    let second = open(&sessions, &[0], false, later);
    assert_ne!(second, NO_SESSION);
    assert!(!alive(&sessions, first, later));
}

#[test]
fn an_old_session_in_use_gives_way_to_a_larger_one_only() {
    let sessions = FetchSessions::new(1);
    let first = open(&sessions, &[0, 1], false, START);
    let later = START.plus(Duration::from_secs(121));
    assert!(alive(&sessions, first, later), "used just now");
    assert_eq!(open(&sessions, &[0], false, later), NO_SESSION);
    let second = open(&sessions, &[0, 1, 2], false, later);
    assert_ne!(second, NO_SESSION);
    assert_eq!(size(&sessions), (1, 3));
}

#[test]
fn a_followers_session_replaces_a_young_consumers_but_not_the_other_way_round() {
    let sessions = FetchSessions::new(1);
    let consumer = open(&sessions, &[0, 1], false, START);
    let follower = open(&sessions, &[0], true, START);
    assert_ne!(follower, NO_SESSION);
    assert!(!alive(&sessions, consumer, START));
    let later = START.plus(Duration::from_secs(121));
    let ask_again = Ask { follower: true, ..ask(follower, 1) };
    assert!(sessions.begin(ask_again, Vec::new(), &[], later).is_ok());
    assert_eq!(open(&sessions, &[0, 1, 2], false, later), NO_SESSION);
}

#[test]
fn the_epoch_wraps_to_one() {
    assert_eq!(next_epoch(i32::MAX), 1);
    assert_eq!(next_epoch(0), 1);
}

fn size(sessions: &FetchSessions) -> (usize, usize) {
    let sizes = sessions.sizes();
    (sizes.count, sizes.partitions)
}
