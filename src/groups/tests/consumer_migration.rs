//! Classic members in consumer groups, and groups that change their kind while members are in them.

use super::world::*;
use super::*;
use crate::groups::consumer::command::Heartbeat as Beat;
use bytes::BufMut;

/// What the leader gives a classic member: partitions of one topic.
fn blob(topic: &str, partitions: &[i32]) -> Bytes {
    let mut out = bytes::BytesMut::new();
    out.put_i16(0);
    out.put_i32(1);
    out.put_i16(i16::try_from(topic.len()).unwrap());
    out.put_slice(topic.as_bytes());
    out.put_i32(i32::try_from(partitions.len()).unwrap());
    partitions.iter().for_each(|partition| out.put_i32(*partition));
    out.put_i32(-1);
    out.freeze()
}

/// A stable classic group of `a`, which has both partitions of `t`.
fn classic_group(settings: Settings) -> Trial {
    let mut trial = Trial::new(settings);
    trial.topics(&[("t", 2)]);
    let ticket = trial.send(join("a").build());
    trial.pass(6_000);
    let joined = trial.joined(ticket).unwrap();
    trial.send(sync("a", joined.generation, vec![(text("a"), blob("t", &[0, 1]))]));
    assert_eq!((trial.state(), trial.generation()), ("Stable", 1));
    trial
}

fn rejoin(trial: &mut Trial, name: &str) -> Joined {
    let ticket = trial.send(join(name).known().build());
    trial.joined(ticket).expect("a consumer group answers at once")
}

fn synced(trial: &mut Trial, member: &str, generation: i32) -> Synced {
    let ticket = trial.send(sync(member, generation, Vec::new()));
    trial.synced(ticket).expect("a consumer group answers at once")
}

/// Time passes for everybody, and one member sends its heartbeats.
fn stays_alive(trial: &mut Trial, member: &str, epoch: i32, ms: u64) {
    let mut epoch = epoch;
    for _ in 0..ms.div_ceil(20_000) {
        trial.pass(20_000.min(ms));
        epoch = trial.beat(alive(member, epoch)).unwrap().epoch;
    }
}

fn kind(trial: &Trial) -> &'static str {
    trial.machine.kind(GROUP).unwrap().name()
}

#[test]
fn a_classic_group_becomes_a_consumer_group_and_back() {
    let mut trial = classic_group(settings());
    let joined = trial.beat(join848("b", &["t"])).unwrap();
    assert_eq!((kind(&trial), joined.epoch, joined.assignment), ("consumer", 2, Some(parts(&[]))));
    trial.crash();
    // The classic member has to give up one: it joins, says that it has not, and again when it has.
    assert_eq!(trial.heartbeat("a", 1), ErrorCode::RebalanceInProgress);
    let told = rejoin(&mut trial, "a");
    assert_eq!((told.error, told.generation, told.protocol.as_deref()), (ErrorCode::None, 2, Some("range")));
    assert_eq!(synced(&mut trial, "a", 2).assignment, blob("t", &[0]));
    assert_eq!(trial.heartbeat("a", 2), ErrorCode::None);
    assert_eq!(trial.beat(alive("b", 2)).unwrap().assignment, Some(parts(&[("t", &[1])])));
    assert!(trial.describe848().members[0].is_classic && !trial.describe848().members[1].is_classic);
    assert_eq!(trial.commit(commit("a", 2)), Ok(vec![vec![ErrorCode::None]]));
    assert_eq!(trial.commit(commit("a", 3)), Err(ErrorCode::IllegalGeneration));
    // The last member of the newer protocol goes.
    trial.beat(alive("b", -1)).unwrap();
    assert_eq!((kind(&trial), trial.state()), ("classic", "PreparingRebalance"));
    assert_eq!(trial.heartbeat("a", 2), ErrorCode::RebalanceInProgress, "it is told to join");
    let ticket = trial.send(join("a").known().build());
    let joined = trial.joined(ticket).unwrap();
    trial.send(sync("a", joined.generation, vec![(text("a"), blob("t", &[0, 1]))]));
    assert_eq!(trial.state(), "Stable");
    trial.crash();
    assert_eq!((kind(&trial), trial.state()), ("classic", "Stable"));
}

#[test]
fn policies_forbid_changes() {
    for (upgrades, downgrades) in [(false, true), (false, false)] {
        let mut settings = settings();
        (settings.consumer.upgrades, settings.consumer.downgrades) = (upgrades, downgrades);
        let mut trial = classic_group(settings);
        let fault = trial.beat(join848("b", &["t"])).unwrap_err();
        assert_eq!(fault.code, ErrorCode::GroupIdNotFound);
        assert!(fault.message.contains("online upgrade is disabled"), "{}", fault.message);
        assert_eq!(trial.heartbeat("a", 1), ErrorCode::None, "nothing has happened");
    }
    let mut settings = settings();
    settings.consumer.downgrades = false;
    let mut trial = classic_group(settings);
    trial.beat(join848("b", &["t"])).unwrap();
    trial.beat(alive("b", -1)).unwrap();
    assert_eq!(kind(&trial), "consumer");
    assert_eq!(rejoin(&mut trial, "a").generation, trial.epoch(), "it may stay there");
    let mut closed = super::settings();
    (closed.consumer.upgrades, closed.consumer.downgrades) = (false, false);
    let mut trial = Trial::new(closed);
    trial.topics(&[("t", 2)]);
    trial.beat(join848("b", &["t"])).unwrap();
    let ticket = trial.send(join("a").build());
    assert_eq!(trial.joined(ticket).unwrap().error, ErrorCode::InconsistentGroupProtocol);
}

#[test]
fn groups_that_cannot_be_taken_over_stay_classic() {
    let mut trial = Trial::new(settings());
    trial.topics(&[("t", 2)]);
    let connect = join("a").with(|join| join.protocol_type = text("connect"));
    trial.send(connect.build());
    let fault = trial.beat(join848("b", &["t"])).unwrap_err();
    assert!(fault.message.contains("does not use the consumer embedded protocol"), "{}", fault.message);
    let mut trial = classic_group(settings());
    let with_data = [&blob("t", &[0])[..blob("t", &[0]).len() - 4], &[0, 0, 0, 1, 7]].concat();
    for (assignment, why) in
        [(Bytes::from(with_data), "custom assignor"), (Bytes::from_static(b"?"), "malformed")]
    {
        let ticket = trial.send(join("a").known().build());
        let generation = trial.joined(ticket).unwrap().generation;
        trial.send(sync("a", generation, vec![(text("a"), assignment)]));
        let fault = trial.beat(join848("b", &["t"])).unwrap_err();
        assert!(fault.message.contains(why), "{}", fault.message);
    }
    assert_eq!(kind(&trial), "classic");
}

#[test]
fn who_waits_in_a_classic_group_is_told_to_begin_anew() {
    let mut trial = classic_group(settings());
    let waiting = trial.send(join("c").build());
    assert_eq!(trial.state(), "PreparingRebalance");
    trial.beat(join848("b", &["t"])).unwrap();
    assert_eq!(trial.joined(waiting).unwrap().error, ErrorCode::RebalanceInProgress);
    assert_eq!(kind(&trial), "consumer");
}

#[test]
fn classic_members_that_do_not_come_back_are_removed() {
    // Told to join again and not done so; joined and not synced; silent.
    let mut trial = classic_group(settings());
    trial.beat(join848("b", &["t"])).unwrap();
    assert_eq!(trial.heartbeat("a", 1), ErrorCode::RebalanceInProgress);
    stays_alive(&mut trial, "b", 2, 61_000);
    assert_eq!(trial.group848().size(), 1);

    let mut trial = classic_group(settings());
    trial.beat(join848("b", &["t"])).unwrap();
    rejoin(&mut trial, "a");
    stays_alive(&mut trial, "b", 2, 61_000);
    assert_eq!(trial.group848().size(), 1);

    let mut trial = classic_group(settings());
    trial.beat(join848("b", &["t"])).unwrap();
    rejoin(&mut trial, "a");
    synced(&mut trial, "a", 2);
    stays_alive(&mut trial, "b", 2, 620_000);
    assert_eq!(trial.group848().size(), 1);
}

#[test]
fn requests_of_classic_members_are_checked() {
    let mut trial = with_topics(&[("t", 2)]);
    trial.beat(join848("b", &["t"])).unwrap();
    let asked = join("a").with(|join| join.requires_known_member_id = true);
    let ticket = trial.send(asked.build());
    let told = trial.joined(ticket).unwrap();
    assert_eq!((told.error, &*told.member_id), (ErrorCode::MemberIdRequired, "a"));
    let ticket = trial.send(join("a").with(|join| join.protocol_type = text("connect")).build());
    assert_eq!(trial.joined(ticket).unwrap().error, ErrorCode::InconsistentGroupProtocol);
    let torn = |join: &mut Join| join.protocols[0].metadata = Bytes::from_static(&[0xff, 0xff, 0]);
    let ticket = trial.send(join("a").with(torn).build());
    assert_eq!(trial.joined(ticket).unwrap().error, ErrorCode::InconsistentGroupProtocol);
    let joined = rejoin(&mut trial, "a");
    assert_eq!((joined.error, joined.generation), (ErrorCode::None, 3));
    let ticket = trial.send(join("c").protocols(&["other"]).build());
    assert_eq!(trial.joined(ticket).unwrap().error, ErrorCode::InconsistentGroupProtocol);
    assert_eq!(trial.heartbeat("b", 2), ErrorCode::UnknownMemberId, "it does not speak the classic protocol");
    assert_eq!(trial.heartbeat("a", 2), ErrorCode::IllegalGeneration);
    assert_eq!(trial.heartbeat("x", 2), ErrorCode::UnknownMemberId);
    assert_eq!(synced(&mut trial, "a", 2).error, ErrorCode::IllegalGeneration);
    let mut wrong = sync("a", 3, Vec::new());
    if let Command::Sync(request) = &mut wrong {
        request.protocol = Some(text("other"));
    }
    let ticket = trial.send(wrong);
    assert_eq!(trial.synced(ticket).unwrap().error, ErrorCode::InconsistentGroupProtocol);
    assert_eq!(
        synced(&mut trial, "a", 3).assignment,
        Bytes::from_static(&[0, 0, 0, 0, 0, 0, 255, 255, 255, 255])
    );
    // An administrator may remove any member.
    assert_eq!(trial.leave("x", None), Ok(vec![ErrorCode::UnknownMemberId]));
    assert_eq!(trial.leave("a", None), Ok(vec![ErrorCode::None]));
    assert_eq!(trial.leave("b", None), Ok(vec![ErrorCode::None]));
    assert_eq!(trial.state(), "Empty");
}

#[test]
fn a_static_member_may_change_its_protocol() {
    let mut trial = with_topics(&[("t", 2)]);
    trial.beat(Beat { instance_id: Some(text("i")), ..join848("a", &["t"]) }).unwrap();
    let ticket = trial.send(join("c").build());
    assert_eq!(trial.joined(ticket).unwrap().error, ErrorCode::None);
    // Its successor of the classic protocol makes the group a classic one.
    let ticket = trial.send(join_as("b", Some("i")).build());
    let joined = trial.joined(ticket).unwrap();
    assert_eq!((joined.error, &*joined.member_id), (ErrorCode::None, "b"));
    assert_eq!((kind(&trial), trial.state()), ("classic", "Stable"));
    let group = trial.machine.classic(GROUP).unwrap();
    assert_eq!((group.size(), group.static_member("i").map(|id| &**id)), (2, Some("b")));
    // And back.
    let back = trial.beat(Beat { instance_id: Some(text("i")), ..join848("d", &["t"]) }).unwrap();
    assert_eq!((kind(&trial), &*back.member_id), ("consumer", "d"));
    assert_eq!(trial.group848().size(), 2);
}
