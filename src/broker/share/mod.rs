//! The APIs of share groups: from wire types to the verbs of [`crate::share::Service`] and [`crate::groups::Service`].

mod acknowledgements;
pub(crate) mod alter_offsets;
pub(crate) mod coordination;
pub(crate) mod describe_offsets;
pub(crate) mod group_state;
pub(crate) mod share_acknowledge;
pub(crate) mod share_fetch;
pub(crate) mod share_group_describe;
pub(crate) mod share_group_heartbeat;

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::errors::Refused;
use crate::share::Failure;
use crate::share::sessions::Member;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;

/// The longest member id, in UTF-16 units as Kafka counts: that of an id in its text form.
const MEMBER_ID_MAX: usize = 36;

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused { code: failure.code, message: failure.message.map(str::to_owned) }
    }
}

/// Who fetches or acknowledges.
///
/// # Errors
/// UNSUPPORTED_VERSION where the cluster has no share groups; INVALID_REQUEST for ids that cannot be.
fn member_of(
    broker: &Broker,
    group: Option<&StrBytes>,
    member: Option<&StrBytes>,
) -> Result<Member, Refused> {
    if !broker.share.is_enabled() {
        return Err(ErrorCode::UnsupportedVersion.into());
    }
    let refuse = |message: &str| Refused::new(ErrorCode::InvalidRequest, message);
    let group = group.ok_or_else(|| refuse("Invalid group id in the request."))?;
    let member = member.filter(|member| is_member_id(member));
    let member = member.ok_or_else(|| refuse("Invalid member id in the request."))?;
    Ok(Member { group: Arc::from(group.as_str()), id: Arc::from(member.as_str()) })
}

/// Whether a member can be called so (`KafkaApis.isMemberIdValid`).
fn is_member_id(text: &str) -> bool {
    !text.is_empty() && text.encode_utf16().count() <= MEMBER_ID_MAX
}
