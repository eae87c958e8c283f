//! Frames in, answers out, without a socket.

use super::*;
use crate::base::ErrorCode;
use crate::broker::testing::idle_broker;
use crate::config::SecurityProtocol;
use crate::protocol::Part;

fn broker() -> Arc<Broker> {
    idle_broker()
}

fn connection() -> Arc<Connection> {
    let peer = "127.0.0.1:5".parse().unwrap();
    Arc::new(Connection::new("PLAINTEXT", SecurityProtocol::Plaintext, peer))
}

/// The answer's bytes without the size, or why the connection is closed.
fn ask(key: i16, version: i16, rest: &[u8]) -> Result<Vec<u8>, String> {
    let mut frame = Vec::new();
    frame.extend_from_slice(&key.to_be_bytes());
    frame.extend_from_slice(&version.to_be_bytes());
    frame.extend_from_slice(&[0, 0, 0, 7]);
    frame.extend_from_slice(rest);
    let Reply::Now(answer) = broker().handle(&connection(), Bytes::from(frame), false) else {
        panic!("an answer that takes time");
    };
    match answer {
        Answer::Send(response) => {
            let [Part::Bytes(bytes)] = response.parts.as_slice() else { panic!("more than one part") };
            let size = u32::from_be_bytes(*bytes.first_chunk().unwrap());
            assert_eq!(size as usize, bytes.len() - 4);
            Ok(bytes[4..].to_vec())
        }
        Answer::Close(reason) => Err(reason.into_owned()),
        Answer::Silent => panic!("no answer"),
    }
}

/// ApiVersions with these strings after an empty client id.
fn versions(version: i16, body: &[u8]) -> Result<Vec<u8>, String> {
    let header: &[u8] = if version >= 3 { &[0, 0, 0] } else { &[0, 0] };
    ask(18, version, &[header, body].concat())
}

fn error(answer: Result<Vec<u8>, String>) -> i16 {
    let answer = answer.unwrap();
    assert_eq!(answer[..4], [0, 0, 0, 7]);
    i16::from_be_bytes([answer[4], answer[5]])
}

#[test]
fn an_unknown_api_versions_version_gets_the_version_0_answer() {
    let expect = [0, 0, 0, 7, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5];
    assert_eq!(ask(18, 99, &[0, 0, 0]), Ok(expect.to_vec()));
    assert_eq!(ask(18, -1, &[]), Ok(expect.to_vec()));
}

#[test]
fn every_api_of_the_table_has_its_handler() {
    for api in versions::all() {
        assert!(is_offered(api.key), "{}", api.name);
    }
}

#[test]
fn unknown_keys_and_versions_close_the_connection() {
    assert_eq!(ask(999, 0, &[0, 0]), Err(String::from("unknown api key 999")));
    assert_eq!(ask(3, 14, &[0, 0]), Err(String::from("version 14 of api key 3 is not served")));
    assert!(ask(18, 3, &[0, 0, 0, 9]).is_err());
}

#[test]
fn every_version_is_answered_in_its_layout() {
    let count = versions::all().iter().filter(|api| is_offered(api.key)).count();
    for version in 0..=2 {
        let answer = versions(version, &[]).unwrap();
        let throttle = if version >= 1 { 4 } else { 0 };
        assert_eq!(answer.len(), 4 + 2 + 4 + 6 * count + throttle, "{version}");
    }
    // Flexible from version 3 on, but without tags in the header.
    for (version, body) in
        [(3, &b"\x02a\x021\0"[..]), (4, b"\x02a\x021\0"), (5, b"\x02a\x021\0\xff\xff\xff\xff\0")]
    {
        let answer = versions(version, body).unwrap();
        assert_eq!(answer[4..7], [0, 0, u8::try_from(count + 1).unwrap()], "{version}");
    }
}

#[test]
fn clients_are_checked_as_kafka_checks_them() {
    let invalid = ErrorCode::InvalidRequest.code();
    for name in [&b"\x01"[..], b"\x02-", b"\x03a-", b"\x04a b", b"\x04a_b"] {
        assert_eq!(error(versions(3, &[name, b"\x021\0"].concat())), invalid, "{name:?}");
        assert_eq!(error(versions(3, &[b"\x021", name, b"\0"].concat())), invalid, "{name:?}");
    }
    assert_eq!(error(versions(3, b"\x0ajava.c-11\x021\0")), 0);
    // KIP-1242: cluster and node come together, and must be ours.
    assert_eq!(error(versions(5, b"\x02a\x021\0\0\0\0\x01\0")), invalid);
    assert_eq!(error(versions(5, b"\x02a\x021\x08cluster\xff\xff\xff\xff\0")), invalid);
    assert_eq!(error(versions(5, b"\x02a\x021\x08cluster\0\0\0\x01\0")), 0);
    let elsewhere = ErrorCode::RebootstrapRequired.code();
    assert_eq!(error(versions(5, b"\x02a\x021\x08cluster\0\0\0\x02\0")), elsewhere);
    assert_eq!(error(versions(5, b"\x02a\x021\x06other\0\0\0\x01\0")), elsewhere);
}

#[test]
fn the_client_is_remembered() {
    let (broker, connection) = (broker(), connection());
    let frame = Bytes::from_static(b"\0\x12\0\x03\0\0\0\x07\0\0\0\x05rust\x031a\0");
    assert!(matches!(broker.handle(&connection, frame, false), Reply::Now(Answer::Send(_))));
    let software = connection.software().unwrap();
    assert_eq!((software.name.as_str(), software.version.as_str()), ("rust", "1a"));
}
