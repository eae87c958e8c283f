//! TxnOffsetCommit 0 to 6; version 6 names topics by id (KIP-1319).

use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::supplement::offset_commit::Topic;
use crate::protocol::supplement::offset_commit::TopicAnswer;
use crate::protocol::supplement::offset_commit::topics;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// The first version that names topics by id.
pub const TOPIC_IDS_FROM: i16 = 6;

/// What to commit when a transaction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The transactional id.
    pub transactional_id: StrBytes,
    /// The group.
    pub group_id: StrBytes,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The classic group's generation or the consumer group's member epoch (version 3 on); -1 from outside a group.
    pub generation_id_or_member_epoch: i32,
    /// The member, empty from outside a group.
    pub member_id: StrBytes,
    /// The static member's name.
    pub group_instance_id: Option<StrBytes>,
    /// The offsets by topic.
    pub topics: Vec<Topic>,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no TxnOffsetCommit request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let version = header.api_version;
    let mut reader = codec::reader(header, body)?;
    let of_member = version >= 3;
    let mut request = Request {
        transactional_id: reader.string("TransactionalId")?,
        group_id: reader.string("GroupId")?,
        producer_id: reader.i64("ProducerId")?,
        producer_epoch: reader.i16("ProducerEpoch")?,
        generation_id_or_member_epoch: if of_member { reader.i32("GenerationIdOrMemberEpoch")? } else { -1 },
        member_id: if of_member { reader.string("MemberId")? } else { StrBytes::new() },
        group_instance_id: if of_member { reader.nullable_string("GroupInstanceId")? } else { None },
        topics: Vec::new(),
    };
    request.topics = topics(&mut reader, header.flexible(), (version >= TOPIC_IDS_FROM, version >= 2))?;
    reader.skip_tags()?;
    Ok(request)
}

/// Encodes an answer: one entry for each topic of the request.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, topics: &[TopicAnswer]) -> Result<Response, Error> {
    let mut writer = Writer::response(header, 64);
    writer.i32(0);
    writer.count(topics.len());
    for topic in topics {
        if header.api_version >= TOPIC_IDS_FROM {
            writer.topic_id(topic.id)
        } else {
            writer.string(&topic.name)
        }
        writer.count(topic.partitions.len());
        for (index, error) in &topic.partitions {
            writer.i32(*index);
            writer.i16(error.code());
            writer.no_tags();
        }
        writer.no_tags();
    }
    writer.no_tags();
    writer.finish()
}
