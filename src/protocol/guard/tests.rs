//! The guard against the decoders it stands before: what they write it accepts, what is cut or claimed it refuses.

use super::*;
use crate::protocol::RequestHeader;
use crate::protocol::fetch;
use crate::protocol::produce;
use crate::protocol::sample;
use crate::protocol::share_fetch;
use crate::protocol::supplement;
use bytes::Bytes;
use bytes::BytesMut;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::messages::RequestKind;
use proptest::prelude::*;

/// The version whose layout the crate has; `None` where only our own codecs read it.
fn in_crate(key: i16, version: i16) -> Option<i16> {
    let max = match key {
        // The crate names these versions without being able to read them.
        versions::OFFSET_COMMIT | versions::OFFSET_FETCH => 9,
        _ => ApiKey::try_from(key).ok()?.valid_versions().max,
    };
    let layout = if key == versions::LIST_OFFSETS { version.min(10) } else { version };
    (layout <= max).then_some(layout)
}

fn decode_by_crate(key: i16, version: i16, body: &Bytes) -> Result<(RequestKind, usize), String> {
    let mut rest = body.clone();
    let request = RequestKind::decode(ApiKey::try_from(key).unwrap(), &mut rest, version);
    request.map(|request| (request, rest.len())).map_err(|error| format!("{error:#}"))
}

/// Runs our own codec, where there is one.
fn decode_by_own(header: &RequestHeader, body: Bytes) -> Option<Result<(), Error>> {
    Some(match header.api_key {
        versions::PRODUCE => produce::decode(header, body).map(drop),
        versions::FETCH => fetch::decode(header, body).map(drop),
        versions::API_VERSIONS => supplement::api_versions::decode(header, body).map(drop),
        versions::OFFSET_COMMIT => supplement::offset_commit::decode(header, body).map(drop),
        versions::OFFSET_FETCH => supplement::offset_fetch::decode(header, body).map(drop),
        versions::DESCRIBE_LOG_DIRS => supplement::describe_log_dirs::decode(header, body).map(drop),
        versions::DELETE_GROUPS => supplement::delete_groups::decode(header, body).map(drop),
        versions::WRITE_TXN_MARKERS => supplement::write_txn_markers::decode(header, body).map(drop),
        versions::TXN_OFFSET_COMMIT => supplement::txn_offset_commit::decode(header, body).map(drop),
        versions::SHARE_FETCH => share_fetch::decode(header, body).map(drop),
        versions::SHARE_ACKNOWLEDGE => supplement::share_acknowledge::decode(header, body).map(drop),
        versions::WRITE_SHARE_GROUP_STATE => supplement::share_state::decode_write(header, body).map(drop),
        versions::READ_SHARE_GROUP_STATE_SUMMARY => {
            supplement::share_state::decode_summarize(header, body).map(drop)
        }
        versions::DESCRIBE_SHARE_GROUP_OFFSETS => supplement::share_offsets::decode(header, body).map(drop),
        versions::STREAMS_GROUP_HEARTBEAT => {
            supplement::streams_group_heartbeat::decode(header, body).map(drop)
        }
        versions::STREAMS_GROUP_DESCRIBE => {
            supplement::streams_group_describe::decode(header, body).map(drop)
        }
        versions::STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE => {
            supplement::streams_group_topology_description_update::decode(header, body).map(drop)
        }
        _ => return None,
    })
}

fn header(api_key: i16, api_version: i16) -> RequestHeader {
    RequestHeader { api_key, api_version, correlation_id: 0, client_id: None }
}

fn every_version() -> impl Iterator<Item = (i16, i16)> {
    versions::all().iter().flat_map(|api| (api.min..=api.max).map(|version| (api.key, version)))
}

#[test]
fn the_schemas_are_those_of_the_decoders() {
    for (key, version) in every_version() {
        for seed in 0..50 {
            let body = sample::request(key, version, seed).unwrap();
            assert_eq!(check(key, version, &body), Ok(()), "{key} {version} {seed}");
            let own = decode_by_own(&header(key, version), body.clone());
            assert!(!matches!(own, Some(Err(_))), "{key} {version} {seed}: {own:?}");
            let Some(layout) = in_crate(key, version) else {
                assert!(own.is_some(), "{key} {version} has a decoder");
                continue;
            };
            let (request, left) = decode_by_crate(key, layout, &body).unwrap();
            assert_eq!(left, 0, "{key} {version} {seed}");
            let mut again = BytesMut::new();
            request.encode(&mut again, layout).unwrap();
            assert_eq!(again.freeze(), body, "{key} {version} {seed}");
        }
    }
}

#[test]
fn no_prefix_of_a_request_is_a_request() {
    for (key, version) in every_version() {
        let body = sample::request(key, version, 3).unwrap();
        for length in 0..body.len() {
            assert!(check(key, version, &body[..length]).is_err(), "{key} {version} cut at {length}");
        }
    }
}

#[test]
fn claims_without_bytes_are_refused() {
    let count = [0x7f, 0xff, 0xff, 0xff];
    // Metadata 1: the array count alone, as in the report that aborted a process.
    let what = "count larger than the bytes that are left";
    assert_eq!(check(3, 1, &count), Err(Error::Malformed { field: "Topics", what }));
    // Metadata 9: the same as a varint.
    assert!(check(3, 9, &[0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    // A varint without end, and one of six bytes.
    assert!(check(3, 9, &[0xff; 20]).is_err());
    assert!(check(3, 9, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x01]).is_err());
    // Two billion tags, and a tag of two gigabytes.
    assert!(check(60, 0, &[0, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    assert!(check(60, 0, &[0, 1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    // A negative count other than null, and null where none is allowed: DeleteGroups.
    assert!(check(42, 0, &[0xff, 0xff, 0xff, 0xfe]).is_err());
    assert!(check(42, 0, &[0xff, 0xff, 0xff, 0xff]).is_err());
    assert!(check(42, 0, &[0, 0, 0, 0]).is_ok());
    // Bytes behind the request are ignored, as Kafka ignores them.
    assert!(check(42, 0, &[0, 0, 0, 0, 1, 2, 3]).is_ok());
}

#[test]
fn many_small_elements_do_not_blow_up() {
    // DeleteGroups 2 with a million empty names: a million bytes would become 32 MB.
    let mut body = vec![0x81, 0x89, 0x7a];
    body.extend(std::iter::repeat_n(1u8, 2_000_000));
    body[0..3].copy_from_slice(&[0xc1, 0x84, 0x3d]);
    body.push(0);
    assert!(matches!(check(42, 2, &body), Err(Error::TooLarge { .. })));
    // The same holds for tags nobody knows.
    let mut body = vec![0, 0xa0, 0x8d, 0x06];
    for _ in 0..100_000 {
        body.extend_from_slice(&[9, 0]);
    }
    assert!(matches!(check(60, 0, &body), Err(Error::TooLarge { .. })));
    // Thirty thousand topics of ordinary names are an ordinary request: Metadata 4.
    let mut body = 30_000u32.to_be_bytes().to_vec();
    for number in 0..30_000 {
        body.extend_from_slice(&[0, 9]);
        body.extend_from_slice(format!("to-{number:06}").as_bytes());
    }
    body.push(1);
    assert_eq!(check(3, 4, &body), Ok(()));
}

#[test]
fn a_known_tag_below_its_version_is_refused_as_kafka_refuses_it() {
    // Fetch 16 with ReplicaDirectoryId (known from 17 on) of a wrong size, and ReplicaState (15) on version 12.
    for version in [12, 16] {
        let mut body = Vec::new();
        if version < 15 {
            body.extend_from_slice(&[255, 255, 255, 255]);
        }
        body.extend_from_slice(&[0; 12]);
        body.extend_from_slice(&[0; 9]);
        body.push(2);
        if version >= 13 {
            body.extend_from_slice(&[7; 16])
        } else {
            body.extend_from_slice(&[2, b't'])
        }
        body.push(2);
        body.extend_from_slice(&[0; 32]);
        body.extend_from_slice(&[1, 0, 2, 9, 9]); // partition: tag 0 with two bytes
        body.push(0);
        body.push(1); // nothing forgotten
        body.push(1); // no rack
        if version < 15 {
            body.extend_from_slice(&[1, 1, 3, 9, 9, 9])
        } else {
            body.push(0)
        }
        let refused = check(1, version, &body).unwrap_err().to_string();
        assert!(refused.contains("tagged field of another version"), "{version}: {refused}");
        assert!(fetch::decode(&header(1, version), Bytes::from(body)).is_err());
    }
}

#[test]
fn a_struct_that_may_be_null_has_one_of_two_markers() {
    let request = |marker: u8| [1, 0, 0, 0, 1, marker, 0];
    assert_eq!(check(75, 0, &request(0xff)), Ok(()));
    for marker in [0, 2, 0x7f] {
        let refused = check(75, 0, &request(marker)).unwrap_err().to_string();
        assert!(refused.contains("neither a struct nor null"), "{marker}: {refused}");
    }
}

#[test]
fn strings_that_are_no_utf_8_are_mended_as_java_mends_them() {
    let mended = |key, version, body: &'static [u8]| checked(key, version, Bytes::from_static(body)).unwrap();
    // DeleteGroups 0 and 2: a whole string between two broken ones.
    let plain = mended(42, 0, b"\0\0\0\x03\0\x03a\xffb\0\x01c\0\x02\xc3\xa9\0\x01\xc3");
    assert_eq!(plain, b"\0\0\0\x03\0\x05a\xef\xbf\xbdb\0\x01c\0\x02\xc3\xa9\0\x01\xc3"[..]);
    let compact = mended(42, 2, b"\x04\x04a\xffb\x02c\x02\xc3\0");
    assert_eq!(compact, b"\x04\x06a\xef\xbf\xbdb\x02c\x04\xef\xbf\xbd\0"[..]);
    // Our own codecs mend while they read.
    let groups = supplement::delete_groups::decode(&header(42, 2), Bytes::from_static(b"\x02\x04a\xffb\0"));
    assert_eq!(groups.unwrap().first().unwrap().as_str(), "a\u{fffd}b");
    // Nothing is copied where nothing is broken.
    let whole = Bytes::from_static(b"\x02\x02a\0");
    assert_eq!(checked(42, 2, whole.clone()).unwrap().as_ptr(), whole.as_ptr());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Whatever is done to a request, nobody panics, and what the guard accepts does not make a decoder fail for
    /// want of bytes.
    #[test]
    fn changed_requests_never_panic(
        which in 0usize..1000, seed: u64, edits in prop::collection::vec((any::<u32>(), any::<u8>()), 1..6),
    ) {
        let all: Vec<(i16, i16)> = every_version().collect();
        let (key, version) = all[which % all.len()];
        let mut body = sample::request(key, version, seed).unwrap().to_vec();
        for (place, value) in edits {
            if !body.is_empty() {
                let place = place as usize % body.len();
                body[place] = value;
            }
        }
        let body = Bytes::from(body);
        let own = decode_by_own(&header(key, version), body.clone());
        if let Some(own) = own {
            // What stands in a tagged field may differ in version, never in being readable.
            prop_assert_eq!(own.is_ok(), check(key, version, &body).is_ok());
        } else if let Ok(mended) = checked(key, version, body)
            && let Some(layout) = in_crate(key, version)
        {
            let decoded = decode_by_crate(key, layout, &mended);
            prop_assert!(decoded.is_ok(), "{key} {version}: {decoded:?}");
        }
    }
}
