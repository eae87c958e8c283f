//! One case for each row of the error table of classic groups.

use super::*;

fn join_error(trial: &mut Trial, join: JoinWith) -> ErrorCode {
    let ticket = trial.send(join.build());
    trial.joined(ticket).map_or(ErrorCode::None, |joined| joined.error)
}

#[test]
fn joins_that_are_refused() {
    let fresh = || Trial::new(settings());
    let cases: Vec<(&str, JoinWith, ErrorCode)> = vec![
        ("no group id", join("m").with(|join| join.group = text("")), ErrorCode::InvalidGroupId),
        (
            "session too short",
            join("m").with(|join| join.session_timeout_ms = 5_999),
            ErrorCode::InvalidSessionTimeout,
        ),
        (
            "session too long",
            join("m").with(|join| join.session_timeout_ms = 1_800_001),
            ErrorCode::InvalidSessionTimeout,
        ),
        ("unknown group with id", join("m").known(), ErrorCode::UnknownMemberId),
        ("no protocol", join("m").protocols(&[]), ErrorCode::InconsistentGroupProtocol),
        (
            "no type",
            join("m").with(|join| join.protocol_type = text("")),
            ErrorCode::InconsistentGroupProtocol,
        ),
        (
            "id required",
            join("m").with(|join| join.requires_known_member_id = true),
            ErrorCode::MemberIdRequired,
        ),
        ("accepted", join("m"), ErrorCode::None),
    ];
    for (name, join, wanted) in cases {
        assert_eq!(join_error(&mut fresh(), join), wanted, "{name}");
    }
}

#[test]
fn joins_that_a_stable_group_refuses() {
    let cases: Vec<(&str, JoinWith, ErrorCode)> = vec![
        ("unknown id", join("x").known(), ErrorCode::UnknownMemberId),
        (
            "other type",
            join("x").with(|join| join.protocol_type = text("connect")),
            ErrorCode::InconsistentGroupProtocol,
        ),
        ("other protocols", join("x").protocols(&["sticky"]), ErrorCode::InconsistentGroupProtocol),
        ("older static member", join_as("old", Some("i")).known(), ErrorCode::FencedInstanceId),
        ("unknown instance", join_as("a", Some("j")).known(), ErrorCode::UnknownMemberId),
        ("one too many", join("x"), ErrorCode::GroupMaxSizeReached),
        ("a member", join("a").known(), ErrorCode::None),
    ];
    for (name, join, wanted) in cases {
        let max = if wanted == ErrorCode::GroupMaxSizeReached { 2 } else { 3 };
        let mut trial = Trial::new(Settings { group_size_max: max, ..settings() });
        trial.stable(&[("a", None), ("b", Some("i"))]);
        assert_eq!(join_error(&mut trial, join), wanted, "{name}");
    }
}

#[test]
fn members_take_no_more_memory_than_there_is_and_those_who_are_there_stay() {
    let memory = Memory::new(20_000, "members", "a.setting");
    let mut trial = Trial::new(Settings { memory: Arc::clone(&memory), ..settings() });
    trial.stable(&[("a", None), ("b", Some("i"))]);
    let small = memory.used();
    assert!((1_000..4_000).contains(&small), "{small}");
    let large = |name: &str| {
        let metadata = Bytes::from(vec![b'm'; 30_000]);
        join(name).with(|join| join.protocols.iter_mut().for_each(|own| own.metadata = metadata.clone()))
    };
    assert_eq!(join_error(&mut trial, large("x")), ErrorCode::CoordinatorNotAvailable);
    assert_eq!(join_error(&mut trial, large("a").known()), ErrorCode::CoordinatorNotAvailable);
    let ticket = trial.send(sync("a", 1, vec![(text("a"), Bytes::from(vec![0; 30_000]))]));
    assert_eq!(trial.synced(ticket).unwrap().error, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(memory.used(), small, "what was refused takes nothing");
    assert_eq!(trial.state(), "Stable");
    let mut elsewhere = Trial::new(Settings { memory: Arc::clone(&memory), ..settings() });
    for number in 0..60 {
        elsewhere.send(join(&format!("m{number}")).build());
    }
    assert!(memory.used() > 15_000 && memory.used() <= 20_000, "all partitions share: {}", memory.used());
    assert_eq!(join_error(&mut trial, join("y")), ErrorCode::CoordinatorNotAvailable);
    assert_eq!(join_error(&mut trial, join("a").known()), ErrorCode::None, "who is there goes on");
    drop(elsewhere);
    assert!(memory.used() > 1_000);
    trial.pass(10_000_000);
    assert_eq!((trial.state(), memory.used()), ("Dead", 0), "members that are gone take nothing");
}

#[test]
fn a_refused_join_tells_the_id() {
    let mut trial = Trial::new(settings());
    let ticket = trial.send(join("m").known().build());
    assert_eq!(&*trial.joined(ticket).unwrap().member_id, "m");
    assert_eq!(trial.machine.count(), 0, "an id that nobody gave makes no group");
    let ticket = trial.send(join("m").protocols(&[]).build());
    assert_eq!(&*trial.joined(ticket).unwrap().member_id, "");
}

#[test]
fn a_promised_id_must_be_used_within_the_session() {
    let mut trial = Trial::new(settings());
    let ask = |name: &str| {
        join(name).with(|join| (join.requires_known_member_id, join.session_timeout_ms) = (true, 10_000))
    };
    assert_eq!(join_error(&mut trial, ask("m")), ErrorCode::MemberIdRequired);
    let ticket = trial.send(ask("m").known().build());
    trial.pass(3_000);
    assert_eq!(trial.joined(ticket).unwrap().error, ErrorCode::None);

    let mut trial = Trial::new(settings());
    assert_eq!(join_error(&mut trial, ask("m")), ErrorCode::MemberIdRequired);
    trial.pass(10_000);
    assert_eq!(join_error(&mut trial, ask("m").known()), ErrorCode::UnknownMemberId);
}

#[test]
fn a_group_is_there_from_the_first_request_to_join_it_until_empty_groups_are_looked_for() {
    let memory = Memory::new(20_000, "members", "a.setting");
    let ask =
        join("m").with(|join| (join.requires_known_member_id, join.session_timeout_ms) = (true, 10_000));
    let wrong = join("m").protocols(&[]);
    for (join, error) in [(ask, ErrorCode::MemberIdRequired), (wrong, ErrorCode::InconsistentGroupProtocol)] {
        let mut trial = Trial::new(Settings { memory: Arc::clone(&memory), ..settings() });
        assert_eq!(join_error(&mut trial, join), error);
        assert_eq!((trial.machine.count(), trial.state()), (1, "Empty"));
        assert!(memory.used() >= 512, "it counts");
        trial.crash();
        assert_eq!((trial.machine.count(), trial.state()), (1, "Empty"), "the log knows it");
        trial.pass(600_000);
        assert_eq!((trial.state(), memory.used()), ("Dead", 0));
    }
}

#[test]
fn a_commit_makes_its_group_also_where_it_stores_nothing() {
    let mut trial = Trial::new(settings());
    let mut long = commit("", -1);
    long.topics[0].partitions[0].metadata = Some(text(&"m".repeat(5_000)));
    let nothing = Commit { topics: Vec::new(), ..commit("", -1) };
    assert_eq!((trial.commit(nothing), trial.machine.count()), (Ok(Vec::new()), 0));
    assert_eq!(trial.commit(long), Ok(vec![vec![ErrorCode::OffsetMetadataTooLarge]]));
    assert_eq!((trial.state(), trial.log.len()), ("Empty", 0));
    trial.pass(600_000);
    assert_eq!(trial.machine.count(), 0);
}

#[test]
fn groups_that_nobody_comes_to_take_no_more_memory_than_there_is() {
    let memory = Memory::new(20_000, "members", "a.setting");
    let mut trial = Trial::new(Settings { memory: Arc::clone(&memory), ..settings() });
    let ask = |number: i32| {
        join("m").with(|join| {
            join.group = text(&format!("g{number}"));
            (join.requires_known_member_id, join.session_timeout_ms) = (true, 10_000);
        })
    };
    for number in 0..60 {
        join_error(&mut trial, ask(number));
    }
    // The promised ids are forgotten, the groups stay for a while.
    trial.pass(10_000);
    let groups = trial.machine.count();
    assert!((10..60).contains(&groups) && memory.used() >= groups * 512, "{groups}");
    for number in 100..160 {
        join_error(&mut trial, ask(number));
    }
    assert!(memory.used() <= 20_000);
    assert_eq!(join_error(&mut trial, ask(200)), ErrorCode::CoordinatorNotAvailable);
    let new = |number: i32| Commit { group: text(&format!("new{number}")), ..commit("", -1) };
    let refused = |number: &i32| trial.commit(new(*number)) == Err(ErrorCode::CoordinatorNotAvailable);
    assert!((0..20).find(refused).is_some_and(|made| made > 0));
    assert!(memory.used() <= 20_000);
    trial.pass(8 * 24 * 3_600_000);
    assert_eq!((trial.machine.count(), memory.used()), (0, 0));
}

#[test]
fn syncs_that_are_refused() {
    let one = |command: Command| {
        let mut trial = Trial::new(settings());
        trial.stable(&[("a", None), ("b", Some("i"))]);
        let ticket = trial.send(command);
        trial.synced(ticket).unwrap().error
    };
    let with = |change: fn(&mut Sync)| {
        let Command::Sync(mut request) = sync("a", 1, Vec::new()) else { panic!() };
        change(&mut request);
        Command::Sync(request)
    };
    assert_eq!(one(with(|sync| sync.group = text(""))), ErrorCode::InvalidGroupId);
    assert_eq!(one(with(|sync| sync.group = text("other"))), ErrorCode::UnknownMemberId);
    assert_eq!(one(with(|sync| sync.member_id = text("x"))), ErrorCode::UnknownMemberId);
    assert_eq!(one(with(|sync| sync.instance_id = Some(text("i")))), ErrorCode::FencedInstanceId);
    assert_eq!(one(with(|sync| sync.instance_id = Some(text("j")))), ErrorCode::UnknownMemberId);
    assert_eq!(one(with(|sync| sync.generation = 0)), ErrorCode::IllegalGeneration);
    assert_eq!(
        one(with(|sync| sync.protocol_type = Some(text("connect")))),
        ErrorCode::InconsistentGroupProtocol
    );
    assert_eq!(one(with(|sync| sync.protocol = Some(text("sticky")))), ErrorCode::InconsistentGroupProtocol);
    assert_eq!(one(with(|sync| sync.protocol = Some(text("range")))), ErrorCode::None);
}

#[test]
fn heartbeats_and_syncs_while_the_group_rebalances() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("b", None)]);
    assert_eq!(trial.heartbeat("a", 1), ErrorCode::None);
    assert_eq!(trial.heartbeat("a", 0), ErrorCode::IllegalGeneration);
    assert_eq!(trial.heartbeat("x", 1), ErrorCode::UnknownMemberId);
    trial.send(join("c").build());
    assert_eq!(trial.state(), "PreparingRebalance");
    assert_eq!(trial.heartbeat("a", 1), ErrorCode::RebalanceInProgress);
    let ticket = trial.send(sync("a", 1, Vec::new()));
    assert_eq!(trial.synced(ticket).unwrap().error, ErrorCode::RebalanceInProgress);
    trial.send(join("a").known().build());
    trial.send(join("b").known().build());
    assert_eq!(trial.state(), "CompletingRebalance");
    assert_eq!(trial.heartbeat("a", 2), ErrorCode::None);
    assert_eq!(trial.commit(commit("a", 2)), Err(ErrorCode::RebalanceInProgress));
}

#[test]
fn heartbeats_of_unknown_empty_and_nameless_groups() {
    let mut trial = Trial::new(settings());
    assert_eq!(trial.heartbeat("a", 1), ErrorCode::UnknownMemberId);
    trial.commit(commit("", -1)).unwrap();
    assert_eq!(trial.heartbeat("a", 0), ErrorCode::UnknownMemberId);
    let command = Command::Heartbeat(Heartbeat {
        group: text(""),
        member_id: text("a"),
        instance_id: None,
        generation: 1,
    });
    assert_eq!(trial.ask(command), Answer::Heartbeat(ErrorCode::InvalidGroupId));
}

#[test]
fn leaving() {
    let mut trial = Trial::new(settings());
    assert_eq!(trial.leave("a", None), Ok(vec![ErrorCode::UnknownMemberId]));
    trial.stable(&[("a", None), ("b", Some("i")), ("c", Some("j"))]);
    assert_eq!(trial.leave("x", None), Ok(vec![ErrorCode::UnknownMemberId]));
    assert_eq!(trial.leave("a", Some("i")), Ok(vec![ErrorCode::FencedInstanceId]));
    assert_eq!(trial.leave("", Some("none")), Ok(vec![ErrorCode::UnknownMemberId]));
    assert_eq!(trial.state(), "Stable");
    assert_eq!(trial.leave("", Some("i")), Ok(vec![ErrorCode::None]));
    assert_eq!(trial.state(), "PreparingRebalance");
    assert_eq!(trial.leave("c", Some("j")), Ok(vec![ErrorCode::None]));
    assert_eq!(trial.leave("a", None), Ok(vec![ErrorCode::None]));
    assert_eq!(trial.state(), "Empty");
    assert_eq!(trial.generation(), 2);
    let nameless = Command::Leave(Leave { group: text(""), members: Vec::new() });
    assert_eq!(trial.ask(nameless), Answer::Leave(Err(ErrorCode::InvalidGroupId)));
}

#[test]
fn a_member_with_a_promised_id_may_leave_before_it_joins() {
    let mut trial = Trial::new(settings());
    trial.send(join("m").with(|join| join.requires_known_member_id = true).build());
    assert_eq!(trial.leave("m", None), Ok(vec![ErrorCode::None]));
    assert_eq!(trial.state(), "Empty");
}

#[test]
fn offsets_take_bounded_memory_and_those_that_are_there_go_on() {
    let memory = Memory::new(10_000, "offsets", "a.setting");
    let mut trial = Trial::new(Settings { offsets_memory: Arc::clone(&memory), ..settings() });
    let of = |number: i32| Commit { group: text(&format!("{number:0100}")), ..commit("", -1) };
    let stored = Ok(vec![vec![ErrorCode::None]]);
    let full = (0..).find(|number| trial.commit(of(*number)) != stored).unwrap();
    assert!((30..50).contains(&full), "{full}");
    assert_eq!(trial.commit(of(full)), Err(ErrorCode::CoordinatorNotAvailable));
    for number in 0..full {
        assert_eq!(trial.commit(of(number)), stored, "what is there goes on");
    }
    trial.crash();
    assert!(memory.used() > 9_000 && memory.used() <= 10_000, "{}", memory.used());
    assert_eq!(trial.commit(of(full)), Err(ErrorCode::CoordinatorNotAvailable));
    let deleted = trial.ask(Command::DeleteGroups(vec![text(&format!("{:0100}", 0))]));
    assert_eq!(deleted, Answer::DeleteGroups(vec![ErrorCode::None]));
    assert_eq!(trial.commit(of(full)), stored);
    for number in 1..=full {
        trial.ask(Command::DeleteGroups(vec![text(&format!("{number:0100}"))]));
    }
    assert_eq!(memory.used(), 0, "all of it is given back");
}

#[test]
fn commits_of_members_and_strangers() {
    let stored = Ok(vec![vec![ErrorCode::None]]);
    let mut trial = Trial::new(settings());
    assert_eq!(trial.commit(commit("", 1)), Err(ErrorCode::GroupIdNotFound));
    let old = Commit { knows_group_id_not_found: false, ..commit("", 1) };
    assert_eq!(trial.commit(old), Err(ErrorCode::IllegalGeneration));
    // Unknown group and no generation: the group is made. Empty group: accepted.
    assert_eq!(trial.commit(commit("", -1)), stored);
    assert_eq!(trial.commit(commit("", -1)), stored);
    trial.stable(&[("a", None), ("b", Some("i"))]);
    assert_eq!(trial.commit(commit("", -1)), Err(ErrorCode::UnknownMemberId));
    assert_eq!(trial.commit(commit("x", 1)), Err(ErrorCode::UnknownMemberId));
    assert_eq!(trial.commit(commit("x", -1)), Err(ErrorCode::UnknownMemberId));
    assert_eq!(trial.commit(commit("a", 0)), Err(ErrorCode::IllegalGeneration));
    let stranger = Commit { instance_id: Some(text("i")), ..commit("a", 1) };
    assert_eq!(trial.commit(stranger), Err(ErrorCode::FencedInstanceId));
    assert_eq!(trial.commit(commit("a", 1)), stored);
    assert_eq!(trial.commit(Commit { instance_id: Some(text("i")), ..commit("b", 1) }), stored);
    // While members are joining the old generation may still commit.
    trial.send(join("c").build());
    assert_eq!(trial.commit(commit("a", 1)), stored);
}

#[test]
fn notes_are_limited_by_partition_and_counted_as_java_counts() {
    let mut trial = Trial::new(Settings { offset_metadata_max: 4, ..settings() });
    let cases =
        [("abcd", ErrorCode::None), ("abcde", ErrorCode::OffsetMetadataTooLarge), ("äöüß", ErrorCode::None)];
    for (note, wanted) in cases {
        let mut request = commit("", -1);
        let mut second = request.topics[0].partitions[0].clone();
        second.partition = 1;
        second.metadata = Some(text(note));
        request.topics[0].partitions.push(second);
        assert_eq!(trial.commit(request), Ok(vec![vec![ErrorCode::None, wanted]]), "{note}");
    }
}

#[test]
fn reading_offsets_that_are_not_there() {
    let mut trial = Trial::new(settings());
    let none = |partition| FetchedPartition {
        partition,
        error: ErrorCode::None,
        offset: -1,
        leader_epoch: -1,
        metadata: text(""),
    };
    assert_eq!(trial.fetch_one("t", 0), none(0));
    trial.commit(commit("", -1)).unwrap();
    assert_eq!(trial.fetch_one("t", 1), none(1));
    assert_eq!(trial.fetch_one("u", 0), none(0));
    assert_eq!(trial.fetch_one("t", 0), FetchedPartition { offset: 5, leader_epoch: 3, ..none(0) });
    let all = Command::Fetch(Fetch {
        group: text("unknown"),
        member_id: None,
        member_epoch: -1,
        topics: None,
        require_stable: false,
    });
    assert_eq!(trial.ask(all), Answer::Fetch(Ok(Vec::new())));
}

#[test]
fn deleting_offsets() {
    let ask = |trial: &mut Trial, group: &str, topic: &str| {
        let topics = vec![(text(topic), vec![0, 1])];
        match trial.ask(Command::DeleteOffsets(DeleteOffsets { group: text(group), topics })) {
            Answer::DeleteOffsets(result) => result,
            other => panic!("{other:?}"),
        }
    };
    let done = Ok(vec![vec![ErrorCode::None; 2]]);
    let mut trial = Trial::new(settings());
    assert_eq!(ask(&mut trial, "", "t"), Err(ErrorCode::InvalidGroupId));
    assert_eq!(ask(&mut trial, GROUP, "t"), Err(ErrorCode::GroupIdNotFound));
    let other = |topic: &str| {
        let mut request = commit("", -1);
        request.topics[0].name = text(topic);
        request
    };
    trial.commit(other("t")).unwrap();
    trial.commit(other("u")).unwrap();
    trial.stable(&[("a", None)]);
    assert_eq!(ask(&mut trial, GROUP, "t"), Ok(vec![vec![ErrorCode::GroupSubscribedToTopic; 2]]));
    assert_eq!(ask(&mut trial, GROUP, "u"), done);
    assert_eq!(trial.fetch_one("u", 0).offset, -1);
    assert_eq!(trial.fetch_one("t", 0).offset, 5);

    let mut trial = Trial::new(settings());
    let connect = |name: &str| join(name).with(|join| join.protocol_type = text("connect"));
    trial.send(connect("a").build());
    assert_eq!(ask(&mut trial, GROUP, "u"), Err(ErrorCode::NonEmptyGroup));
}

#[test]
fn deleting_groups() {
    let mut trial = Trial::new(settings());
    trial.commit(commit("", -1)).unwrap();
    let ids = || Command::DeleteGroups(vec![text(GROUP), text("unknown")]);
    let codes = |first| Answer::DeleteGroups(vec![first, ErrorCode::GroupIdNotFound]);
    trial.stable(&[("a", None)]);
    assert_eq!(trial.ask(ids()), codes(ErrorCode::NonEmptyGroup));
    trial.leave("a", None).unwrap();
    assert_eq!(trial.ask(ids()), codes(ErrorCode::None));
    assert_eq!(trial.fetch_one("t", 0).offset, -1);
    assert_eq!(trial.ask(ids()), codes(ErrorCode::GroupIdNotFound));
    trial.crash();
    assert_eq!(trial.machine.count(), 0);
}

#[test]
fn showing_groups() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", Some("i"))]);
    let Answer::Describe(shown) = trial.ask(Command::Describe(vec![text(GROUP), text("x")])) else {
        panic!()
    };
    let group = shown[0].as_ref().unwrap();
    assert_eq!((group.state, &*group.protocol_type, &*group.protocol), ("Stable", "consumer", "range"));
    assert_eq!(group.members[0].assignment, part("a"));
    assert_eq!(group.members[0].metadata, subscription(&["t"]));
    assert_eq!(shown[1], Err(Missing::Group));
    trial.send(join("b").build());
    let Answer::Describe(shown) = trial.ask(Command::Describe(vec![text(GROUP)])) else { panic!() };
    let group = shown[0].as_ref().unwrap();
    assert_eq!((group.state, &*group.protocol, group.members.len()), ("PreparingRebalance", "", 2));
    let mut count = |states: &[&str], types: &[&str]| {
        let names = |all: &[&str]| all.iter().map(|name| text(name)).collect();
        match trial.ask(Command::List(List { states: names(states), types: names(types) })) {
            Answer::List(listed) => listed.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(count(&[], &[]), 1);
    assert_eq!(count(&["preparingREBALANCE", "Dead"], &["CLASSIC"]), 1);
    assert_eq!(count(&["Stable"], &[]), 0);
    assert_eq!(count(&[], &["consumer"]), 0);
    assert_eq!(count(&[], &["nonsense"]), 0);
}
