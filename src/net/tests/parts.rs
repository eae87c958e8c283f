//! Answers of many parts, in memory and on disk.

use crate::io::Clock;
use crate::io::Disk;
use crate::io::FileSlice;
use crate::io::Open;
use crate::io::residency;
use crate::net::tests::OTHER;
use crate::net::tests::World;
use crate::net::tests::request;
use crate::protocol::Part;
use bytes::Bytes;
use std::time::Duration;

/// How long a test waits for what must come.
const LONG: Duration = Duration::from_secs(60);

/// A synced file on a real file system.
fn file(length: u32) -> (tempfile::TempDir, crate::io::File, Vec<u8>) {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR").to_owned() + "/target").unwrap();
    let content: Vec<u8> =
        (0..length).map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let file = Disk::system().open(&folder.path().join("file"), Open::Create).unwrap();
    file.write_at(&content, 0).unwrap();
    file.sync_all().unwrap();
    (folder, file, content)
}

fn index(position: u64) -> usize {
    usize::try_from(position).unwrap()
}

/// Gives a file's pages back. A socket that sent them may hold them for a moment after the client has them.
async fn cool(file: &crate::io::File, length: u64) {
    let whole = FileSlice { file: file.clone(), position: 0, length };
    let cool = async {
        while residency::is_cached(&whole) {
            residency::release(&whole);
            tokio::task::yield_now().await;
        }
    };
    Clock::system().timeout(LONG, cool).await.expect("pages that nobody uses go");
}

#[tokio::test]
async fn small_and_large_slices_warm_and_cold_go_out_in_place() {
    let world = World::start(&[]).await;
    let (_folder, file, content) = file(4_000_000);
    let ranges = [(0, 10), (5, 0), (100, 16_384), (7, 16_385), (1_000_000, 2_500_000), (3_999_990, 10)];
    for cold in [false, true] {
        let mut parts = Vec::new();
        let mut expected = Vec::new();
        for (position, length) in ranges {
            parts.push(Part::Bytes(Bytes::from_static(b"between")));
            expected.extend_from_slice(b"between");
            parts.push(Part::File(FileSlice { file: file.clone(), position, length }));
            expected.extend_from_slice(&content[index(position)..index(position + length)]);
        }
        parts.push(Part::Bytes(Bytes::from(vec![3; 10_000])));
        expected.extend([3; 10_000]);
        world.fake.parts.lock().insert(1, parts);
        if cold {
            cool(&file, 4_000_000).await;
        }
        let mut client = world.connect().await;
        client.send(request(OTHER, 1, b"")).await;
        let (_, received) = client.answer().await.unwrap();
        assert!(received == expected, "cold: {cold}");
    }
}

#[tokio::test]
async fn who_catches_up_gives_the_memory_back() {
    // More than sockets hold: of what is there they keep the pages.
    const LENGTH: u32 = 24_000_000;
    let world = World::start(&[]).await;
    let (_folder, file, content) = file(LENGTH);
    let whole = FileSlice { file: file.clone(), position: 0, length: u64::from(LENGTH) };
    cool(&file, whole.length).await;
    world.fake.parts.lock().insert(1, vec![Part::File(whole.clone())]);
    let mut client = world.connect().await;
    client.send(request(OTHER, 1, b"")).await;
    let (_, received) = client.answer().await.unwrap();
    assert!(received == content);
    assert!(!residency::is_cached(&FileSlice { length: 8_000_000, ..whole }));
}

#[tokio::test]
async fn many_tiny_parts_make_one_answer() {
    let world = World::start(&[]).await;
    let (_folder, file, content) = file(4_000_000);
    let mut parts = Vec::new();
    let mut expected = Vec::new();
    for number in 0..2000u64 {
        let position = number * 1000;
        parts.push(Part::Bytes(Bytes::from(number.to_be_bytes().to_vec())));
        expected.extend(number.to_be_bytes());
        parts.push(Part::File(FileSlice { file: file.clone(), position, length: 900 }));
        expected.extend_from_slice(&content[index(position)..index(position) + 900]);
    }
    world.fake.parts.lock().insert(1, parts);
    let mut client = world.connect().await;
    client.send([request(OTHER, 1, b""), request(OTHER, 2, b"")].concat()).await;
    let (_, received) = client.answer().await.unwrap();
    assert!(received == expected);
    assert_eq!(client.id().await, 2);
}

#[tokio::test]
async fn a_file_cut_under_the_answer_ends_the_connection_and_sends_nothing_else() {
    let world = World::start(&[]).await;
    let (_folder, file, _) = file(4_000_000);
    let slice = FileSlice { file: file.clone(), position: 0, length: 3_000_000 };
    file.set_len(1_000_000).unwrap();
    world.fake.parts.lock().insert(1, vec![Part::File(slice)]);
    let mut client = world.connect().await;
    client.send([request(OTHER, 1, b""), request(OTHER, 2, b"")].concat()).await;
    client.closed().await;
    assert!(client.buffer.len() <= 8 + 1_000_000, "{}", client.buffer.len());
}
