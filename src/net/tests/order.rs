//! Requests are taken, and answers given, in order.

use crate::net::tests::OTHER;
use crate::net::tests::PRODUCE;
use crate::net::tests::SILENT;
use crate::net::tests::World;
use crate::net::tests::request;

#[tokio::test]
async fn produces_are_pipelined_and_answered_in_order() {
    let world = World::start(&[]).await;
    world.fake.hold(&[1, 2, 3]);
    let mut client = world.connect().await;
    client
        .send([request(PRODUCE, 1, b""), request(PRODUCE, 2, b""), request(PRODUCE, 3, b"")].concat())
        .await;
    let seen = world.fake.until_seen(3).await;
    assert_eq!(seen[2].before, [1, 2], "the third is taken while the first two wait");
    world.fake.let_go(3);
    world.fake.let_go(2);
    world.fake.let_go(1);
    assert_eq!([client.id().await, client.id().await, client.id().await], [1, 2, 3]);
}

#[tokio::test]
async fn a_burst_of_produces_is_written_at_its_end() {
    let world = World::start(&[]).await;
    let mut client = world.connect().await;
    let burst = [request(PRODUCE, 1, b""), request(PRODUCE, 2, b""), request(PRODUCE, 3, b"")];
    client.send([burst.concat(), request(OTHER, 4, b"")].concat()).await;
    let seen = world.fake.until_seen(4).await;
    let followed: Vec<bool> = seen.iter().map(|seen| seen.followed).collect();
    assert_eq!(followed, [true, true, false, false], "only a produce may be written with the one before");
    assert_eq!([client.id().await, client.id().await], [1, 2]);
    assert_eq!(*world.fake.written.lock(), [3], "written once, before the first answer");
}

#[tokio::test]
async fn any_other_request_waits_for_those_before_it_and_lets_none_pass() {
    let world = World::start(&[]).await;
    world.fake.hold(&[1, 2]);
    let mut client = world.connect().await;
    let all =
        [request(PRODUCE, 1, b""), request(OTHER, 2, b""), request(PRODUCE, 3, b""), request(OTHER, 4, b"")];
    client.send(all.concat()).await;
    world.fake.until_seen(1).await;
    world.fake.let_go(1);
    assert_eq!(client.id().await, 1);
    world.fake.until_seen(2).await;
    world.fake.let_go(2);
    assert_eq!([client.id().await, client.id().await, client.id().await], [2, 3, 4]);
    let seen = world.fake.until_seen(4).await;
    assert!(seen.iter().all(|seen| seen.before.is_empty()), "{seen:?}");
}

#[tokio::test]
async fn requests_are_found_however_the_bytes_are_cut() {
    let world = World::start(&[]).await;
    let mut client = world.connect().await;
    let payload = vec![7; 3000];
    let bytes: Vec<u8> =
        (0..40u16).flat_map(|id| request(OTHER, id.into(), &payload[..usize::from(id) * 70])).collect();
    let (mut rest, mut step) = (bytes.as_slice(), 1);
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(step.min(rest.len()));
        client.send(piece.to_vec()).await;
        rest = tail;
        step = step * 5 % 7919;
    }
    for id in 0..40 {
        assert_eq!(client.id().await, id);
    }
    let seen = world.fake.until_seen(40).await;
    assert!(seen.iter().all(|seen| i32::try_from(seen.bytes) == Ok(10 + seen.id * 70)));
}

#[tokio::test]
async fn a_request_without_answer_leaves_no_gap() {
    let world = World::start(&[]).await;
    let mut client = world.connect().await;
    client.send([request(SILENT, 1, b""), request(OTHER, 2, b"")].concat()).await;
    assert_eq!(client.id().await, 2);
}

#[tokio::test]
async fn requests_of_a_client_that_sends_and_leaves_are_taken() {
    let world = World::start(&[]).await;
    let mut client = world.connect().await;
    client.send((0..500).flat_map(|id| request(SILENT, id, &[1; 100])).collect::<Vec<u8>>()).await;
    drop(client);
    assert_eq!(world.fake.until_seen(500).await.len(), 500);
    world.until_connections(0).await;
}

#[tokio::test]
async fn a_client_that_closed_its_half_still_gets_its_answers() {
    let world = World::start(&[]).await;
    world.fake.hold(&[1]);
    let mut client = world.connect().await;
    client.send([request(OTHER, 1, b""), request(OTHER, 2, b"")].concat()).await;
    client.stream.shutdown_write().unwrap();
    world.fake.until_seen(1).await;
    world.fake.let_go(1);
    assert_eq!([client.id().await, client.id().await], [1, 2]);
    assert_eq!(client.answer().await, None);
}

#[tokio::test]
async fn a_large_request_comes_as_one_piece_and_gives_its_budget_back() {
    let world = World::start(&[("socket.request.max.bytes", "5000000")]).await;
    let before = world.service.budget.left();
    let mut client = world.connect().await;
    for id in 0..3 {
        client.send(request(OTHER, id, &vec![5; 4_000_000])).await;
        assert_eq!(client.id().await, id);
        assert_eq!(world.fake.until_seen(1).await[0].bytes, 4_000_010);
    }
    assert_eq!(world.service.budget.left(), before);
}
