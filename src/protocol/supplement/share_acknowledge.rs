//! ShareAcknowledge 1 and 2; version 2 renews locks (KIP-1222).

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::produce::LeaderIdAndEpoch;
use crate::protocol::produce::NodeEndpoint;
use crate::protocol::response::Response;
use crate::protocol::share_fetch;
use crate::protocol::share_fetch::RENEW_FROM;
use crate::protocol::share_fetch::Topic;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// A ShareAcknowledge request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The group.
    pub group_id: Option<StrBytes>,
    /// The member.
    pub member_id: Option<StrBytes>,
    /// The session's step: -1 closes it.
    pub session_epoch: i32,
    /// Whether there are renewals among the acknowledgements (version 2 on).
    pub is_renew: bool,
    /// What the client is done with.
    pub topics: Vec<Topic>,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no ShareAcknowledge request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let mut reader = codec::reader(header, body)?;
    let request = Request {
        group_id: reader.nullable_string("GroupId")?,
        member_id: reader.nullable_string("MemberId")?,
        session_epoch: reader.i32("ShareSessionEpoch")?,
        is_renew: header.api_version >= RENEW_FROM && reader.bool("IsRenewAck")?,
        topics: share_fetch::topics(&mut reader)?,
    };
    reader.skip_tags()?;
    Ok(request)
}

/// A ShareAcknowledge answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// An error of the whole request.
    pub error: ErrorCode,
    /// Its words.
    pub error_message: Option<String>,
    /// How long records stay acquired, in milliseconds (version 2 on).
    pub lock_timeout_ms: i32,
    /// By topic: what happened to each partition's acknowledgements.
    pub topics: Vec<(TopicId, Vec<PartitionAnswer>)>,
    /// Where the leaders listen that the answer names.
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// What happened to one partition's acknowledgements.
#[derive(Clone, Debug)]
pub struct PartitionAnswer {
    /// Its number.
    pub index: i32,
    /// What happened.
    pub error: ErrorCode,
    /// Its words.
    pub error_message: Option<String>,
    /// Who leads now, where that is not this broker.
    pub current_leader: Option<LeaderIdAndEpoch>,
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, answer: &Answer) -> Result<Response, Error> {
    let mut writer = Writer::response(header, 64);
    writer.i32(0);
    writer.i16(answer.error.code());
    writer.nullable_string(answer.error_message.as_deref());
    if header.api_version >= RENEW_FROM {
        writer.i32(answer.lock_timeout_ms);
    }
    writer.count(answer.topics.len());
    for (id, partitions) in &answer.topics {
        writer.topic_id(*id);
        writer.count(partitions.len());
        for partition in partitions {
            writer.i32(partition.index);
            writer.i16(partition.error.code());
            writer.nullable_string(partition.error_message.as_deref());
            share_fetch::encode_leader(&mut writer, partition.current_leader);
            writer.no_tags();
        }
        writer.no_tags();
    }
    share_fetch::encode_endpoints(&mut writer, &answer.node_endpoints);
    writer.no_tags();
    writer.finish()
}
