//! The pages over the loopback.

use crate::admin::Admin;
use crate::admin::CONNECTIONS_MAX;
use crate::admin::Error;
use crate::admin::stage::Stage;
use crate::config::AdminSettings;
use crate::config::HostPort;
use crate::io::Clock;
use crate::io::net::After;
use crate::io::net::Patience;
use crate::io::net::Stream;
use crate::io::task;
use crate::metrics::Registry;
use bytes::Bytes;
use bytes::BytesMut;
use std::net::SocketAddr;
use std::time::Duration;

fn settings(address: &str, chosen: bool) -> AdminSettings {
    AdminSettings { listeners: vec![HostPort::parse(address).unwrap()], chosen, partitions_max: 10 }
}

async fn start(address: &str, chosen: bool) -> Result<Admin, Error> {
    Admin::start(&settings(address, chosen), Registry::new(), Clock::system()).await
}

async fn ask(stream: &mut Stream, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(&[Bytes::from(request)], After::Flush).await.unwrap();
}

async fn answer(stream: &mut Stream) -> String {
    let mut answer = BytesMut::new();
    while stream.read_into(&mut answer, 4096).await.unwrap() > 0 {}
    String::from_utf8(answer.to_vec()).unwrap()
}

/// The status code and the body.
async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = Stream::connect(address).await.unwrap();
    ask(&mut stream, path).await;
    let answer = answer(&mut stream).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ready_says_yes_only_while_clients_are_served_and_live_all_the_time() {
    let admin = start("127.0.0.1:0", true).await.unwrap();
    let address = admin.addresses()[0];
    for (stage, code, state) in
        [(Stage::Starting, 503, 2), (Stage::Serving, 200, 3), (Stage::Draining, 503, 6)]
    {
        admin.pages.set_stage(stage);
        assert_eq!(get(address, "/ready").await, (code, stage.text().to_owned()));
        assert_eq!(get(address, "/live").await, (200, "live\n".to_owned()));
        let (code, figures) = get(address, "/metrics").await;
        assert_eq!(code, 200);
        let line = format!("kafka_server_kafkaserver_brokerstate {state}");
        assert!(figures.lines().any(|shown| shown == line), "{line} is missing in\n{figures}");
    }
    assert_eq!(get(address, "/nothing").await.0, 404);
    admin.stop().await;
    assert!(Stream::connect(address).await.is_err(), "nothing is served after the end");
}

#[tokio::test]
async fn a_taken_address_is_an_error_only_when_it_was_set() {
    let first = start("127.0.0.1:0", true).await.unwrap();
    let taken = first.addresses()[0].to_string();
    let error = start(&taken, true).await.unwrap_err().to_string();
    assert!(error.contains(&taken) && error.contains("dohle.admin.listeners"), "{error}");
    assert_eq!(start(&taken, false).await.unwrap().addresses(), []);
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_beyond_the_limit_wait_for_others_to_end() {
    let admin = start("127.0.0.1:0", true).await.unwrap();
    let address = admin.addresses()[0];
    let mut silent = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut stream = Stream::connect(address).await.unwrap();
        // Once it is answered it is surely among those that were accepted; the next request never ends.
        let request = Bytes::from("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /");
        stream.write_all(&[request], After::Flush).await.unwrap();
        stream.read_into(&mut BytesMut::new(), 4096).await.unwrap();
        silent.push(stream);
    }
    assert_eq!(admin.room.available_permits(), 0);
    let mut late = Stream::connect(address).await.unwrap();
    ask(&mut late, "/live").await;
    silent.pop();
    assert!(answer(&mut late).await.contains("live"), "its turn came when another one ended");
    admin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_does_not_end_gives_its_place_to_others() {
    let patience = Patience { request: Duration::from_millis(200), idle: Duration::from_secs(600) };
    let settings = settings("127.0.0.1:0", true);
    let admin = Admin::start_with(&settings, Registry::new(), Clock::system(), patience).await.unwrap();
    let address = admin.addresses()[0];
    let mut slow = Stream::connect(address).await.unwrap();
    // One byte after the other, for ever: it is not how often bytes come that counts.
    let dripping = task::spawn("drip", async move {
        while slow.write_all(&[Bytes::from_static(b"G")], After::Flush).await.is_ok() {
            task::yield_now().await;
        }
    });
    let mut silent = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        silent.push(Stream::connect(address).await.unwrap());
    }
    assert_eq!(get(address, "/live").await.0, 200, "the places of those who bring nothing are free again");
    dripping.join().await;
    admin.stop().await;
}
