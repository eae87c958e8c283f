//! How groups come from one generation to the next, and what each member is told.

use super::*;

#[test]
fn a_new_group_waits_for_its_delay_and_longer_while_members_keep_coming() {
    let mut trial = Trial::new(settings());
    let first = trial.send(join("a").with(|join| join.rebalance_timeout_ms = 8_000).build());
    trial.pass(2_999);
    assert_eq!(trial.joined(first), None);
    let second = trial.send(join("b").with(|join| join.rebalance_timeout_ms = 8_000).build());
    trial.pass(3_000);
    assert_eq!(trial.joined(first), None, "the second member extends the delay");
    trial.pass(1);
    let joined = trial.joined(first).unwrap();
    assert_eq!((joined.error, joined.generation, &*joined.leader), (ErrorCode::None, 1, "a"));
    assert_eq!(joined.members.len(), 2);
    assert!(trial.joined(second).unwrap().members.is_empty(), "only the leader sees everyone");
}

#[test]
fn the_delay_of_a_new_group_ends_with_the_rebalance_timeout() {
    let mut trial = Trial::new(settings());
    let first = trial.send(join("a").with(|join| join.rebalance_timeout_ms = 8_000).build());
    for name in ["b", "c", "d", "e", "f", "g", "h"] {
        trial.pass(1_100);
        trial.send(join(name).with(|join| join.rebalance_timeout_ms = 8_000).build());
    }
    trial.pass(300);
    assert!(trial.joined(first).is_some());
}

#[test]
fn everyone_gets_what_the_leader_gave() {
    let mut trial = Trial::new(settings());
    let tickets =
        [trial.send(join("a").build()), trial.send(join("b").build()), trial.send(join("c").build())];
    trial.pass(6_000);
    for ticket in tickets {
        assert_eq!(trial.joined(ticket).unwrap().generation, 1);
    }
    let waiting = trial.send(sync("b", 1, Vec::new()));
    assert_eq!(trial.synced(waiting), None);
    let leader = trial.send(sync(
        "a",
        1,
        vec![(text("a"), part("a")), (text("b"), part("b")), (text("x"), part("x"))],
    ));
    let late = trial.send(sync("c", 1, Vec::new()));
    for (ticket, assignment) in [(waiting, part("b")), (leader, part("a")), (late, Bytes::new())] {
        let synced = trial.synced(ticket).unwrap();
        assert_eq!((synced.error, synced.assignment), (ErrorCode::None, assignment));
        assert_eq!((synced.protocol_type, synced.protocol), (Some(text("consumer")), Some(text("range"))));
    }
}

#[test]
fn a_part_of_the_generation_before_is_not_given_again() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("b", None)]);
    trial.send(join("a").known().build());
    trial.send(join("b").known().build());
    trial.send(sync("a", 2, vec![(text("a"), part("a"))]));
    let ticket = trial.send(sync("b", 2, Vec::new()));
    assert_eq!(trial.synced(ticket).unwrap().assignment, Bytes::new());
}

#[test]
fn a_member_that_does_not_rejoin_in_time_is_left_behind() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("b", None)]);
    let joining = trial.send(join("c").build());
    let back = trial.send(join("a").known().build());
    trial.pass(59_999);
    assert_eq!(trial.joined(back), None);
    trial.pass(1);
    assert_eq!(trial.joined(back).unwrap().members.len(), 2);
    assert_eq!(trial.joined(joining).unwrap().generation, 2);
    assert_eq!(trial.heartbeat("b", 2), ErrorCode::UnknownMemberId);
}

#[test]
fn a_silent_member_is_removed_at_the_end_of_its_session_and_heartbeats_renew_it() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("b", None)]);
    for _ in 0..10 {
        trial.pass(300_000);
        assert_eq!(trial.heartbeat("a", 1), ErrorCode::None);
        if trial.heartbeat("b", 1) != ErrorCode::None {
            panic!("b is alive");
        }
    }
    trial.pass(300_000);
    assert_eq!(trial.heartbeat("a", 1), ErrorCode::None);
    trial.pass(300_000);
    assert_eq!(trial.heartbeat("a", 1), ErrorCode::RebalanceInProgress);
    assert_eq!(trial.heartbeat("b", 1), ErrorCode::UnknownMemberId);
}

#[test]
fn a_commit_renews_the_session_too() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None)]);
    for _ in 0..4 {
        trial.pass(400_000);
        assert!(trial.commit(commit("a", 1)).is_ok());
    }
    assert_eq!(trial.state(), "Stable");
}

#[test]
fn members_that_do_not_sync_in_time_are_removed() {
    let mut trial = Trial::new(settings());
    let tickets = [trial.send(join("a").build()), trial.send(join("b").build())];
    trial.pass(6_000);
    assert!(tickets.into_iter().all(|ticket| trial.joined(ticket).is_some()));
    let waiting = trial.send(sync("b", 1, Vec::new()));
    trial.pass(60_000);
    assert_eq!(trial.synced(waiting).unwrap().error, ErrorCode::RebalanceInProgress);
    assert_eq!(trial.heartbeat("a", 1), ErrorCode::UnknownMemberId);
    assert_eq!(trial.heartbeat("b", 1), ErrorCode::RebalanceInProgress);
    let back = trial.send(join("b").known().build());
    assert_eq!(&*trial.joined(back).unwrap().leader, "b");
}

#[test]
fn a_join_during_sync_cancels_the_waiting_syncs() {
    let mut trial = Trial::new(settings());
    trial.send(join("a").build());
    trial.send(join("b").build());
    trial.pass(6_000);
    let waiting = trial.send(sync("b", 1, Vec::new()));
    trial.send(join("c").build());
    assert_eq!(trial.synced(waiting).unwrap().error, ErrorCode::RebalanceInProgress);
    assert_eq!(trial.state(), "PreparingRebalance");
}

#[test]
fn the_leader_rejoining_rebalances_and_a_follower_without_news_does_not() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("b", None)]);
    let same = trial.send(join("b").known().build());
    let joined = trial.joined(same).unwrap();
    assert_eq!((joined.generation, &*joined.leader, trial.state()), (1, "a", "Stable"));
    trial.send(join("b").known().protocols(&["range", "sticky"]).build());
    assert_eq!(trial.state(), "PreparingRebalance", "b has news");

    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("b", None)]);
    trial.send(join("a").known().build());
    assert_eq!(trial.state(), "PreparingRebalance", "the leader wants a new assignment");
}

#[test]
fn a_join_sent_twice_is_answered_twice() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("b", None)]);
    let first = trial.send(join("a").known().build());
    let second = trial.send(join("a").known().build());
    assert_eq!(trial.joined(first).unwrap().error, ErrorCode::RebalanceInProgress);
    trial.send(join("b").known().build());
    assert_eq!(trial.joined(second).unwrap().generation, 2);
    let first = trial.send(sync("b", 2, Vec::new()));
    let second = trial.send(sync("b", 2, Vec::new()));
    assert_eq!(trial.synced(first).unwrap().error, ErrorCode::RebalanceInProgress);
    trial.send(sync("a", 2, Vec::new()));
    assert_eq!(trial.synced(second).unwrap().error, ErrorCode::None);
}

#[test]
fn the_protocol_is_chosen_by_votes_among_those_that_all_support() {
    let cases: [(&[&[&str]], &str); 5] = [
        (&[&["range"], &["sticky", "range"]], "range"),
        (&[&["range", "sticky"], &["sticky", "range"], &["sticky", "range"]], "sticky"),
        // One vote each: the first in a hash map of Java's, whoever leads.
        (&[&["sticky", "range"], &["range", "sticky"]], "sticky"),
        (&[&["roundrobin", "range"], &["range", "roundrobin"]], "range"),
        (&[&["x", "range", "y"], &["y", "range", "z"]], "range"),
    ];
    for (members, wanted) in cases {
        let mut trial = Trial::new(settings());
        let tickets: Vec<Ticket> = members
            .iter()
            .enumerate()
            .map(|(place, names)| trial.send(join(&format!("m{place}")).protocols(names).build()))
            .collect();
        trial.pass(9_000);
        for ticket in tickets {
            assert_eq!(trial.joined(ticket).unwrap().protocol.as_deref(), Some(wanted), "{members:?}");
        }
    }
}

#[test]
fn a_restarted_static_member_keeps_its_part_and_nobody_notices() {
    for restarted in ["a", "b"] {
        let mut trial = Trial::new(settings());
        trial.stable(&[("a", Some("ia")), ("b", Some("ib")), ("c", Some("ic"))]);
        let mut old = restarted.to_owned();
        for round in 0..20 {
            let new = format!("{restarted}{round}");
            let instance = format!("i{restarted}");
            let back = join_as(&new, Some(&instance)).with(|join| {
                join.session_timeout_ms = 700_000;
                join.client_id = text("renamed");
            });
            let ticket = trial.send(back.build());
            let joined = trial.joined(ticket).expect("no rebalance");
            assert_eq!((joined.generation, &*joined.member_id), (1, &*new));
            assert_eq!(joined.skip_assignment, restarted == "a");
            assert_eq!(joined.members.len(), if restarted == "a" { 3 } else { 0 });
            let ticket = trial.send(sync(&new, 1, Vec::new()));
            assert_eq!(trial.synced(ticket).unwrap().assignment, part(restarted));
            let fenced = trial.ask(heartbeat(&old, Some(&instance), 1));
            assert_eq!(fenced, Answer::Heartbeat(ErrorCode::FencedInstanceId));
            assert_eq!(trial.heartbeat(&new, 1), ErrorCode::None);
            old = new;
            if round % 5 == 4 {
                trial.crash();
            }
        }
        let group = trial.machine.classic(GROUP).unwrap();
        let member = group.member(&old).unwrap();
        assert_eq!((member.session_timeout_ms, &*member.client_id), (700_000, "renamed"));
    }
}

#[test]
fn a_restarted_static_leader_whose_client_cannot_skip_is_told_its_former_id() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", Some("ia")), ("b", Some("ib"))]);
    let ticket = trial.send(join_as("a2", Some("ia")).with(|join| join.skips_assignment = false).build());
    let joined = trial.joined(ticket).unwrap();
    assert_eq!((&*joined.leader, joined.members.len(), joined.skip_assignment), ("a", 0, false));
}

#[test]
fn a_static_member_that_changes_the_chosen_protocol_rebalances() {
    let mut trial = Trial::new(settings());
    for (name, instance) in [("a", "ia"), ("b", "ib")] {
        trial.send(join_as(name, Some(instance)).protocols(&["range", "sticky"]).build());
    }
    trial.pass(6_000);
    trial.send(sync("b", 1, Vec::new()));
    trial.send(sync("a", 1, Vec::new()));
    assert_eq!(trial.state(), "Stable");
    let ticket = trial.send(join_as("a2", Some("ia")).protocols(&["sticky"]).build());
    assert_eq!(trial.joined(ticket), None);
    assert_eq!(trial.state(), "PreparingRebalance");
}

#[test]
fn the_older_of_two_static_members_is_fenced_wherever_it_waits() {
    let mut trial = Trial::new(settings());
    let first = trial.send(join_as("a1", Some("i")).build());
    let second = trial.send(join_as("a2", Some("i")).build());
    let fenced = trial.joined(first).unwrap();
    assert_eq!((fenced.error, &*fenced.member_id), (ErrorCode::FencedInstanceId, "a1"));
    trial.pass(6_000);
    assert_eq!(trial.joined(second).unwrap().generation, 1);

    let mut trial = Trial::new(settings());
    trial.send(join_as("l", Some("il")).build());
    trial.send(join_as("f1", Some("if")).build());
    trial.pass(6_000);
    let waiting = trial.send(sync("f1", 1, Vec::new()));
    trial.send(join_as("f2", Some("if")).build());
    assert_eq!(trial.synced(waiting).unwrap().error, ErrorCode::FencedInstanceId);
    assert_eq!(trial.state(), "PreparingRebalance", "the leader may be assigning to the old id");
}

#[test]
fn static_members_stay_through_a_rebalance_that_they_miss_until_their_session_ends() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("s", Some("i"))]);
    let back = trial.send(join("a").known().build());
    trial.pass(60_000);
    let joined = trial.joined(back).unwrap();
    assert_eq!((joined.generation, joined.members.len()), (2, 2));
    trial.send(sync("a", 2, vec![(text("a"), part("a")), (text("s"), part("s"))]));
    assert_eq!(trial.state(), "Stable");
}

#[test]
fn a_group_of_absent_static_members_waits_for_their_sessions() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("s", Some("i")), ("t", Some("j"))]);
    trial.leave("s", Some("i")).unwrap();
    trial.pass(120_000);
    assert_eq!(trial.state(), "PreparingRebalance");
    trial.pass(600_000);
    assert_eq!(trial.state(), "Empty");
}

#[test]
fn a_group_that_is_full_while_joining_turns_the_last_ones_away() {
    let mut trial = Trial::new(Settings { group_size_max: 2, ..settings() });
    let tickets: Vec<Ticket> = ["a", "b", "c"].iter().map(|name| trial.send(join(name).build())).collect();
    assert_eq!(trial.joined(tickets[2]).unwrap().error, ErrorCode::GroupMaxSizeReached);
    trial.pass(6_000);
    assert_eq!(trial.joined(tickets[0]).unwrap().members.len(), 2);
}

#[test]
fn a_group_that_is_loaded_too_large_rebalances_and_shrinks() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("b", None), ("c", None)]);
    trial.settings = Arc::new(Settings { group_size_max: 2, ..settings() });
    trial.crash();
    assert_eq!(trial.state(), "PreparingRebalance");
    let errors: Vec<ErrorCode> = ["a", "b", "c"]
        .iter()
        .filter_map(|name| {
            let ticket = trial.send(join(name).known().build());
            trial.joined(ticket).map(|joined| joined.error)
        })
        .collect();
    assert_eq!(errors, [ErrorCode::GroupMaxSizeReached]);
    assert_eq!(trial.machine.classic(GROUP).unwrap().size(), 2);
}

#[test]
fn a_broker_restart_keeps_members_generation_and_parts() {
    let mut trial = Trial::new(settings());
    trial.stable(&[("a", None), ("b", Some("i"))]);
    trial.commit(commit("a", 1)).unwrap();
    trial.crash();
    for member in ["a", "b"] {
        assert_eq!(trial.heartbeat(member, 1), ErrorCode::None);
        let ticket = trial.send(sync(member, 1, Vec::new()));
        assert_eq!(trial.synced(ticket).unwrap().assignment, part(member));
    }
    assert_eq!(trial.fetch_one("t", 0).offset, 5);
    // Sessions run anew after the restart.
    trial.pass(599_999);
    assert_eq!(trial.state(), "Stable");
    trial.pass(1);
    assert_eq!(trial.state(), "Empty");
}

#[test]
fn cooperative_metadata_passes_through_unread() {
    let mut trial = Trial::new(settings());
    let blob = |tail: &[u8]| {
        let mut bytes = subscription(&["t"]).to_vec();
        bytes.extend(tail);
        Bytes::from(bytes)
    };
    let cooperative = |name: &str, tail: &[u8]| {
        let metadata = blob(tail);
        let name_of = text("cooperative-sticky");
        join(name).with(|join| join.protocols = vec![Protocol { name: name_of, metadata }]).build()
    };
    let first = trial.send(cooperative("a", &[1, 2, 3]));
    trial.send(cooperative("b", &[9]));
    trial.pass(6_000);
    let roster = trial.joined(first).unwrap().members;
    assert_eq!(
        roster.iter().map(|member| member.metadata.clone()).collect::<Vec<_>>(),
        [blob(&[1, 2, 3]), blob(&[9])]
    );
}
