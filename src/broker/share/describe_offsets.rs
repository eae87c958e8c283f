//! DescribeShareGroupOffsets 0 and 1: where share groups stand in partitions, and how far behind (KIP-1226).

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::broker::share::coordination;
use crate::cluster::Image;
use crate::groups::share::command::Answer;
use crate::groups::share::command::Command;
use crate::protocol::Response;
use crate::protocol::supplement::share_offsets;
use crate::protocol::supplement::share_offsets::Group;
use crate::protocol::supplement::share_offsets::GroupAnswer;
use crate::protocol::supplement::share_offsets::PartitionAnswer;
use crate::protocol::supplement::share_offsets::TopicAnswer;
use crate::share::Key;
use bytes::Bytes;
use std::sync::Arc;

/// Answers a DescribeShareGroupOffsets request.
pub(crate) async fn handle(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request = share_offsets::decode(&context.header, body)?;
    crowd::check_names(request.len())?;
    let partitions = request.iter().flat_map(|group| group.topics.iter().flatten());
    let image = broker.publisher.current();
    crowd::check_partitions(&image, partitions.map(|(_, partitions)| partitions.len()).sum())?;
    let mut room = broker.answer_memory.begin();
    let mut groups = Vec::with_capacity(request.len());
    for group in request {
        let described = match room.is_full() {
            true => Err(ErrorCode::InvalidRequest),
            false => describe(broker, &group).await,
        };
        let described = described.and_then(|topics| match room.take(share_offsets::size(&topics)) {
            true => Ok(topics),
            false => Err(ErrorCode::InvalidRequest),
        });
        let (topics, error) = match described {
            Ok(topics) => (topics, ErrorCode::None),
            Err(error) => (Vec::new(), error),
        };
        let error_message = (error != ErrorCode::None).then(|| error.name().to_owned());
        groups.push(GroupAnswer { id: group.id, topics, error, error_message });
    }
    Ok(room.tie_to(share_offsets::encode(&context.header, &groups)?))
}

/// Topics and partitions to look at.
type Wanted = Vec<(String, TopicId, Vec<i32>)>;

async fn describe(broker: &Broker, group: &Group) -> Result<Vec<TopicAnswer>, ErrorCode> {
    if !broker.share.is_enabled() {
        return Err(ErrorCode::UnsupportedVersion);
    }
    let id: Arc<str> = Arc::from(group.id.as_str());
    let image = broker.publisher.current();
    let (wanted, unknown) = match &group.topics {
        None => (known(broker, &id, &image).await?, Vec::new()),
        Some(topics) => named(topics.iter().map(|(name, partitions)| (name.as_str(), partitions)), &image),
    };
    let mut answers = Vec::with_capacity(wanted.len());
    for (name, topic, partitions) in wanted {
        let pieces = partitions.iter().map(|partition| {
            let key = Key { group: Arc::clone(&id), topic, partition: PartitionIndex(*partition) };
            let states = broker.share.states().clone();
            async move { states.summarize(&key).await }
        });
        let summaries = broker.share.together(pieces).await;
        let partitions = partitions.iter().zip(summaries).map(|(partition, summary)| {
            // A partition that the group does not know is no error here.
            let Ok(summary) = summary else { return nothing(*partition) };
            let begun = PartitionAnswer {
                start_offset: summary.start,
                leader_epoch: summary.leader_epoch,
                ..nothing(*partition)
            };
            if summary.start == -1 || summary.complete == -1 {
                return begun;
            }
            match broker.replicas.by_id(topic, PartitionIndex(*partition)) {
                Ok(replica) => {
                    let behind = replica.high_watermark().0.saturating_sub(summary.start);
                    PartitionAnswer { lag: behind.saturating_sub(i64::from(summary.complete)), ..begun }
                }
                Err(error) => {
                    let error = Refused::from(&error).code;
                    let error_message = Some(error.name().to_owned());
                    PartitionAnswer { start_offset: 0, error, error_message, ..nothing(*partition) }
                }
            }
        });
        let partitions = partitions.collect();
        answers.push(TopicAnswer { name, id: topic, partitions });
    }
    answers.extend(unknown);
    Ok(answers)
}

fn nothing(index: i32) -> PartitionAnswer {
    PartitionAnswer {
        index,
        start_offset: -1,
        leader_epoch: 0,
        lag: -1,
        error: ErrorCode::None,
        error_message: None,
    }
}

/// All that the group has.
async fn known(broker: &Broker, group: &Arc<str>, image: &Image) -> Result<Wanted, ErrorCode> {
    match coordination::ask(broker, group, Command::Known(Arc::clone(group))).await? {
        Answer::Known(known) => {
            let topics = known.into_iter().filter_map(|(id, partitions)| {
                let name = image.topic_by_id(id)?.name.to_string();
                Some((name, id, partitions.into_iter().collect()))
            });
            Ok(topics.collect())
        }
        other => Err(coordination::unexpected(&other)),
    }
}

/// What was asked for, and answers for topics that are not there.
fn named<'a>(
    topics: impl Iterator<Item = (&'a str, &'a Vec<i32>)>,
    image: &Image,
) -> (Wanted, Vec<TopicAnswer>) {
    let (mut wanted, mut unknown) = (Wanted::new(), Vec::new());
    for (name, partitions) in topics {
        match image.topic(name) {
            Some(topic) => wanted.push((name.to_owned(), topic.id, partitions.clone())),
            None => unknown.push(TopicAnswer {
                name: name.to_owned(),
                id: TopicId::ZERO,
                partitions: partitions.iter().map(|partition| nothing(*partition)).collect(),
            }),
        }
    }
    (wanted, unknown)
}
