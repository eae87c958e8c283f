//! No frame makes a decoder reserve memory that its bytes do not back: decoders run under an allocator that keeps the
//! high-water mark, over frames with changed bytes and with huge counts written at every place.

#![allow(unsafe_code, reason = "an allocator that counts has to implement an unsafe trait")]
#![allow(clippy::unwrap_used, reason = "a test")]

use bytes::Bytes;
use dohle::protocol::RequestHeader;
use dohle::protocol::fetch;
use dohle::protocol::guard;
use dohle::protocol::produce;
use dohle::protocol::sample;
use dohle::protocol::supplement;
use dohle::protocol::versions;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::messages::RequestKind;
use std::alloc::GlobalAlloc;
use std::alloc::Layout;
use std::alloc::System;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator; only sizes are counted beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the decoders may need beside the decoded form: an error's words, an index while reading.
const MARGIN: usize = 64 * 1024;

/// Runs the decoders of the broker's way over a body; says whether the guard let it through.
fn decode(key: i16, version: i16, body: &Bytes) -> bool {
    let header = RequestHeader { api_key: key, api_version: version, correlation_id: 0, client_id: None };
    let body_for_own = body.clone();
    match key {
        versions::PRODUCE => return produce::decode(&header, body_for_own).is_ok(),
        versions::FETCH => return fetch::decode(&header, body_for_own).is_ok(),
        versions::OFFSET_COMMIT => {
            return supplement::offset_commit::decode(&header, body_for_own).is_ok();
        }
        versions::OFFSET_FETCH => return supplement::offset_fetch::decode(&header, body_for_own).is_ok(),
        versions::API_VERSIONS => return supplement::api_versions::decode(&header, body_for_own).is_ok(),
        versions::DESCRIBE_LOG_DIRS => {
            return supplement::describe_log_dirs::decode(&header, body_for_own).is_ok();
        }
        versions::DELETE_GROUPS => return supplement::delete_groups::decode(&header, body_for_own).is_ok(),
        versions::WRITE_TXN_MARKERS => {
            return supplement::write_txn_markers::decode(&header, body_for_own).is_ok();
        }
        versions::TXN_OFFSET_COMMIT => {
            return supplement::txn_offset_commit::decode(&header, body_for_own).is_ok();
        }
        versions::STREAMS_GROUP_HEARTBEAT => {
            return supplement::streams_group_heartbeat::decode(&header, body_for_own).is_ok();
        }
        versions::STREAMS_GROUP_DESCRIBE => {
            return supplement::streams_group_describe::decode(&header, body_for_own).is_ok();
        }
        versions::STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE => {
            return supplement::streams_group_topology_description_update::decode(&header, body_for_own)
                .is_ok();
        }
        _ => {}
    }
    let layout = if key == versions::LIST_OFFSETS { version.min(10) } else { version };
    let accepted = guard::check(key, version, body).is_ok();
    if accepted {
        let decoded = RequestKind::decode(ApiKey::try_from(key).unwrap(), &mut body.clone(), layout);
        drop(decoded);
    }
    accepted
}

/// Decodes and compares the memory it took with what the guard promises.
fn within_budget(key: i16, version: i16, body: Vec<u8>) -> bool {
    let body = Bytes::from(body);
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let accepted = decode(key, version, &body);
    let taken = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    let budget = body.len() * guard::DECODED_RATIO + guard::DECODED_SLACK + MARGIN;
    assert!(taken <= budget, "api {key} version {version}: {taken} bytes for {} bytes", body.len());
    accepted
}

/// DeleteGroups 2 with so many empty names: the request that grows most when decoded.
fn many_empty_names(count: u32) -> Vec<u8> {
    let mut body = Vec::new();
    let mut left = count + 1;
    while left > 0x7f {
        body.push(u8::try_from(left & 0x7f).unwrap() | 0x80);
        left >>= 7;
    }
    body.push(u8::try_from(left).unwrap());
    body.extend(std::iter::repeat_n(1, count as usize));
    body.push(0);
    body
}

/// DeleteAcls 2 with so many filters, each with one tag that nobody knows: a map for each when decoded.
fn many_unknown_tags(count: u16) -> Vec<u8> {
    let [low, middle, high] =
        [count & 0x7f, (count >> 7) & 0x7f, count >> 14].map(|group| u8::try_from(group).unwrap());
    let mut body = vec![low | 0x80, middle | 0x80, high];
    for _ in 1..count {
        body.extend_from_slice(&[3, 0, 3, 0, 0, 1, 1, 1, 5, 0]);
    }
    body.push(0);
    body
}

#[test]
fn decoders_stay_within_the_guards_budget() {
    let mut accepted = 0;
    let mut refused = 0;
    let mut count = |accept: bool| if accept { accepted += 1 } else { refused += 1 };
    for api in versions::all() {
        for version in api.min..=api.max {
            for seed in 0..8 {
                let body = sample::request(api.key, version, seed).unwrap().to_vec();
                assert!(within_budget(api.key, version, body.clone()));
                for place in 0..body.len() {
                    for claim in
                        [&[0x7f, 0xff, 0xff, 0xff][..], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0, 1, 0, 0], &[3]]
                    {
                        let mut changed = body.clone();
                        let end = (place + claim.len()).min(changed.len());
                        changed[place..end].copy_from_slice(&claim[..end - place]);
                        count(within_budget(api.key, version, changed));
                    }
                }
            }
        }
    }
    assert!(accepted > 1000 && refused > 1000, "both ways were taken: {accepted} {refused}");
    assert!(within_budget(versions::DELETE_GROUPS, 2, many_empty_names(30_000)));
    assert!(!within_budget(versions::DELETE_GROUPS, 2, many_empty_names(10_000_000)));
    assert!(within_budget(versions::DELETE_ACLS, 2, many_unknown_tags(1500)));
    assert!(!within_budget(versions::DELETE_ACLS, 2, many_unknown_tags(30_000)));
}
