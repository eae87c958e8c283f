//! ShareFetch 1 and 2: takes what a member is done with, and gives it further records. The records go out as ranges of
//! files.

use crate::base::ErrorCode;
use crate::base::Instant;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::context;
use crate::broker::context::Context;
use crate::broker::context::Reply;
use crate::broker::crowd;
use crate::broker::data::leader::Leaders;
use crate::broker::data::leader::Topic as LeaderTopic;
use crate::broker::errors::Refused;
use crate::broker::share::acknowledgements;
use crate::broker::share::acknowledgements::Form;
use crate::broker::share::acknowledgements::Results;
use crate::broker::share::member_of;
use crate::protocol::Part;
use crate::protocol::share_fetch;
use crate::protocol::share_fetch::AcquiredRecords;
use crate::protocol::share_fetch::Answer;
use crate::protocol::share_fetch::PartitionAnswer;
use crate::protocol::share_fetch::Request;
use crate::protocol::share_fetch::TopicAnswer;
use crate::protocol::versions;
use crate::share::Failure;
use crate::share::Fetch;
use crate::share::Fetched;
use crate::share::Outcomes;
use crate::share::sessions::FINAL_EPOCH;
use crate::share::sessions::INITIAL_EPOCH;
use crate::share::sessions::Member;
use crate::share::sessions::Place;
use crate::share::sessions::Step;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The acquire mode that never gives more records than asked for (KIP-1206).
const RECORD_LIMIT: i8 = 1;

/// Handles a ShareFetch request.
pub(crate) fn handle(broker: &Arc<Broker>, context: Context, body: Bytes) -> Reply {
    let began = broker.clock.now();
    let request = match share_fetch::decode(&context.header, body) {
        Ok(request) => request,
        Err(error) => return Reply::Now(context::Answer::close(format!("ShareFetch: {error}"))),
    };
    let (broker, context) = (Arc::clone(broker), context.detached());
    Reply::Later(Box::pin(async move {
        let answer = match fetch(&broker, &context, request, began).await {
            Ok(answer) => answer,
            Err(refused) => refusal(refused),
        };
        let answer = match share_fetch::encode(&context.header, answer) {
            Ok(response) => context::Answer::Send(response),
            Err(error) => context::Answer::close(format!("ShareFetch: {error}")),
        };
        broker.measure(versions::SHARE_FETCH, began);
        answer
    }))
}

fn refusal(refused: Refused) -> Answer {
    Answer {
        throttle_time_ms: 0,
        error: refused.code,
        // Kafka has no words for the whole (`ShareFetchRequest.getErrorResponse`).
        error_message: None,
        lock_timeout_ms: 0,
        topics: Vec::new(),
        node_endpoints: Vec::new(),
    }
}

async fn fetch(
    broker: &Arc<Broker>,
    context: &Context,
    request: Request,
    began: Instant,
) -> Result<Answer, Refused> {
    let member = member_of(broker, request.group_id.as_ref(), request.member_id.as_ref())?;
    check(broker, &request)?;
    let acknowledges = request.topics.iter().flat_map(|topic| &topic.partitions);
    let acknowledges = acknowledges.clone().any(|partition| !partition.acknowledgements.is_empty());
    let (step, unknown) = match begin(broker, context, &request, &member, acknowledges) {
        Err(failure) if failure.code == ErrorCode::ShareSessionLimitReached => {
            // Who has no session waits as if there were no records, so that it does not ask all the time.
            broker.clock.sleep(wait_of(&request)).await;
            return Err(failure.into());
        }
        begun => begun?,
    };
    let wanted = wanted(broker, &request, (member.clone(), step), began);
    let form = Form { version: context.version(), is_renew: request.is_renew };
    let acknowledging = async {
        match acknowledges {
            true => acknowledgements::take(broker, &member, &request.topics, form).await,
            false => Results::new(),
        }
    };
    if !request.is_renew && !wanted.places.is_empty() && !is_acquire_mode(request.acquire_mode) {
        acknowledging.await;
        return Err(Refused::new(ErrorCode::InvalidRequest, "no such acquire mode"));
    }
    let fetching = async {
        match request.is_renew {
            true => Outcomes::new(),
            false => {
                let mut outcomes = broker.share.fetch(&wanted).await;
                outcomes.extend(unknown);
                outcomes
            }
        }
    };
    // What is acknowledged is so before anything is fetched; only the writing of both goes on side by side.
    let (acknowledged, fetched) = tokio::join!(biased; acknowledging, fetching);
    broker.share.sessions().answered(&member, request.session_epoch, &fetched);
    if request.session_epoch == FINAL_EPOCH {
        broker.share.close(&member);
    }
    Ok(answer(broker, context, &member, acknowledged, fetched))
}

fn check(broker: &Broker, request: &Request) -> Result<(), Refused> {
    let image = broker.publisher.current();
    let named = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    let dropped = request.forgotten.iter().map(|topic| topic.partitions.len()).sum();
    if crowd::too_many(&image, named) || crowd::too_many(&image, dropped) {
        return Err(Refused::new(ErrorCode::InvalidRequest, "far more partitions than there are"));
    }
    if request.is_renew {
        let limits = [
            ("maxBytes", request.max_bytes),
            ("minBytes", request.min_bytes),
            ("maxRecords", request.max_records),
            ("maxWaitMs", request.max_wait_ms),
        ];
        let mut wrong: Vec<String> = limits
            .iter()
            .filter(|(_, value)| *value != 0)
            .map(|(name, _)| format!("{name} must be set to 0, "))
            .collect();
        if !wrong.is_empty() {
            wrong.push(String::from("if isRenewAck is true."));
            return Err(Refused::new(ErrorCode::InvalidRequest, wrong.concat()));
        }
    }
    Ok(())
}

/// Takes the session's step; gives its partitions in the order in which they are served, and what is to be said of those
/// that are not there.
fn begin(
    broker: &Arc<Broker>,
    context: &Context,
    request: &Request,
    member: &Member,
    acknowledges: bool,
) -> Result<(Step, Outcomes), Failure> {
    let place = |topic: TopicId, index: i32| (topic, PartitionIndex(index));
    let named: Vec<Place> = request
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|one| place(topic.id, one.index)))
        .collect();
    let dropped: Vec<Place> = request
        .forgotten
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|index| place(topic.id, *index)))
        .collect();
    let presence = context.connection.presence(&broker.share);
    let sessions = broker.share.sessions();
    let epoch = request.session_epoch;
    let mut step = sessions.fetch(member, epoch, (&named, &dropped), acknowledges, presence.id())?;
    if epoch == INITIAL_EPOCH {
        presence.opened(member.clone());
    }
    let image = broker.publisher.current();
    let mut unknown = Outcomes::new();
    step.places.retain(|place| {
        let code = match image.topic_by_id(place.0).map(|topic| topic.partition(place.1)) {
            Some(Some(_)) => return true,
            Some(None) => ErrorCode::UnknownTopicOrPartition,
            None => ErrorCode::UnknownTopicId,
        };
        unknown.push((*place, Err(code.into())));
        false
    });
    // Another partition is the first each time (`PartitionRotateStrategy`).
    if let Some(turn) = usize::try_from(epoch).ok().and_then(|epoch| epoch.checked_rem(step.places.len())) {
        step.places.rotate_left(turn);
    }
    Ok((step, unknown))
}

fn is_acquire_mode(mode: i8) -> bool {
    (0..=RECORD_LIMIT).contains(&mode)
}

fn wait_of(request: &Request) -> Duration {
    Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0))
}

fn wanted(broker: &Broker, request: &Request, (member, step): (Member, Step), began: Instant) -> Fetch {
    let max_bytes = request.max_bytes.min(broker.config.network.fetch_max_bytes).max(0);
    Fetch {
        member,
        places: step.places,
        deadline: began.plus(wait_of(request)),
        min_bytes: u64::try_from(request.min_bytes.min(max_bytes)).unwrap_or(0),
        max_bytes: usize::try_from(max_bytes).unwrap_or(0),
        max_records: i64::from(request.max_records),
        batch_size: i64::from(request.batch_size),
        exact: request.acquire_mode == RECORD_LIMIT,
        news: step.news,
    }
}

fn answer(
    broker: &Arc<Broker>,
    context: &Context,
    member: &Member,
    acknowledged: Results,
    fetched: Outcomes,
) -> Answer {
    let mut leaders = Leaders::new(broker, &context.connection.listener);
    let mut partitions: BTreeMap<Place, PartitionAnswer> = BTreeMap::new();
    for (place, outcome) in fetched {
        let (fetched, failure) = match outcome {
            Ok(fetched) => (fetched, None),
            Err(failure) => (Fetched::default(), Some(failure)),
        };
        if let Ok(log) = broker.replicas.by_id(place.0, place.1) {
            log.traffic().fetched(fetched.bytes);
        }
        let error = failure.map_or(ErrorCode::None, |failure| failure.code);
        // What a client cannot act on is not explained to it.
        let words =
            failure.filter(|_| error != ErrorCode::UnknownServerError).and_then(|failure| failure.message);
        let moved = matches!(error, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch);
        let answer = PartitionAnswer {
            error,
            error_message: words.map(str::to_owned),
            current_leader: moved.then(|| leaders.of(LeaderTopic::Id(place.0), place.1)),
            records: fetched.slices.into_iter().map(Part::File).collect(),
            acquired: fetched.acquired.into_iter().map(acquired).collect(),
            ..nothing(place)
        };
        partitions.insert(place, answer);
    }
    for (place, result) in acknowledged {
        let answer = partitions.entry(place).or_insert_with(|| nothing(place));
        if let Err(failure) = result {
            answer.acknowledge_error = failure.code;
            answer.acknowledge_error_message = failure.message.map(str::to_owned);
        }
    }
    let mut topics: Vec<TopicAnswer> = Vec::new();
    for ((id, _), partition) in partitions {
        match topics.last_mut() {
            Some(topic) if topic.id == id => topic.partitions.push(partition),
            _ => topics.push(TopicAnswer { id, partitions: vec![partition] }),
        }
    }
    let lock_ms = broker.share.rules(&member.group).lock_duration.as_millis();
    Answer {
        throttle_time_ms: 0,
        error: ErrorCode::None,
        error_message: None,
        lock_timeout_ms: i32::try_from(lock_ms).unwrap_or(i32::MAX),
        topics,
        node_endpoints: leaders.endpoints,
    }
}

fn nothing(place: Place) -> PartitionAnswer {
    PartitionAnswer {
        index: place.1.0,
        error: ErrorCode::None,
        error_message: None,
        acknowledge_error: ErrorCode::None,
        acknowledge_error_message: None,
        current_leader: None,
        records: Vec::new(),
        acquired: Vec::new(),
    }
}

fn acquired(one: crate::share::Acquired) -> AcquiredRecords {
    AcquiredRecords {
        first_offset: one.first,
        last_offset: one.end.saturating_sub(1),
        delivery_count: one.count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_acquire_modes() {
        assert_eq!([-1, 0, 1, 2].map(is_acquire_mode), [false, true, true, false]);
    }
}
