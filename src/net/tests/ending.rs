//! How connections end: bytes that are no requests, limits, idleness, shutdown.

use crate::io::Clock;
use crate::io::net::After;
use crate::io::net::Stream;
use crate::io::sim::SimClock;
use crate::net::connection::Life;
use crate::net::tests::CLOSE;
use crate::net::tests::Client;
use crate::net::tests::Fake;
use crate::net::tests::OTHER;
use crate::net::tests::PRODUCE;
use crate::net::tests::World;
use crate::net::tests::request;
use bytes::Bytes;
use std::time::Duration;

#[tokio::test]
async fn bytes_that_are_no_requests_end_their_connection_and_no_other() {
    let world = World::start(&[("socket.request.max.bytes", "100000")]).await;
    let mut good = world.connect().await;
    let mut before = request(PRODUCE, 1, b"");
    before.extend(100_001u32.to_be_bytes());
    let hostile: [&[u8]; 8] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3],
        &[0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0],
        &[0xff, 0xff, 0xff, 0xff],
        &[0, 0, 0, 0],
        &[0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        &100_001u32.to_be_bytes(),
        &before,
    ];
    for (number, bytes) in hostile.into_iter().enumerate() {
        let mut client = world.connect().await;
        client.send(bytes.to_vec()).await;
        client.closed().await;
        assert_eq!(world.listener().closed_invalid.get(), number as u64 + 1, "{bytes:?}");
    }
    good.send(request(OTHER, 5, &[0; 99_000])).await;
    assert_eq!(good.id().await, 5);
}

#[tokio::test]
async fn the_broker_may_close_after_what_came_before_is_answered() {
    let world = World::start(&[]).await;
    world.fake.hold(&[1]);
    let mut client = world.connect().await;
    client.send([request(PRODUCE, 1, b""), request(CLOSE, 2, b""), request(OTHER, 3, b"")].concat()).await;
    world.fake.until_seen(1).await;
    world.fake.let_go(1);
    assert_eq!(client.id().await, 1);
    assert_eq!(client.answer().await, None, "closed cleanly");
    assert_eq!(world.fake.until_seen(2).await.len(), 2, "nothing is taken behind it");
}

#[tokio::test]
async fn an_address_has_as_many_connections_as_it_may_and_gets_a_place_back() {
    let world = World::start(&[("max.connections.per.ip", "2")]).await;
    let mut first = world.connect().await;
    first.send(request(OTHER, 1, b"")).await;
    assert_eq!(first.id().await, 1);
    let second = world.connect().await;
    world.until_connections(2).await;
    let mut third = world.connect().await;
    third.closed().await;
    assert_eq!(world.listener().refused.get(), 1);
    drop(first);
    world.until_connections(1).await;
    let mut fourth = world.connect().await;
    fourth.send(request(OTHER, 4, b"")).await;
    assert_eq!(fourth.id().await, 4);
    drop((fourth, second));
    world.until_connections(0).await;
    assert_eq!(world.service.limits.addresses(), 0, "an address that is gone is forgotten");
}

#[tokio::test]
async fn an_override_counts_for_its_address() {
    let world =
        World::start(&[("max.connections.per.ip", "0"), ("max.connections.per.ip.overrides", "127.0.0.1:1")])
            .await;
    let mut first = world.connect().await;
    first.send(request(OTHER, 1, b"")).await;
    assert_eq!(first.id().await, 1);
    world.connect().await.closed().await;
}

#[tokio::test]
async fn an_address_that_may_have_none_is_refused_and_not_remembered() {
    let settings = [("max.connections.per.ip", "0"), ("max.connections.per.ip.overrides", "127.0.0.2:1")];
    let world = World::start(&settings).await;
    world.connect().await.closed().await;
    assert_eq!((world.listener().refused.get(), world.service.limits.addresses()), (1, 0));
}

#[tokio::test]
async fn more_connections_than_allowed_in_all_wait_for_a_place() {
    let world = World::start(&[("max.connections", "1")]).await;
    let mut first = world.connect().await;
    first.send(request(OTHER, 1, b"")).await;
    assert_eq!(first.id().await, 1);
    let mut second = world.connect().await;
    second.send(request(OTHER, 2, b"")).await;
    assert_eq!(world.listener().accepted.get(), 1);
    drop(first);
    assert_eq!(second.id().await, 2);
}

/// Moves the clock in steps until the other side has closed.
async fn close_by_time(clock: &SimClock, stream: &mut Stream) -> Duration {
    let mut waited = Duration::ZERO;
    let mut buffer = bytes::BytesMut::new();
    let mut read = std::pin::pin!(stream.read_into(&mut buffer, 100));
    loop {
        // The connection's task runs on this thread: it goes on when this one yields.
        for _ in 0..50 {
            if std::future::poll_fn(|context| std::task::Poll::Ready(read.as_mut().poll(context).is_ready()))
                .await
            {
                return waited;
            }
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_millis(100));
        waited += Duration::from_millis(100);
        assert!(waited < Duration::from_secs(60), "never closed");
    }
}

/// A world on simulated time whose first request is held back, with the client that sent it.
async fn with_request_in_flight(settings: &[(&str, &str)]) -> (SimClock, World, Client) {
    let clock = SimClock::new();
    let world = World::start_with(settings, Clock::Sim(clock.clone())).await;
    world.fake.hold(&[1]);
    let mut client = world.connect().await;
    client.send(request(OTHER, 1, b"")).await;
    world.fake.until_seen(1).await;
    (clock, world, client)
}

#[tokio::test]
async fn an_idle_connection_is_closed_but_not_while_a_request_is_in_flight() {
    let (clock, world, mut client) = with_request_in_flight(&[("connections.max.idle.ms", "5000")]).await;
    for _ in 0..100 {
        clock.advance(Duration::from_millis(500));
        tokio::task::yield_now().await;
    }
    world.fake.let_go(1);
    assert_eq!(client.id().await, 1, "it waited fifty seconds and was not closed");
    let waited = close_by_time(&clock, &mut client.stream).await;
    assert!((5000..8000).contains(&waited.as_millis()), "{waited:?}");
    assert_eq!(world.listener().closed_idle.get(), 1);
}

#[tokio::test]
async fn a_peer_that_leaves_while_its_request_is_in_flight_is_not_kept_for_long() {
    let (clock, world, client) = with_request_in_flight(&[]).await;
    drop(client);
    let mut waited = Duration::ZERO;
    while world.listener().connections.get() > 0 {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_millis(100));
        waited += Duration::from_millis(100);
        assert!(waited < Duration::from_secs(60), "kept");
    }
    assert!(waited >= Duration::from_secs(30), "it might have closed only its half: {waited:?}");
}

#[tokio::test]
async fn a_request_that_begins_and_does_not_get_on_is_given_up() {
    let clock = SimClock::new();
    let world = World::start_with(&[], Clock::Sim(clock.clone())).await;
    let mut client = world.connect().await;
    client.send(vec![0, 0, 1, 0, 0, 3]).await;
    let waited = close_by_time(&clock, &mut client.stream).await;
    assert!((30_000..34_000).contains(&waited.as_millis()), "{waited:?}");
}

#[tokio::test]
async fn shutdown_finishes_what_is_in_flight_and_takes_nothing_new() {
    let world = World::start(&[]).await;
    world.fake.hold(&[1]);
    let mut idle = world.connect().await;
    let mut busy = world.connect().await;
    busy.send([request(OTHER, 1, b""), request(OTHER, 2, b"")].concat()).await;
    world.fake.until_seen(1).await;
    world.until_connections(2).await;
    world.shutdown.trigger();
    assert_eq!(idle.answer().await, None);
    world.fake.let_go(1);
    assert_eq!(busy.id().await, 1);
    assert_eq!(busy.answer().await, None);
    drop((idle, busy));
    assert_eq!(world.serving.join().await, Some(()));
    assert!(Stream::connect(world.address).await.is_err(), "nobody listens");
    assert_eq!(world.fake.until_seen(1).await.len(), 1, "the second request was not taken");
}

#[tokio::test]
async fn requests_that_do_not_end_are_broken_off_at_shutdown() {
    let (clock, world, mut client) = with_request_in_flight(&[]).await;
    world.shutdown.trigger();
    let waited = close_by_time(&clock, &mut client.stream).await;
    assert!(waited <= Duration::from_secs(5), "{waited:?}");
    assert_eq!(world.serving.join().await, Some(()));
}

#[tokio::test]
async fn a_connection_in_hand_is_small() {
    let world = World::start(&[]).await;
    let stream = Stream::connect(world.address).await.unwrap();
    let connection = crate::broker::Connection::new(
        "PLAINTEXT",
        crate::config::SecurityProtocol::Plaintext,
        stream.local_address().unwrap(),
    );
    let slot = world.service.limits.admit(world.address.ip(), &world.listener()).await.unwrap();
    let life = Life::<Fake>::new(
        world.service.clone(),
        (stream, Duration::ZERO),
        connection,
        (slot, world.listener()),
    )
    .run();
    let size = std::mem::size_of_val(&life);
    assert!(size <= 4096, "an idle connection's task has {size} bytes");
}

#[tokio::test]
async fn half_a_request_holds_no_more_than_came() {
    let world = World::start(&[]).await;
    let before = world.service.budget.left();
    let mut clients = Vec::new();
    for _ in 0..50 {
        let mut client = world.connect().await;
        let mut bytes = 100_000_000u32.to_be_bytes().to_vec();
        bytes.extend([0; 20_000]);
        client.stream.write_all(&[Bytes::from(bytes)], After::Flush).await.unwrap();
        clients.push(client);
    }
    while world.service.budget.left() == before {
        // Charged as soon as the first of them is read.
        tokio::task::yield_now().await;
    }
    let mut good = world.connect().await;
    good.send(request(OTHER, 1, &[0; 1_000_000])).await;
    assert_eq!(good.id().await, 1);
    assert!(
        before - world.service.budget.left() <= 60 << 20,
        "what the halves are charged stays near what came"
    );
}

#[tokio::test]
async fn who_keeps_others_waiting_for_memory_and_sends_nothing_is_closed_at_once() {
    let clock = SimClock::new();
    let settings = [("socket.request.max.bytes", "1000000"), ("queued.max.request.bytes", "1000000")];
    let world = World::start_with(&settings, Clock::Sim(clock.clone())).await;
    let mut halves = Vec::new();
    for _ in 0..50 {
        let mut client = world.connect().await;
        let mut bytes = 900_000u32.to_be_bytes().to_vec();
        bytes.extend([0; 40_000]);
        client.stream.write_all(&[Bytes::from(bytes)], After::Flush).await.unwrap();
        halves.push(client);
    }
    let mut good = world.connect().await;
    good.send(request(OTHER, 1, &[0; 500_000])).await;
    let mut answer = std::pin::pin!(good.id());
    let mut waited = Duration::ZERO;
    loop {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        if let std::task::Poll::Ready(id) =
            std::future::poll_fn(|context| std::task::Poll::Ready(answer.as_mut().poll(context))).await
        {
            assert_eq!(id, 1);
            break;
        }
        clock.advance(Duration::from_millis(100));
        waited += Duration::from_millis(100);
        assert!(waited < Duration::from_secs(5), "the honest request still waits");
    }
    assert!(world.listener().closed_invalid.get() > 0, "somebody held more than there is");
}

#[tokio::test]
async fn who_waits_for_memory_is_not_blamed_for_sending_nothing() {
    let clock = SimClock::new();
    let settings = [("socket.request.max.bytes", "1000000"), ("queued.max.request.bytes", "1000000")];
    let world = World::start_with(&settings, Clock::Sim(clock.clone())).await;
    world.fake.hold(&[1]);
    let mut first = world.connect().await;
    first.send(request(OTHER, 1, &[0; 990_000])).await;
    world.fake.until_seen(1).await;
    let mut second = world.connect().await;
    second.send(request(OTHER, 2, &[0; 990_000])).await;
    for _ in 0..120 {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_millis(500));
    }
    world.fake.let_go(1);
    assert_eq!(first.id().await, 1);
    assert_eq!(second.id().await, 2);
    assert_eq!(world.listener().closed_invalid.get(), 0);
}
