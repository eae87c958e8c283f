//! Who may commit and read offsets of a consumer group (`ConsumerGroup.validateOffsetCommit` and `validateOffsetFetch`).

use crate::base::ErrorCode;
use crate::groups::command::Commit;
use crate::groups::command::Fetch;
use crate::groups::consumer::group::Group;
use crate::groups::consumer::member::Member;

/// Whether this commit may be stored.
pub(crate) fn validate_commit(group: &Group, request: &Commit) -> Result<(), ErrorCode> {
    // An administrator, or a consumer that assigns itself: only where nobody else reads.
    if request.generation < 0 && group.size() == 0 {
        return Ok(());
    }
    let member = group.member(&request.member_id).ok_or(ErrorCode::UnknownMemberId)?;
    let in_transaction = request.transaction.is_some();
    // STALE_MEMBER_EPOCH came with the version that tells of unknown groups.
    if !in_transaction && !member.is_classic() && !request.knows_group_id_not_found {
        return Err(ErrorCode::UnsupportedVersion);
    }
    match validate_epoch(member, request.generation) {
        Err(ErrorCode::StaleMemberEpoch) if in_transaction => Err(ErrorCode::IllegalGeneration),
        other => other,
    }
}

/// Whether these offsets may be read.
pub(crate) fn validate_fetch(group: &Group, request: &Fetch) -> Result<(), ErrorCode> {
    let Some(id) = &request.member_id else {
        return if request.member_epoch < 0 { Ok(()) } else { Err(ErrorCode::UnknownMemberId) };
    };
    let member = group.member(id).ok_or(ErrorCode::UnknownMemberId)?;
    validate_epoch(member, request.member_epoch)
}

fn validate_epoch(member: &Member, epoch: i32) -> Result<(), ErrorCode> {
    match epoch == member.epoch {
        true => Ok(()),
        false if member.is_classic() => Err(ErrorCode::IllegalGeneration),
        false => Err(ErrorCode::StaleMemberEpoch),
    }
}
