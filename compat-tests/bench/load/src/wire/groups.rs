//! Requests of group members: the classic protocol in its old form, and the consumer protocol (KIP-848).

use crate::args::Result;
use crate::bytes::{In, Out};
use crate::wire::{finish, flexible_body, start};

const JOIN_GROUP: (i16, i16) = (11, 2);
const HEARTBEAT: (i16, i16) = (12, 1);
const LEAVE_GROUP: (i16, i16) = (13, 1);
const SYNC_GROUP: (i16, i16) = (14, 1);
const FIND_COORDINATOR: (i16, i16) = (10, 1);
const CONSUMER_GROUP_HEARTBEAT: (i16, i16) = (68, 1);
const SESSION_MS: i32 = 45_000;
const REBALANCE_MS: i32 = 60_000;

/// Asks for the coordinator, which makes the topic that keeps groups.
pub fn find_coordinator(group: &str) -> Vec<u8> {
    let mut out = start(FIND_COORDINATOR, false);
    old_text(&mut out, group);
    out.i8(0);
    finish(out)
}

/// The error code of any answer of the older form that begins with a throttle time.
pub fn error(answer: &[u8]) -> Result<i16> {
    let mut body = old_body(answer)?;
    body.i16()
}

pub fn join(group: &str, member: &str, topic: &str) -> Vec<u8> {
    let mut subscription = Out::default();
    subscription.i16(0);
    subscription.i32(1);
    old_text(&mut subscription, topic);
    subscription.i32(-1);
    let mut out = start(JOIN_GROUP, false);
    old_text(&mut out, group);
    out.i32(SESSION_MS);
    out.i32(REBALANCE_MS);
    old_text(&mut out, member);
    old_text(&mut out, "consumer");
    out.i32(1);
    old_text(&mut out, "range");
    old_bytes(&mut out, &subscription.0);
    finish(out)
}

/// What a JoinGroup answer says.
pub struct Joined {
    pub error: i16,
    pub generation: i32,
    pub member: String,
    /// All members, for the leader.
    pub members: Vec<String>,
}

pub fn joined(answer: &[u8]) -> Result<Joined> {
    let mut body = old_body(answer)?;
    let error = body.i16()?;
    let generation = body.i32()?;
    body.old_text()?;
    body.old_text()?;
    let member = text(body.old_text()?)?;
    let mut members = Vec::new();
    for _ in 0..body.i32()?.max(0) {
        members.push(text(body.old_text()?)?);
        let size = body.i32()?.max(0) as usize;
        body.take(size)?;
    }
    Ok(Joined { error, generation, member, members })
}

/// A SyncGroup request; `members` of the leader share the partitions of the topic in turn.
pub fn sync(group: &str, joined: &Joined, topic: &str, partitions: usize) -> Vec<u8> {
    let mut out = start(SYNC_GROUP, false);
    old_text(&mut out, group);
    out.i32(joined.generation);
    old_text(&mut out, &joined.member);
    out.i32(joined.members.len() as i32);
    for (number, member) in joined.members.iter().enumerate() {
        let mine: Vec<usize> = (number..partitions).step_by(joined.members.len()).collect();
        let mut assignment = Out::default();
        assignment.i16(0);
        assignment.i32(1);
        old_text(&mut assignment, topic);
        assignment.i32(mine.len() as i32);
        mine.iter().for_each(|partition| assignment.i32(*partition as i32));
        assignment.i32(-1);
        old_text(&mut out, member);
        old_bytes(&mut out, &assignment.0);
    }
    finish(out)
}

/// The error code of a SyncGroup answer, and how many partitions it gives.
pub fn synced(answer: &[u8]) -> Result<(i16, usize)> {
    let mut body = old_body(answer)?;
    let error = body.i16()?;
    let size = body.i32()?.max(0) as usize;
    let mut assignment = In(body.take(size)?);
    if error != 0 || size == 0 {
        return Ok((error, 0));
    }
    assignment.i16()?;
    let mut count = 0;
    for _ in 0..assignment.i32()? {
        assignment.old_text()?;
        let partitions = assignment.i32()?.max(0) as usize;
        assignment.take(4 * partitions)?;
        count += partitions;
    }
    Ok((error, count))
}

pub fn heartbeat(group: &str, generation: i32, member: &str) -> Vec<u8> {
    let mut out = start(HEARTBEAT, false);
    old_text(&mut out, group);
    out.i32(generation);
    old_text(&mut out, member);
    finish(out)
}

pub fn leave(group: &str, member: &str) -> Vec<u8> {
    let mut out = start(LEAVE_GROUP, false);
    old_text(&mut out, group);
    old_text(&mut out, member);
    finish(out)
}

/// Partitions of one topic by its id.
pub type Owned = Vec<([u8; 16], Vec<i32>)>;

/// A ConsumerGroupHeartbeat request: to join with epoch 0 and the topic, to leave with -1; `owned` when it changed.
pub fn consumer_heartbeat(
    group: &str,
    member: &str,
    epoch: i32,
    topic: &str,
    owned: Option<&Owned>,
) -> Vec<u8> {
    let mut out = start(CONSUMER_GROUP_HEARTBEAT, true);
    out.text(group);
    out.text(member);
    out.i32(epoch);
    out.uvarint(0);
    out.uvarint(0);
    out.i32(if epoch == 0 { REBALANCE_MS } else { -1 });
    if epoch == 0 {
        out.count(1);
        out.text(topic);
    } else {
        out.uvarint(0);
    }
    out.uvarint(0);
    out.uvarint(0);
    match owned {
        None => out.uvarint(0),
        Some(owned) => {
            out.count(owned.len());
            for (id, partitions) in owned {
                out.0.extend_from_slice(id);
                out.count(partitions.len());
                partitions.iter().for_each(|partition| out.i32(*partition));
                out.no_tags();
            }
        }
    }
    out.no_tags();
    finish(out)
}

/// What a ConsumerGroupHeartbeat answer says.
pub struct Beaten {
    pub error: i16,
    pub epoch: i32,
    pub assigned: Option<Owned>,
}

pub fn consumer_beaten(answer: &[u8]) -> Result<Beaten> {
    let mut body = flexible_body(answer)?;
    body.i32()?;
    let error = body.i16()?;
    body.text()?;
    body.text()?;
    let epoch = body.i32()?;
    body.i32()?;
    if body.i8()? < 0 {
        return Ok(Beaten { error, epoch, assigned: None });
    }
    let mut assigned = Owned::new();
    for _ in 0..body.count()? {
        let id = body.take(16)?.try_into()?;
        let partitions = (0..body.count()?).map(|_| body.i32()).collect::<Result<_>>()?;
        body.tags()?;
        assigned.push((id, partitions));
    }
    Ok(Beaten { error, epoch, assigned: Some(assigned) })
}

fn old_body(answer: &[u8]) -> Result<In<'_>> {
    let mut body = In(answer);
    body.i32()?;
    body.i32()?;
    Ok(body)
}

fn old_text(out: &mut Out, text: &str) {
    out.i16(text.len() as i16);
    out.0.extend_from_slice(text.as_bytes());
}

fn old_bytes(out: &mut Out, bytes: &[u8]) {
    out.i32(bytes.len() as i32);
    out.0.extend_from_slice(bytes);
}

fn text(bytes: &[u8]) -> Result<String> {
    Ok(std::str::from_utf8(bytes)?.to_owned())
}
