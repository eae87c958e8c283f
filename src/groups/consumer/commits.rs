//! Who may commit and read offsets of a consumer group (`ConsumerGroup.validateOffsetCommit` and `validateOffsetFetch`).

use crate::base::ErrorCode;
use crate::cluster::Image;
use crate::groups::command::Commit;
use crate::groups::command::Fetch;
use crate::groups::consumer::group::Group;
use crate::groups::consumer::member::Member;
use crate::groups::offsets;

/// Whether this commit may be stored. A member whose epoch has grown since may still commit what it has had since the
/// epoch it brings (KIP-1251): so an answer that was lost costs nothing, and one that lost its partitions is late.
pub(crate) fn validate_commit(
    group: &Group,
    request: &Commit,
    image: &Image,
    metadata_max: usize,
) -> Result<(), ErrorCode> {
    // An administrator, or a consumer that assigns itself: only where nobody else reads.
    if request.generation < 0 && group.size() == 0 {
        return Ok(());
    }
    let in_transaction = request.transaction.is_some();
    let anonymous = request.member_id.is_empty() && request.instance_id.is_none();
    if in_transaction && request.generation == -1 && anonymous {
        return Ok(());
    }
    let member = group.member(&request.member_id).ok_or(ErrorCode::UnknownMemberId)?;
    // STALE_MEMBER_EPOCH came with the version that tells of unknown groups.
    if !in_transaction && !member.is_classic() && !request.knows_group_id_not_found {
        return Err(ErrorCode::UnsupportedVersion);
    }
    let is_late = match request.generation {
        epoch if epoch == member.epoch => false,
        epoch if epoch > member.epoch => true,
        epoch => !had_since(member, request, epoch, (image, metadata_max)),
    };
    match is_late {
        false => Ok(()),
        true if in_transaction && !request.knows_group_id_not_found => Err(ErrorCode::IllegalGeneration),
        true => Err(late(member)),
    }
}

/// Whether the member has had all the partitions whose offsets can be stored since this epoch, or since before.
fn had_since(member: &Member, request: &Commit, epoch: i32, (image, metadata_max): (&Image, usize)) -> bool {
    offsets::storable(request, metadata_max).all(|(topic, partition)| {
        let by_name = || image.topic(&topic.name).map(|known| known.id);
        let id = if topic.id.is_zero() { by_name() } else { Some(topic.id) };
        let since = id.and_then(|id| member.partition_epoch(id, partition.partition));
        since.is_some_and(|since| since <= epoch)
    })
}

/// Whether these offsets may be read.
pub(crate) fn validate_fetch(group: &Group, request: &Fetch) -> Result<(), ErrorCode> {
    let Some(id) = &request.member_id else {
        return if request.member_epoch < 0 { Ok(()) } else { Err(ErrorCode::UnknownMemberId) };
    };
    let member = group.member(id).ok_or(ErrorCode::UnknownMemberId)?;
    if request.member_epoch == member.epoch { Ok(()) } else { Err(late(member)) }
}

fn late(member: &Member) -> ErrorCode {
    if member.is_classic() { ErrorCode::IllegalGeneration } else { ErrorCode::StaleMemberEpoch }
}
