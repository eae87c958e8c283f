//! Bytes that are no requests: the connection ends at once, memory does not follow what they claim, others see nothing.

use crate::node::Client;
use crate::node::Node;
use dohle::protocol::versions;
use std::io::Read;
use std::io::Write;

/// Bytes of memory that this process holds.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Whether the broker closes a connection that sent these bytes.
fn closes(client: &mut Client, bytes: &[u8]) -> bool {
    client.stream.write_all(bytes).unwrap();
    let mut rest = Vec::new();
    match client.stream.read_to_end(&mut rest) {
        Ok(_) => rest.is_empty(),
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

fn frame(body: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    frame.extend_from_slice(body);
    frame
}

/// A good header, then what claims far more than it holds.
fn claims() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for api in versions::all() {
        for version in [api.min, api.max] {
            let mut body = api.key.to_be_bytes().to_vec();
            body.extend_from_slice(&version.to_be_bytes());
            body.extend_from_slice(&[0, 0, 0, 1, 255, 255]);
            if api.flexible(version) {
                body.extend_from_slice(&[0, 255, 255, 255, 255, 15]);
            } else {
                body.extend_from_slice(&[0x7f, 255, 255, 255]);
            }
            body.extend_from_slice(&[255; 40]);
            // The first versions of some APIs have no count that could be wrong.
            let plain = [versions::API_VERSIONS, versions::LIST_GROUPS, versions::DESCRIBE_ACLS];
            if version != api.min || !plain.contains(&api.key) {
                all.push(frame(&body));
            }
        }
    }
    all
}

#[test]
fn bytes_that_are_no_requests_end_their_connection_only() {
    let node = Node::start(&[]);
    let mut good = node.client();
    assert!(good.ask(versions::API_VERSIONS, 0, &[]).is_some());
    let limit = 104_857_600u32;
    let mut hostile = vec![
        [0x7f, 255, 255, 255].to_vec(),
        [255, 255, 255, 255].to_vec(),
        [0, 0, 0, 0].to_vec(),
        (limit + 1).to_be_bytes().to_vec(),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        [0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3].to_vec(),
        frame(&[0, 3, 0, 1, 0, 0, 0, 1, 0, 99]),
        frame(&[0; 10]),
    ];
    hostile.extend(claims());
    let before = resident();
    for bytes in &hostile {
        assert!(closes(&mut node.client(), bytes), "{bytes:?}");
    }
    for _ in 0..100 {
        assert!(good.ask(versions::API_VERSIONS, 0, &[]).is_some());
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "memory grew by {grown} bytes");
}

#[test]
fn two_hundred_half_frames_hold_no_memory() {
    let node = Node::start(&[]);
    let mut good = node.client();
    assert!(good.ask(versions::METADATA, 4, &[255, 255, 255, 255, 0]).is_some());
    let before = resident();
    // Each claims a frame just under the limit and sends little of it.
    let halves: Vec<Client> = (0..200)
        .map(|_| {
            let mut client = node.client();
            client.stream.write_all(&104_857_600u32.to_be_bytes()).unwrap();
            client.stream.write_all(&[0; 1000]).unwrap();
            client
        })
        .collect();
    for _ in 0..100 {
        assert!(good.ask(versions::METADATA, 4, &[255, 255, 255, 255, 0]).is_some());
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 128 << 20, "memory grew by {grown} bytes for {} half frames", halves.len());
}
