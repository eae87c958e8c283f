//! Rules of consumer groups (KIP-848), case by case.

use super::world::*;
use super::*;
use crate::groups::consumer::command::Heartbeat as Beat;

#[test]
fn the_first_member_gets_everything_at_once() {
    let mut trial = with_topics(&[("t", 3)]);
    let joined = trial.beat(join848("a", &["t"])).unwrap();
    assert_eq!((&*joined.member_id, joined.epoch, joined.interval_ms), ("a", 2, 5_000));
    assert_eq!(joined.assignment, Some(parts(&[("t", &[0, 1, 2])])));
    assert_eq!(trial.state(), "Stable");
    // Nothing new: nothing is told and nothing written.
    let written = trial.log.len();
    let again = trial.beat(alive("a", 2)).unwrap();
    assert_eq!((again.epoch, again.assignment), (2, None));
    assert_eq!(trial.log.len(), written);
    // Who says everything is told everything.
    let full = Beat { owned: Some(parts(&[("t", &[0, 1, 2])])), epoch: 2, ..join848("a", &["t"]) };
    assert_eq!(trial.beat(full).unwrap().assignment, Some(parts(&[("t", &[0, 1, 2])])));
}

#[test]
fn a_second_member_gets_its_part_when_the_first_has_given_it_up() {
    let mut trial = with_topics(&[("t", 4)]);
    trial.beat(join848("a", &["t"])).unwrap();
    let second = trial.beat(join848("b", &["t"])).unwrap();
    assert_eq!((second.epoch, second.assignment), (3, Some(parts(&[]))));
    assert_eq!(trial.state(), "Reconciling");
    // The first is told to give up two, and keeps its epoch.
    let told = trial.beat(alive("a", 2)).unwrap();
    assert_eq!((told.epoch, told.assignment), (2, Some(parts(&[("t", &[0, 1])]))));
    assert_eq!(trial.beat(alive("b", 3)).unwrap().assignment, None, "nothing is free yet");
    // It has not said so yet.
    assert_eq!(trial.beat(owning("a", 2, &[("t", &[0, 1, 2])])).unwrap().epoch, 2);
    assert_eq!(trial.beat(alive("b", 3)).unwrap().assignment, None);
    let done = trial.beat(owning("a", 2, &[("t", &[0, 1])])).unwrap();
    assert_eq!((done.epoch, done.assignment), (3, None));
    let given = trial.beat(alive("b", 3)).unwrap();
    assert_eq!((given.epoch, given.assignment), (3, Some(parts(&[("t", &[2, 3])]))));
    assert_eq!(trial.state(), "Stable");
    // One that leaves frees its part.
    assert_eq!(trial.beat(alive("a", -1)).unwrap().epoch, -1);
    let rest = trial.beat(alive("b", 3)).unwrap();
    assert_eq!((rest.epoch, rest.assignment), (4, Some(parts(&[("t", &[0, 1, 2, 3])]))));
}

#[test]
fn epochs_that_do_not_fit_are_fenced() {
    let mut trial = with_topics(&[("t", 2)]);
    assert_eq!(trial.beat(alive("a", 1)).unwrap_err().code, ErrorCode::GroupIdNotFound);
    trial.beat(join848("a", &["t"])).unwrap();
    assert_eq!(trial.beat(alive("x", 1)).unwrap_err().code, ErrorCode::UnknownMemberId);
    assert_eq!(trial.beat(alive("a", 3)).unwrap_err().code, ErrorCode::FencedMemberEpoch);
    trial.beat(join848("b", &["t"])).unwrap();
    trial.beat(alive("a", 2)).unwrap();
    let done = trial.beat(owning("a", 2, &[("t", &[0])])).unwrap();
    assert_eq!(done.epoch, 3);
    // The answer was lost: the epoch before will do, with no more than what it has.
    assert_eq!(trial.beat(alive("a", 2)).unwrap_err().code, ErrorCode::FencedMemberEpoch);
    assert_eq!(trial.beat(owning("a", 2, &[("t", &[0, 1])])).unwrap_err().code, ErrorCode::FencedMemberEpoch);
    assert_eq!(trial.beat(owning("a", 2, &[("t", &[0])])).unwrap().epoch, 3);
    assert_eq!(trial.beat(alive("a", 1)).unwrap_err().code, ErrorCode::FencedMemberEpoch);
    // It may always begin anew.
    assert_eq!(trial.beat(join848("a", &["t"])).unwrap().assignment, Some(parts(&[("t", &[0])])));
}

#[test]
fn requests_that_say_too_little_are_refused() {
    let mut trial = with_topics(&[("t", 2)]);
    let join = || join848("a", &["t"]);
    let cases: Vec<(Beat, &str)> = vec![
        (Beat { member_id: text(""), ..join() }, "MemberId can't be empty."),
        (Beat { group: text(" "), ..join() }, "GroupId can't be empty."),
        (Beat { instance_id: Some(text("")), ..join() }, "InstanceId can't be empty."),
        (Beat { rack_id: Some(text("")), ..join() }, "RackId can't be empty."),
        (
            Beat { rebalance_timeout_ms: None, ..join() },
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (Beat { owned: None, ..join() }, "TopicPartitions must be empty when (re-)joining."),
        (
            Beat { owned: Some(parts(&[("t", &[0])])), ..join() },
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            Beat { topics: None, ..join() },
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        (Beat { epoch: -2, ..join() }, "InstanceId can't be null."),
        (Beat { epoch: -3, ..join() }, "MemberEpoch is invalid."),
    ];
    for (request, message) in cases {
        let fault = trial.beat(request).unwrap_err();
        assert_eq!((fault.code, &*fault.message), (ErrorCode::InvalidRequest, message));
    }
    let fault = trial.beat(Beat { assignor: Some(text("best")), ..join() }).unwrap_err();
    assert_eq!(fault.code, ErrorCode::UnsupportedAssignor);
    assert!(fault.message.ends_with("Supported assignors: uniform, range."), "{}", fault.message);
    assert_eq!(trial.machine.count(), 0);
    // Version 0 gives out ids.
    let nameless = Beat { member_id: text(""), new_member_id: text("n"), brings_member_id: false, ..join() };
    assert_eq!(&*trial.beat(nameless).unwrap().member_id, "n");
}

#[test]
fn a_full_group_takes_back_its_members_only() {
    let mut settings = settings();
    settings.consumer.max_size = 1;
    let mut trial = Trial::new(settings);
    trial.topics(&[("t", 2)]);
    trial.beat(join848("a", &["t"])).unwrap();
    assert_eq!(trial.beat(join848("b", &["t"])).unwrap_err().code, ErrorCode::GroupMaxSizeReached);
    assert_eq!(trial.beat(join848("a", &["t"])).unwrap().epoch, 2);
}

#[test]
fn silent_members_and_those_that_do_not_give_up_are_removed() {
    let mut trial = with_topics(&[("t", 2)]);
    trial.beat(join848("a", &["t"])).unwrap();
    trial.pass(44_999);
    assert_eq!(trial.beat(alive("a", 2)).unwrap().epoch, 2);
    trial.pass(45_001);
    assert_eq!(
        (trial.state(), trial.beat(alive("a", 2)).unwrap_err().code),
        ("Empty", ErrorCode::UnknownMemberId)
    );
    trial.beat(join848("a", &["t"])).unwrap();
    trial.beat(join848("b", &["t"])).unwrap();
    let epoch = trial.beat(alive("a", 0)).unwrap_err().code;
    assert_eq!(epoch, ErrorCode::InvalidRequest);
    let told = trial.beat(alive("a", 4)).unwrap();
    assert_eq!(told.epoch, 4, "it must give up one first");
    // It lives, and holds on to everything, for its rebalance time.
    for _ in 0..2 {
        trial.pass(29_000);
        trial.beat(alive("a", 4)).unwrap();
        trial.beat(alive("b", 5)).unwrap();
    }
    trial.pass(3_000);
    assert_eq!(trial.beat(alive("a", 4)).unwrap_err().code, ErrorCode::UnknownMemberId);
    let all = trial.beat(alive("b", 5)).unwrap();
    assert_eq!(all.assignment, Some(parts(&[("t", &[0, 1])])));
}

#[test]
fn deadlines_are_there_again_after_a_crash() {
    let mut trial = with_topics(&[("t", 2)]);
    trial.beat(join848("a", &["t"])).unwrap();
    trial.beat(join848("b", &["t"])).unwrap();
    trial.beat(alive("a", 2)).unwrap();
    trial.crash();
    assert_eq!(trial.state(), "Reconciling");
    trial.pass(40_000);
    trial.beat(alive("a", 2)).unwrap();
    trial.beat(alive("b", 3)).unwrap();
    trial.pass(21_000);
    assert_eq!(trial.beat(alive("a", 2)).unwrap_err().code, ErrorCode::UnknownMemberId);
    trial.pass(45_000);
    assert_eq!(trial.state(), "Empty");
}

#[test]
fn static_members_keep_their_place_for_a_while() {
    let mut trial = with_topics(&[("t", 2)]);
    let named = |id: &str| Beat { instance_id: Some(text("i")), ..join848(id, &["t"]) };
    let all = Some(parts(&[("t", &[0, 1])]));
    assert_eq!(trial.beat(named("a")).unwrap().assignment, all);
    assert_eq!(trial.beat(named("b")).unwrap_err().code, ErrorCode::UnreleasedInstanceId);
    let instance = |id: &str, epoch| Beat { instance_id: Some(text("i")), ..alive(id, epoch) };
    assert_eq!(trial.beat(instance("x", 2)).unwrap_err().code, ErrorCode::FencedInstanceId);
    assert_eq!(trial.beat(instance("x", -2)).unwrap_err().code, ErrorCode::FencedInstanceId);
    let other = Beat { instance_id: Some(text("j")), ..alive("a", 2) };
    assert_eq!(trial.beat(other).unwrap_err().code, ErrorCode::UnknownMemberId);
    assert_eq!(trial.beat(instance("a", -2)).unwrap().epoch, -2);
    assert_eq!(trial.epoch(), 2, "nobody shares what it has");
    trial.crash();
    // It comes back under another id, to all that it had, and nothing moves.
    let back = trial.beat(named("b")).unwrap();
    assert_eq!((back.epoch, back.assignment), (2, all));
    assert_eq!(trial.epoch(), 2);
    assert_eq!(trial.beat(instance("a", 2)).unwrap_err().code, ErrorCode::FencedInstanceId);
    // Gone for good.
    trial.beat(instance("b", -2)).unwrap();
    trial.pass(45_001);
    assert_eq!(trial.state(), "Empty");
}

#[test]
fn a_static_member_that_leaves_for_a_while_owes_no_partitions() {
    let mut trial = with_topics(&[("t", 2)]);
    let named =
        Beat { instance_id: Some(text("i")), rebalance_timeout_ms: Some(1_500), ..join848("a", &["t"]) };
    trial.beat(named).unwrap();
    trial.beat(join848("b", &["t"])).unwrap();
    let away = |epoch| Beat { instance_id: Some(text("i")), ..alive("a", epoch) };
    let told = trial.beat(away(2)).unwrap();
    assert_eq!(
        told.assignment.map(|kept| kept.values().map(|one| one.len()).sum::<usize>()),
        Some(1),
        "it has to give one up"
    );
    assert_eq!(trial.beat(away(-2)).unwrap().epoch, -2);
    let epoch = trial.epoch();
    trial.pass(10_000);
    assert_eq!(trial.epoch(), epoch, "it keeps its place until its session is over");
    trial.crash();
    trial.pass(10_000);
    assert_eq!(trial.epoch(), epoch, "also with another coordinator");
    let back = Beat { instance_id: Some(text("i")), ..join848("c", &["t"]) };
    assert_eq!(
        trial.beat(back).unwrap().assignment.map(|kept| kept.values().map(|one| one.len()).sum::<usize>()),
        Some(1)
    );
    assert_eq!(trial.epoch(), epoch);
}

#[test]
fn changes_of_topics_make_a_new_assignment() {
    let mut trial = with_topics(&[("t", 1)]);
    trial.beat(join848("a", &["t", "later"])).unwrap();
    trial.topics(&[("t", 1), ("other", 5)]);
    assert_eq!(trial.beat(alive("a", 2)).unwrap().epoch, 2, "a topic that nobody reads");
    trial.topics(&[("t", 2), ("other", 5)]);
    let more = trial.beat(alive("a", 2)).unwrap();
    assert_eq!((more.epoch, more.assignment), (3, Some(parts(&[("t", &[0, 1])]))));
    trial.topics(&[("t", 2), ("later", 1)]);
    let more = trial.beat(alive("a", 3)).unwrap();
    assert_eq!((more.epoch, more.assignment), (4, Some(parts(&[("t", &[0, 1]), ("later", &[0])]))));
    trial.topics(&[("later", 1)]);
    let told = trial.beat(alive("a", 4)).unwrap();
    assert_eq!((told.epoch, told.assignment), (4, Some(parts(&[("later", &[0])]))));
    assert_eq!(trial.beat(owning("a", 4, &[("later", &[0])])).unwrap().epoch, 5);
}

#[test]
fn a_member_that_subscribes_otherwise_loses_the_topic_at_once() {
    let mut trial = with_topics(&[("t", 1), ("u", 1)]);
    trial.beat(join848("a", &["t", "u"])).unwrap();
    let told = trial.beat(Beat { topics: Some(names(&["u"])), ..alive("a", 2) }).unwrap();
    assert_eq!((told.epoch, told.assignment), (2, Some(parts(&[("u", &[0])]))));
    assert_eq!(trial.beat(owning("a", 2, &[("u", &[0])])).unwrap().epoch, 3);
}

#[test]
fn assignments_are_not_made_too_often() {
    let mut settings = settings();
    settings.consumer.assignment_interval_ms = 1_000;
    let mut trial = Trial::new(settings);
    trial.topics(&[("t", 2)]);
    trial.beat(join848("a", &["t"])).unwrap();
    let second = trial.beat(join848("b", &["t"])).unwrap();
    assert_eq!((second.epoch, second.assignment), (2, Some(parts(&[]))));
    assert_eq!((trial.state(), trial.epoch()), ("Assigning", 3));
    trial.pass(999);
    assert_eq!(trial.beat(alive("a", 2)).unwrap().assignment, None);
    trial.pass(1);
    assert_eq!(trial.beat(alive("a", 2)).unwrap().assignment, Some(parts(&[("t", &[0])])));
    // A group that was empty begins at once.
    trial.beat(alive("a", -1)).unwrap();
    trial.beat(alive("b", -1)).unwrap();
    assert_eq!(trial.beat(join848("c", &["t"])).unwrap().assignment, Some(parts(&[("t", &[0, 1])])));
}

#[test]
fn most_members_choose_the_assignor() {
    let mut trial = with_topics(&[("t", 3)]);
    let asking = |id: &str, assignor: &str| Beat { assignor: Some(text(assignor)), ..join848(id, &["t"]) };
    trial.beat(asking("a", "range")).unwrap();
    assert_eq!(&*trial.describe848().assignor, "range");
    let epoch = trial.epoch();
    trial.beat(Beat { assignor: Some(text("uniform")), ..alive("a", epoch) }).unwrap();
    assert_eq!((&*trial.describe848().assignor, trial.epoch()), ("uniform", epoch + 1));
}

#[test]
fn patterns_are_resolved_and_follow_new_topics() {
    let mut trial = with_topics(&[("order-1", 1), ("other", 1)]);
    let by_pattern =
        |id: &str, pattern: &str| Beat { topics: None, pattern: Some(text(pattern)), ..join848(id, &[]) };
    assert_eq!(trial.beat(by_pattern("a", "order-(")).unwrap_err().code, ErrorCode::InvalidRegularExpression);
    let joined = trial.beat(by_pattern("a", "order-.*")).unwrap();
    assert_eq!(joined.assignment, Some(parts(&[])), "nothing is looked up in the request");
    trial.pass(1);
    let given = trial.beat(alive("a", joined.epoch)).unwrap();
    assert_eq!(given.assignment, Some(parts(&[("order-1", &[0])])));
    // A second member with the same pattern does not wait.
    let second = trial.beat(by_pattern("b", "order-.*")).unwrap();
    assert_eq!(second.epoch, trial.epoch());
    trial.topics(&[("order-1", 1), ("other", 1), ("order-2", 1)]);
    let early = trial.beat(alive("a", given.epoch)).unwrap();
    trial.pass(1);
    assert_eq!(trial.epoch(), early.epoch, "not within ten seconds");
    trial.pass(10_001);
    trial.beat(alive("a", early.epoch)).unwrap();
    trial.pass(1);
    assert_eq!(trial.epoch(), early.epoch + 1);
    trial.beat(alive("a", early.epoch)).unwrap();
    let given = trial.beat(alive("b", second.epoch)).unwrap();
    assert_eq!(given.assignment, Some(parts(&[("order-2", &[0])])));
    trial.crash();
    assert!(trial.machine.kind(GROUP).unwrap().is_subscribed("order-2"));
    // Nobody subscribes to it any more.
    trial
        .beat(Beat {
            pattern: Some(text("")),
            topics: Some(names(&["other"])),
            ..alive("a", early.epoch + 1)
        })
        .unwrap();
    trial.beat(alive("b", -1)).unwrap();
    assert!(!trial.machine.kind(GROUP).unwrap().is_subscribed("order-2"));
}

#[test]
fn the_assignor_that_most_ask_for_is_taken_and_uniform_of_equals() {
    let mut trial = with_topics(&[("t", 2)]);
    let asking = |id: &str, name: &str| Beat { assignor: Some(text(name)), ..join848(id, &["t"]) };
    trial.beat(asking("a", "range")).unwrap();
    assert_eq!(&*trial.describe848().assignor, "range");
    trial.beat(asking("b", "uniform")).unwrap();
    assert_eq!(&*trial.describe848().assignor, "uniform");
    trial.beat(asking("c", "range")).unwrap();
    assert_eq!(&*trial.describe848().assignor, "range");

    // Who brings one that nobody asked for before has it used once, for a new epoch.
    let mut trial = with_topics(&[("t", 2)]);
    trial.beat(asking("a", "uniform")).unwrap();
    trial.beat(join848("b", &["t"])).unwrap();
    let before = trial.epoch();
    trial.beat(Beat { assignor: Some(text("range")), ..alive("b", 3) }).unwrap();
    assert_eq!((trial.epoch(), &*trial.describe848().assignor), (before + 1, "uniform"));
    let epoch = trial.describe848().members[1].epoch;
    trial.beat(Beat { assignor: Some(text("range")), ..alive("b", epoch) }).unwrap();
    assert_eq!(trial.epoch(), before + 1);
}

#[test]
fn commits_and_reads_go_by_the_members_epoch() {
    let mut trial = with_topics(&[("t", 2)]);
    trial.beat(join848("a", &["t"])).unwrap();
    let ok = Ok(vec![vec![ErrorCode::None]]);
    let id = topic_id("t");
    let of = |partition: i32, member: &str, epoch: i32| {
        let mut request = commit(member, epoch);
        request.topics[0].id = id;
        request.topics[0].partitions[0].partition = partition;
        request
    };
    assert_eq!(trial.commit(of(0, "a", 2)), ok);
    assert_eq!(trial.commit(of(0, "x", 2)), Err(ErrorCode::UnknownMemberId));
    assert_eq!(trial.commit(of(0, "", -1)), Err(ErrorCode::UnknownMemberId));
    assert_eq!(trial.commit(of(0, "a", 3)), Err(ErrorCode::StaleMemberEpoch));
    let old = Commit { knows_group_id_not_found: false, ..of(0, "a", 2) };
    assert_eq!(trial.commit(old), Err(ErrorCode::UnsupportedVersion));
    trial.beat(join848("b", &["t"])).unwrap();
    trial.beat(alive("a", 2)).unwrap();
    assert_eq!(trial.commit(of(1, "a", 2)), ok, "what it gives up it may commit until then");
    trial.beat(owning("a", 2, &[("t", &[0])])).unwrap();
    assert_eq!(trial.commit(of(0, "a", 2)), ok, "it has had this since then");
    assert_eq!(trial.commit(of(1, "a", 2)), Err(ErrorCode::StaleMemberEpoch), "this one it has lost");
    assert_eq!(trial.commit(of(0, "a", 1)), Err(ErrorCode::StaleMemberEpoch));
    let mut long = of(1, "a", 2);
    long.topics[0].partitions[0].metadata = Some(text(&"m".repeat(5_000)));
    let too_long = vec![ErrorCode::OffsetMetadataTooLarge];
    assert_eq!(trial.commit(long.clone()), Ok(vec![too_long.clone()]), "what is not stored may be late");
    assert_eq!(
        trial.commit(Commit { generation: 3, ..long.clone() }),
        Ok(vec![too_long.clone()]),
        "the member's own epoch"
    );
    assert_eq!(trial.commit(Commit { generation: 4, ..long.clone() }), Err(ErrorCode::StaleMemberEpoch));
    long.topics.push(of(0, "a", 2).topics.remove(0));
    assert_eq!(trial.commit(long.clone()), Ok(vec![too_long, vec![ErrorCode::None]]));
    long.topics.push(of(1, "a", 2).topics.remove(0));
    assert_eq!(trial.commit(long), Err(ErrorCode::StaleMemberEpoch), "one that would be stored is late");
    let read = |trial: &mut Trial, member: Option<&str>, epoch: i32| {
        let fetch = Fetch {
            group: text(GROUP),
            member_id: member.map(text),
            member_epoch: epoch,
            topics: None,
            require_stable: true,
        };
        match trial.ask(Command::Fetch(fetch)) {
            Answer::Fetch(result) => result.map(|topics| topics[0].partitions.len()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read(&mut trial, None, -1), Ok(2));
    assert_eq!(read(&mut trial, Some("a"), 3), Ok(2));
    assert_eq!(read(&mut trial, Some("a"), 2), Err(ErrorCode::StaleMemberEpoch));
    assert_eq!(read(&mut trial, Some("x"), 2), Err(ErrorCode::UnknownMemberId));
    trial.beat(alive("a", -1)).unwrap();
    trial.beat(alive("b", -1)).unwrap();
    assert_eq!(trial.commit(of(0, "", -1)), ok, "an administrator, when nobody is in");
}

#[test]
fn groups_settings_count_for_their_members() {
    let mut trial = with_topics(&[("t", 1)]);
    trial.group_config("consumer.heartbeat.interval.ms", "7000");
    trial.group_config("consumer.session.timeout.ms", "50000");
    assert_eq!(trial.beat(join848("a", &["t"])).unwrap().interval_ms, 7_000);
    trial.pass(49_999);
    trial.beat(alive("a", 2)).unwrap();
    trial.pass(50_001);
    assert_eq!(trial.state(), "Empty");
    // What was allowed once and is not any more counts as the nearest that is.
    trial.group_config("consumer.heartbeat.interval.ms", "1");
    assert_eq!(trial.beat(join848("a", &["t"])).unwrap().interval_ms, 5_000);
}

#[test]
fn groups_are_shown_and_deleted_by_their_kind() {
    let mut trial = with_topics(&[("t", 1)]);
    trial.beat(Beat { rack_id: Some(text("r")), ..join848("a", &["t"]) }).unwrap();
    let shown = trial.describe848();
    assert_eq!((shown.state, shown.epoch, shown.target_epoch, &*shown.assignor), ("Stable", 2, 2, "uniform"));
    let member = &shown.members[0];
    assert_eq!((member.epoch, member.rack_id.as_deref(), member.is_classic), (2, Some("r"), false));
    assert_eq!((&*member.assigned[0].name, &*member.assigned[0].partitions), ("t", &[0][..]));
    assert_eq!(member.assigned, member.target);
    let Answer::Describe(classic) = trial.ask(Command::Describe(vec![text(GROUP)])) else { panic!() };
    assert_eq!(classic, [Err(Missing::OfKind)]);
    let Answer::List(listed) = trial.ask(Command::List(List::default())) else { panic!() };
    assert_eq!(
        (&*listed[0].protocol_type, listed[0].group_type, listed[0].state),
        ("consumer", "consumer", "Stable")
    );
    let mut delete = || trial.ask(Command::DeleteGroups(vec![text(GROUP)]));
    assert_eq!(delete(), Answer::DeleteGroups(vec![ErrorCode::NonEmptyGroup]));
    trial.beat(alive("a", -1)).unwrap();
    let deleted = trial.ask(Command::DeleteGroups(vec![text(GROUP)]));
    assert_eq!(deleted, Answer::DeleteGroups(vec![ErrorCode::None]));
    trial.crash();
    assert_eq!(trial.machine.count(), 0);
}

#[test]
fn empty_groups_change_their_kind() {
    let mut trial = with_topics(&[("t", 1)]);
    trial.commit(commit("", -1)).unwrap();
    assert_eq!(trial.beat(join848("a", &["t"])).unwrap().epoch, 2);
    assert_eq!(trial.machine.kind(GROUP).unwrap().name(), "consumer");
    assert_eq!(trial.fetch_one("t", 0).offset, 5, "offsets stay");
    trial.beat(alive("a", -1)).unwrap();
    trial.stable(&[("b", None)]);
    assert_eq!(trial.machine.kind(GROUP).unwrap().name(), "classic");
    trial.crash();
    assert_eq!((trial.machine.kind(GROUP).unwrap().name(), trial.state()), ("classic", "Stable"));
    assert_eq!(trial.fetch_one("t", 0).offset, 5);
}

#[test]
fn memory_for_members_is_bounded() {
    let memory = Memory::new(3_000, "members", "a.setting");
    let mut trial = Trial::new(Settings { memory: memory.clone(), ..settings() });
    trial.topics(&[("t", 1)]);
    trial.beat(join848("a", &["t"])).unwrap();
    let many: Vec<String> = (0..100).map(|number| format!("topic-{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(trial.beat(join848("b", &many)).unwrap_err().code, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(trial.beat(alive("a", 2)).unwrap().epoch, 2);
    trial.beat(alive("a", -1)).unwrap();
    assert!(memory.used() >= 512, "an empty group takes memory too");
    trial.ask(Command::DeleteGroups(vec![text(GROUP)]));
    assert_eq!(memory.used(), 0, "groups that are gone take nothing");
}

#[test]
fn the_hash_of_topics_is_kafkas() {
    // Topic and hash of the segment in `golden.rs`, as Apache Kafka 4.4 wrote them.
    let (id, hash) = golden::topic_and_hash();
    let mut trial = Trial::new(settings());
    trial.topics_with_ids(&[("gold", id, 2)]);
    trial.beat(join848("a", &["gold"])).unwrap();
    assert_eq!(trial.group848().metadata_hash, hash);
}
