//! Streams against each other over the loopback.

use crate::io::disk::Disk;
use crate::io::disk::Open;
use crate::io::file_slice::FileSlice;
use crate::io::net::After;
use crate::io::net::Listener;
use crate::io::net::SocketOptions;
use crate::io::net::Stream;
use crate::io::net::resolve;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use crate::io::task;
use bytes::Bytes;
use bytes::BytesMut;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;
use std::net::SocketAddr;
use std::path::Path;

const OPTIONS: SocketOptions =
    SocketOptions { backlog: 16, send_buffer: Some(16 * 1024), receive_buffer: None };

async fn pair() -> (Stream, Stream) {
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into(), &OPTIONS).unwrap();
    let client = Stream::connect(listener.local_address().unwrap()).await.unwrap();
    let (server, peer) = listener.accept().await.unwrap();
    assert_eq!(peer, client.local_address().unwrap());
    (server, client)
}

async fn read_to_end(mut stream: Stream) -> BytesMut {
    let mut all = BytesMut::new();
    while stream.read_into(&mut all, 4096).await.unwrap() > 0 {}
    all
}

#[tokio::test]
async fn the_unspecified_ipv6_address_takes_ipv4_and_shows_it_as_such() {
    let Ok(listener) = Listener::bind((Ipv6Addr::UNSPECIFIED, 0).into(), &OPTIONS) else {
        // A machine without IPv6 listens on IPv4 alone.
        assert_eq!(resolve("", 1).await.unwrap(), [SocketAddr::from((Ipv4Addr::UNSPECIFIED, 1))]);
        return;
    };
    let port = listener.local_address().unwrap().port();
    for address in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
        let client = Stream::connect((address, port).into()).await.unwrap();
        let (_, peer) = listener.accept().await.unwrap();
        assert_eq!(peer.ip(), address);
        drop(client);
    }
    assert_eq!(resolve("", 1).await.unwrap(), [SocketAddr::from((Ipv6Addr::UNSPECIFIED, 1))]);
    assert_eq!(resolve("127.0.0.1", 7).await.unwrap(), [SocketAddr::from((Ipv4Addr::LOCALHOST, 7))]);
    let localhost = [SocketAddr::from((Ipv4Addr::LOCALHOST, 7)), SocketAddr::from((Ipv6Addr::LOCALHOST, 7))];
    assert_eq!(resolve("LocalHost", 7).await.unwrap(), localhost);
}

#[tokio::test]
async fn parts_arrive_in_order_however_many_and_however_slow_the_reader() {
    let (mut server, client) = pair().await;
    let parts: Vec<Bytes> =
        (0..3000u32).map(|n| Bytes::from(vec![n.to_le_bytes()[0]; (n % 700) as usize])).collect();
    let expected: Vec<u8> = parts.iter().flatten().copied().collect();
    let reading = task::spawn("reader", read_to_end(client));
    server.write_all(&parts, After::More).await.unwrap();
    server.write_all(&[], After::Flush).await.unwrap();
    server.shutdown_write().unwrap();
    assert_eq!(reading.join().await.unwrap(), expected);
}

#[tokio::test]
async fn a_range_of_a_file_is_sent_whole_from_a_real_and_a_simulated_disk() {
    let folder = tempfile::tempdir().unwrap();
    let sim = Disk::Sim(SimDisk::new(1, SimClock::new()));
    for (disk, path) in [(Disk::system(), folder.path().join("file")), (sim, Path::new("/file").to_owned())] {
        let content: Vec<u8> = (0..3_000_000u32).map(|number| number.to_le_bytes()[1]).collect();
        let file = disk.open(&path, Open::Create).unwrap();
        file.write_at(&content, 0).unwrap();
        let (mut server, client) = pair().await;
        let reading = task::spawn("reader", read_to_end(client));
        let slice = FileSlice { file, position: 100, length: 2_500_000 };
        server.write_all(&[Bytes::from_static(b"head")], After::More).await.unwrap();
        server.send_slice(&slice).await.unwrap();
        let short = FileSlice { position: 2_999_990, length: 20, ..slice };
        assert_eq!(server.send_slice(&short).await.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        drop(server);
        let received = reading.join().await.unwrap();
        assert_eq!(received[..4], *b"head");
        assert!(received[4..2_500_004] == content[100..2_500_100]);
    }
}

#[tokio::test]
async fn nothing_is_reserved_before_there_is_something_to_read() {
    let (mut server, mut client) = pair().await;
    let mut buffer = BytesMut::new();
    {
        let mut read = std::pin::pin!(client.read_into(&mut buffer, 1000));
        let polled =
            std::future::poll_fn(|context| std::task::Poll::Ready(read.as_mut().poll(context))).await;
        assert!(polled.is_pending());
    }
    assert_eq!(buffer.capacity(), 0);
    server.write_all(&[Bytes::from_static(b"now")], After::Flush).await.unwrap();
    assert_eq!(client.read_into(&mut buffer, 1000).await.unwrap(), 3);
    drop(server);
    client.readable().await.unwrap();
    assert_eq!(client.read_into(&mut buffer, 1000).await.unwrap(), 0);
}

#[tokio::test]
async fn reads_without_a_pause_come_to_an_end() {
    let (mut one, mut other) = pair().await;
    one.write_all(&[Bytes::from(vec![7; 8000])], After::Flush).await.unwrap();
    let mut buffer = BytesMut::with_capacity(16);
    let mut received = 0;
    // More reads than one turn of a task allows, each with something to read.
    while received < 8000 {
        received += other.read_into(&mut buffer, 16).await.unwrap();
        buffer.clear();
    }
    assert_eq!(received, 8000);
}
