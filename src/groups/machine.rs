//! The groups of one partition of `__consumer_offsets` as a state machine.

use crate::base::ErrorCode;
use crate::base::ProducerId;
use crate::base::TopicId;
use crate::cluster::Delta;
use crate::cluster::Image;
use crate::coordinator::Machine;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Place;
use crate::coordinator::Ticket;
use crate::coordinator::TimerChange;
use crate::coordinator::budget::Share;
use crate::coordinator::machine::Entry;
use crate::groups::classic::group::Group;
use crate::groups::classic::group::State;
use crate::groups::classic::member::Member;
use crate::groups::classic::rebalance::Turn;
use crate::groups::classic::requests;
use crate::groups::command::Answer;
use crate::groups::command::Command;
use crate::groups::command::Commit;
use crate::groups::command::DeleteOffsets;
use crate::groups::command::Fetch;
use crate::groups::command::FetchedTopic;
use crate::groups::command::Heartbeat;
use crate::groups::command::Join;
use crate::groups::command::Joined;
use crate::groups::command::Leave;
use crate::groups::command::Missing;
use crate::groups::command::Sync;
use crate::groups::command::Synced;
use crate::groups::consumer;
use crate::groups::consumer::turn::Turn as ConsumerTurn;
use crate::groups::consumer::turn::World;
use crate::groups::expire;
use crate::groups::kind::GROUP_BYTES;
use crate::groups::kind::Kind;
use crate::groups::offsets;
use crate::groups::offsets::Offsets;
use crate::groups::record::Record;
use crate::groups::settings::Settings;
use crate::groups::share;
use crate::groups::show;
use crate::groups::streams;
use crate::groups::streams::heartbeat::Deadline;
use crate::groups::streams::record::StreamsRecord;
use crate::metrics;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The deadlines of groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// A member, or a promised member id, must show a sign of life.
    Session(Arc<str>, Arc<str>),
    /// The join phase of a group ends.
    Join(Arc<str>),
    /// All members of a generation must have synced.
    Sync(Arc<str>),
    /// A member of a consumer group must have given up partitions.
    Rebalance(Arc<str>, Arc<str>),
    /// A classic member of a consumer group must have joined again.
    ConsumerJoin(Arc<str>, Arc<str>),
    /// A classic member of a consumer group must have synced.
    ConsumerSync(Arc<str>, Arc<str>),
    /// The patterns of a consumer group are to be resolved.
    Patterns(Arc<str>),
    /// Something is due in a streams group.
    Streams(Arc<str>, Deadline),
    /// Look for expired offsets and abandoned groups.
    Expire,
}

/// A change of what the log does not keep.
#[derive(Clone, Debug)]
pub struct Change(What);

#[derive(Clone, Debug)]
enum What {
    Put(Kind),
    News(News),
    Streams(Arc<str>, Box<streams::group::Soft>),
}

/// A later image, and what it means.
#[derive(Clone, Debug)]
struct News {
    image: Arc<Image>,
    has_new_topics: bool,
    /// The topics that were created, deleted or changed.
    topics: BTreeSet<Arc<str>>,
}

impl Change {
    /// The group now stands like this.
    pub(crate) fn put(group: impl Into<Kind>) -> Change {
        Change(What::Put(group.into()))
    }

    /// What a streams group does not keep in the log now stands like this.
    pub(crate) fn streams(id: Arc<str>, soft: streams::group::Soft) -> Change {
        Change(What::Streams(id, Box::new(soft)))
    }
}

/// All groups of a partition with their offsets.
#[derive(Clone, Debug)]
pub struct Groups {
    settings: Arc<Settings>,
    groups: BTreeMap<Arc<str>, Kind>,
    offsets: Offsets,
    share: Share,
    offsets_share: Share,
    /// What the cluster has agreed on, as far as it was told.
    image: Arc<Image>,
    /// The end of the metadata log when topics were created last.
    new_topics_at: i64,
}

impl Groups {
    /// No groups.
    pub fn new(settings: Arc<Settings>, image: Arc<Image>) -> Groups {
        let share = Share::new(Arc::clone(&settings.memory));
        let offsets_share = Share::new(Arc::clone(&settings.offsets_memory));
        let new_topics_at = image.offset.0;
        let (groups, offsets) = (BTreeMap::new(), Offsets::default());
        Groups { settings, groups, offsets, share, offsets_share, image, new_topics_at }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    /// What the rules of consumer groups know.
    pub(crate) fn world(&self, now: Now) -> World<'_> {
        let (image, new_topics_at) = (&self.image, self.new_topics_at);
        World { settings: &self.settings, image, new_topics_at, now }
    }

    /// What a later image means; `None` when this one is known.
    fn news(&self, image: &Arc<Image>) -> Option<News> {
        if image.offset <= self.image.offset {
            return None;
        }
        let delta = Delta::between(&self.image, image);
        let has_new_topics = !delta.created.is_empty();
        let changed = delta.changed.iter().map(|(_, topic)| topic);
        let topics = delta.created.iter().chain(&delta.deleted).chain(changed);
        let topics = topics.map(|topic| topic.name.clone()).collect();
        Some(News { image: Arc::clone(image), has_new_topics, topics })
    }

    fn take_news(&mut self, news: News) {
        if news.has_new_topics {
            self.new_topics_at = news.image.offset.0;
        }
        self.image = news.image;
        if news.topics.is_empty() {
            return;
        }
        for kind in self.groups.values_mut() {
            if let Kind::Consumer(group) = kind
                && let Some(changed) = Groups::with_changed_topics(group, &news.topics)
            {
                *group = changed;
            }
        }
    }

    /// How many groups there are.
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// The classic group of this id; `None` also when it is of another kind.
    pub(crate) fn classic(&self, id: &str) -> Option<&Arc<Group>> {
        match self.groups.get(id)? {
            Kind::Classic(group) => Some(group),
            Kind::Consumer(_) | Kind::Share(_) | Kind::Streams(_) => None,
        }
    }

    /// The group of this id.
    pub(crate) fn kind(&self, id: &str) -> Option<&Kind> {
        self.groups.get(id)
    }

    fn counts(&self) -> metrics::Groups {
        let mut counts = metrics::Groups { offsets: self.offsets.count(), ..metrics::Groups::default() };
        for group in self.groups.values() {
            let count = match group {
                Kind::Classic(group) => match group.state {
                    State::Empty => &mut counts.empty,
                    State::PreparingRebalance => &mut counts.preparing,
                    State::CompletingRebalance => &mut counts.completing,
                    State::Stable => &mut counts.stable,
                },
                Kind::Consumer(group) => match group.state() {
                    consumer::group::State::Empty => &mut counts.consumer_empty,
                    consumer::group::State::Assigning => &mut counts.consumer_assigning,
                    consumer::group::State::Reconciling => &mut counts.consumer_reconciling,
                    consumer::group::State::Stable => &mut counts.consumer_stable,
                },
                Kind::Share(group) if group.is_empty() => &mut counts.share_empty,
                Kind::Share(_) => &mut counts.share_stable,
                Kind::Streams(group) => match group.state() {
                    streams::group::State::Empty => &mut counts.streams_empty,
                    streams::group::State::NotReady => &mut counts.streams_not_ready,
                    streams::group::State::Assigning => &mut counts.streams_assigning,
                    streams::group::State::Reconciling => &mut counts.streams_reconciling,
                    streams::group::State::Stable => &mut counts.streams_stable,
                },
            };
            *count += 1;
        }
        counts
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Kind> {
        self.groups.values()
    }

    #[cfg(test)]
    pub(crate) fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    fn put(&mut self, group: Kind) {
        let after = group.bytes();
        let before = self.groups.insert(group.id().clone(), group).map_or(0, |before| before.bytes());
        self.share.change(before, after);
    }

    fn forget(&mut self, id: &str) {
        let before = self.groups.remove(id).map_or(0, |before| before.bytes());
        self.share.change(before, 0);
    }

    fn turn(&self, now: Now, group: Group) -> Turn<'_> {
        Turn::new(&self.settings, now, group)
    }

    fn join(&self, now: Now, ticket: Ticket, request: &Join) -> Outcome<Groups> {
        let refuse = |error| {
            let joined = Joined::error(error, request.member_id.clone());
            Outcome::answer(ticket, Answer::Join(Box::new(joined)))
        };
        if request.group.is_empty() {
            return refuse(ErrorCode::InvalidGroupId);
        }
        let session_times = self.settings.session_timeout_min_ms..=self.settings.session_timeout_max_ms;
        if !session_times.contains(&request.session_timeout_ms) {
            return refuse(ErrorCode::InvalidSessionTimeout);
        }
        let known = self.classic(&request.group).and_then(|group| group.member(&request.member_id));
        let more = request.bytes().saturating_sub(known.map_or(0, Member::bytes));
        let more = more.saturating_add(self.group_bytes(&request.group));
        if more > 0 && !self.settings.memory.has_room_for(more, &request.group) {
            return refuse(ErrorCode::CoordinatorNotAvailable);
        }
        let before = self.groups.get(&request.group);
        let group = match before {
            Some(Kind::Classic(group)) => (**group).clone(),
            Some(Kind::Consumer(group)) if group.size() > 0 => {
                return ConsumerTurn::new(self.world(now), Arc::clone(group)).classic_join(ticket, request);
            }
            // A share group keeps its id while it is there.
            Some(Kind::Share(_)) => return refuse(ErrorCode::InconsistentGroupProtocol),
            Some(Kind::Streams(group)) if !group.is_empty() => {
                return refuse(ErrorCode::InconsistentGroupProtocol);
            }
            // A group of another kind that nobody is in makes room.
            Some(_) | None if request.member_id.is_empty() => Group::new(request.group.clone(), now.0),
            Some(_) | None => return refuse(ErrorCode::UnknownMemberId),
        };
        let mut turn = self.turn(now, group);
        if let Some(other) = before.filter(|kind| !matches!(kind, Kind::Classic(_))) {
            turn.outcome.records.extend(other.tombstones());
        }
        turn.join(ticket, request);
        if !matches!(before, Some(Kind::Classic(_))) {
            turn.store_new();
        }
        turn.finish()
    }

    fn sync(&self, now: Now, ticket: Ticket, request: Sync) -> Outcome<Groups> {
        let refuse = |error| Outcome::answer(ticket, Answer::Sync(Synced::error(error)));
        if request.group.is_empty() {
            return refuse(ErrorCode::InvalidGroupId);
        }
        if let Some(turn) = self.consumer_turn(now, &request.group) {
            return turn.classic_sync(ticket, &request);
        }
        let Some(group) = self.classic(&request.group) else { return refuse(ErrorCode::UnknownMemberId) };
        let assigned = request.assignments.iter().map(|(_, assignment)| assignment.len()).sum::<usize>();
        let more = assigned.saturating_sub(group.members().map(|member| member.assignment.len()).sum());
        if more > 0 && !self.settings.memory.has_room_for(more, &request.group) {
            return refuse(ErrorCode::CoordinatorNotAvailable);
        }
        let mut turn = self.turn(now, (**group).clone());
        turn.sync(ticket, request);
        turn.finish()
    }

    fn heartbeat(&self, now: Now, ticket: Ticket, request: &Heartbeat) -> Outcome<Groups> {
        let refuse = |error| Outcome::answer(ticket, Answer::Heartbeat(error));
        if request.group.is_empty() {
            return refuse(ErrorCode::InvalidGroupId);
        }
        if let Some(turn) = self.consumer_turn(now, &request.group) {
            return turn.classic_heartbeat(ticket, request);
        }
        let Some(group) = self.classic(&request.group) else { return refuse(ErrorCode::UnknownMemberId) };
        let (lives, error) = requests::heartbeat(group, request);
        let mut outcome = refuse(error);
        if lives {
            outcome.timers.extend(session(group, &request.member_id));
        }
        outcome
    }

    fn leave(&self, now: Now, ticket: Ticket, request: &Leave) -> Outcome<Groups> {
        let refuse = |result| Outcome::answer(ticket, Answer::Leave(result));
        if request.group.is_empty() {
            return refuse(Err(ErrorCode::InvalidGroupId));
        }
        if let Some(turn) = self.consumer_turn(now, &request.group) {
            return turn.classic_leave(ticket, request);
        }
        let Some(group) = self.classic(&request.group) else {
            return refuse(Ok(vec![ErrorCode::UnknownMemberId; request.members.len()]));
        };
        let mut turn = self.turn(now, (**group).clone());
        turn.leave(ticket, request);
        turn.finish()
    }

    fn commit(&self, now: Now, ticket: Ticket, request: &Commit) -> Outcome<Groups> {
        let refuse = |error| Outcome::answer(ticket, Answer::Commit(Err(error)));
        let group = self.groups.get(&request.group);
        let permitted = match group {
            Some(group) => group.validate_commit(request, &self.image, self.settings.offset_metadata_max),
            // A committer without members makes the group by its first offset.
            None if request.generation < 0 => self.has_room_for_group(&request.group),
            None if request.knows_group_id_not_found => Err(ErrorCode::GroupIdNotFound),
            None => Err(ErrorCode::IllegalGeneration),
        };
        if let Err(error) = permitted {
            return refuse(error);
        }
        let (memory, more) = (&self.settings.offsets_memory, self.offsets.added_by(request));
        // Commits that go on with what is there need nothing.
        if more > 0 && !memory.has_room_for(more, &request.group) {
            return refuse(ErrorCode::CoordinatorNotAvailable);
        }
        let (records, codes) = offsets::commit(now.0, self.settings.offset_metadata_max, request);
        let mut outcome = Outcome::answer(ticket, Answer::Commit(Ok(codes)));
        if group.is_none() && records.is_empty() && !request.topics.is_empty() {
            // Who tries to make a group makes it, as in Kafka, also where nothing of the commit is stored.
            outcome.changes.push(Change::put(Group::new(request.group.clone(), now.0)));
        }
        outcome.records = records;
        outcome.transaction = request.transaction;
        if request.transaction.is_none()
            && let Some(Kind::Classic(group)) = group
            && matches!(group.state, State::Stable | State::PreparingRebalance)
        {
            outcome.timers.extend(session(group, &request.member_id));
        }
        outcome
    }

    /// What a group of this id takes by itself; nothing when there is one already.
    pub(crate) fn group_bytes(&self, id: &str) -> usize {
        if self.groups.contains_key(id) { 0 } else { GROUP_BYTES + id.len() }
    }

    fn has_room_for_group(&self, id: &str) -> Result<(), ErrorCode> {
        let has_room = self.settings.memory.has_room_for(self.group_bytes(id), id);
        if has_room { Ok(()) } else { Err(ErrorCode::CoordinatorNotAvailable) }
    }

    fn fetch(&self, request: &Fetch) -> Result<Vec<FetchedTopic>, ErrorCode> {
        if let Some(group) = self.groups.get(&request.group) {
            group.validate_fetch(request)?;
        }
        let id_of = |name: &str| self.image.topic(name).map_or(TopicId::ZERO, |topic| topic.id);
        Ok(self.offsets.fetch(request, id_of))
    }

    /// A fact about a consumer group, which begins with its first and replaces a group of another kind.
    fn apply_consumer(&mut self, record: &consumer::record::Record) {
        let (mut group, before) = match self.groups.remove(&record.group) {
            Some(Kind::Consumer(group)) => {
                let before = group.bytes();
                (group, before)
            }
            other if record.deletes() => {
                self.groups.extend(other.map(|kind| (record.group.clone(), kind)));
                return;
            }
            other => {
                let before = other.map_or(0, |kind| kind.bytes());
                (Arc::new(consumer::group::Group::new(record.group.clone())), before)
            }
        };
        let stays = Arc::make_mut(&mut group).apply(record);
        self.share.change(before, if stays { group.bytes() } else { 0 });
        if stays {
            self.groups.insert(record.group.clone(), Kind::Consumer(group));
        }
    }

    /// A fact about a share group, likewise.
    fn apply_share(&mut self, record: &share::record::Record) {
        let (mut group, before) = match self.groups.remove(&record.group) {
            Some(Kind::Share(group)) => {
                let before = group.bytes();
                (group, before)
            }
            other if record.deletes() => {
                self.groups.extend(other.map(|kind| (record.group.clone(), kind)));
                return;
            }
            other => {
                let group = share::group::Group::new(record.group.clone());
                (Arc::new(group), other.map_or(0, |kind| kind.bytes()))
            }
        };
        let stays = Arc::make_mut(&mut group).apply(record);
        self.share.change(before, if stays { group.bytes() } else { 0 });
        if stays {
            self.groups.insert(record.group.clone(), Kind::Share(group));
        }
    }

    /// A fact about a streams group, likewise.
    fn apply_streams(&mut self, record: &StreamsRecord) {
        let id = record.group();
        let (mut group, before) = match self.groups.remove(id) {
            Some(Kind::Streams(group)) => {
                let before = group.bytes();
                (group, before)
            }
            other if record.deletes() => {
                self.groups.extend(other.map(|kind| (id.clone(), kind)));
                return;
            }
            other => {
                let group = streams::group::Group::new(id.clone());
                (Arc::new(group), other.map_or(0, |kind| kind.bytes()))
            }
        };
        let stays = Arc::make_mut(&mut group).apply(record);
        self.share.change(before, if stays { group.bytes() } else { 0 });
        if stays {
            self.groups.insert(id.clone(), Kind::Streams(group));
        }
    }

    fn install_streams(&mut self, id: &Arc<str>, soft: streams::group::Soft) {
        if let Some(Kind::Streams(group)) = self.groups.get_mut(id) {
            let before = group.bytes();
            Arc::make_mut(group).soft = soft;
            let after = group.bytes();
            self.share.change(before, after);
        }
    }

    fn delete_offsets(&self, ticket: Ticket, request: &DeleteOffsets) -> Outcome<Groups> {
        let refuse = |error| Outcome::answer(ticket, Answer::DeleteOffsets(Err(error)));
        if request.group.is_empty() {
            return refuse(ErrorCode::InvalidGroupId);
        }
        let Some(group) = self.groups.get(&request.group) else { return refuse(ErrorCode::GroupIdNotFound) };
        if let Err(error) = group.validate_delete_offsets() {
            return refuse(error);
        }
        let mut records = Vec::new();
        let mut codes = Vec::with_capacity(request.topics.len());
        for (topic, partitions) in &request.topics {
            if group.is_subscribed(topic) {
                codes.push(vec![ErrorCode::GroupSubscribedToTopic; partitions.len()]);
                continue;
            }
            codes.push(vec![ErrorCode::None; partitions.len()]);
            let stored = |partition: &&i32| {
                self.offsets.get(&request.group, topic, **partition).is_some()
                    || self.offsets.is_pending(&request.group, topic, **partition)
            };
            let gone = partitions.iter().filter(stored);
            records.extend(gone.map(|partition| offsets::tombstone(&request.group, topic, *partition)));
        }
        let mut outcome = Outcome::answer(ticket, Answer::DeleteOffsets(Ok(codes)));
        outcome.records = records;
        outcome
    }

    fn delete_groups(&self, ticket: Ticket, ids: &[Arc<str>]) -> Outcome<Groups> {
        let mut outcome = Outcome::nothing();
        let mut codes = Vec::with_capacity(ids.len());
        for id in ids {
            codes.push(match self.groups.get(id) {
                None => ErrorCode::GroupIdNotFound,
                Some(group) if !group.is_empty() => ErrorCode::NonEmptyGroup,
                Some(group) => {
                    outcome.records.extend(self.offsets.tombstones(id, |_, _, _| false));
                    delete_group(group, &mut outcome);
                    ErrorCode::None
                }
            });
        }
        outcome.answers.push((ticket, Answer::DeleteGroups(codes)));
        outcome
    }

    fn expire(&self, now: Now) -> Outcome<Groups> {
        let mut outcome = Outcome::nothing();
        for group in self.groups.values() {
            let (expired, empty) =
                expire::expired(group, &self.offsets, now.0, self.settings.offsets_retention);
            if !expired.is_empty() {
                tracing::info!(group = %group.id(), count = expired.len(), "offsets expire");
            }
            outcome.records.extend(expired);
            let expires = !matches!(group, Kind::Share(_));
            if expires && empty && group.is_empty() && !has_pending_joins(group) {
                delete_group(group, &mut outcome);
            }
        }
        outcome.timers.push(TimerChange::Set(Timer::Expire, self.settings.retention_check_interval));
        outcome
    }

    fn timer_of_group(&self, now: Now, id: &str, act: impl FnOnce(&mut Turn<'_>)) -> Outcome<Groups> {
        let Some(group) = self.classic(id) else { return Outcome::nothing() };
        let mut turn = self.turn(now, (**group).clone());
        act(&mut turn);
        turn.finish()
    }

    /// Members that are loaded get a full session; a group that has outgrown the limit rebalances.
    fn wake(&self, now: Now, group: &Group) -> Outcome<Groups> {
        let mut turn = self.turn(now, group.clone());
        for member_id in group.member_ids() {
            turn.renew_session(&member_id);
        }
        if group.size() <= self.settings.group_size_max {
            return turn.finish_unchanged();
        }
        turn.prepare_rebalance("the loaded group is larger than group.max.size");
        turn.finish()
    }
}

impl Machine for Groups {
    type Command = Command;
    type Answer = Answer;
    type Record = Record;
    type Change = Change;
    type Timer = Timer;

    fn decide(&self, now: Now, ticket: Ticket, command: Command) -> Outcome<Groups> {
        match command {
            Command::Join(request) => self.join(now, ticket, &request),
            Command::Sync(request) => self.sync(now, ticket, *request),
            Command::Heartbeat(request) => self.heartbeat(now, ticket, &request),
            Command::Leave(request) => self.leave(now, ticket, &request),
            Command::Commit(request) => self.commit(now, ticket, &request),
            Command::Fetch(request) => Outcome::answer(ticket, Answer::Fetch(self.fetch(&request))),
            Command::DeleteOffsets(request) => self.delete_offsets(ticket, &request),
            Command::DeleteGroups(ids) => self.delete_groups(ticket, &ids),
            Command::Describe(ids) => {
                let one = |id: &Arc<str>| match self.groups.get(id) {
                    Some(Kind::Classic(group)) => Ok(show::describe(group)),
                    Some(Kind::Consumer(_) | Kind::Share(_) | Kind::Streams(_)) => Err(Missing::OfKind),
                    None => Err(Missing::Group),
                };
                Outcome::answer(ticket, Answer::Describe(ids.iter().map(one).collect()))
            }
            Command::StreamsHeartbeat(request) => self.streams_heartbeat(now, ticket, &request),
            Command::StreamsDescribe(ids) => {
                let shown = ids.iter().map(|id| self.streams_describe(id)).collect();
                Outcome::answer(ticket, Answer::StreamsDescribe(shown))
            }
            Command::List(request) => Outcome::answer(ticket, Answer::List(show::list(self.all(), &request))),
            Command::Count => Outcome::answer(ticket, Answer::Count(self.counts())),
            Command::Consumer(command) => self.decide_consumer(now, ticket, command),
            Command::Share(command) => self.decide_share(now, ticket, command),
            Command::Image(image) => {
                let mut outcome = Outcome::answer(ticket, Answer::Done);
                outcome.changes.extend(self.news(&image).map(|news| Change(What::News(news))));
                outcome
            }
            Command::TopicsDeleted(topics) => {
                let mut outcome = self.share_topics_deleted(now, &topics);
                outcome.answers.push((ticket, Answer::Done));
                outcome.records.extend(self.offsets.tombstones_of_topics(&topics));
                outcome
            }
        }
    }

    fn expired(&self, now: Now, timer: Timer) -> Outcome<Groups> {
        if let Timer::Session(group, member) = &timer
            && self.share_group(group).is_some()
        {
            return self.share_session_is_over(now, group, member);
        }
        let of_consumer = match &timer {
            Timer::Session(group, _) => matches!(self.kind(group), Some(Kind::Consumer(_))),
            Timer::Rebalance(..) | Timer::ConsumerJoin(..) | Timer::ConsumerSync(..) | Timer::Patterns(_) => {
                true
            }
            Timer::Join(_) | Timer::Sync(_) | Timer::Streams(..) | Timer::Expire => false,
        };
        if of_consumer {
            return self.expired_consumer(now, &timer);
        }
        match timer {
            Timer::Session(group, member) => {
                self.timer_of_group(now, &group, |turn| turn.session_is_over(&member))
            }
            Timer::Join(group) => self.timer_of_group(now, &group, |turn| turn.join_time_is_up()),
            Timer::Sync(group) => self.timer_of_group(now, &group, |turn| turn.sync_time_is_up()),
            Timer::Streams(group, deadline) => self.streams_deadline(now, &group, &deadline),
            Timer::Expire => self.expire(now),
            Timer::Rebalance(..) | Timer::ConsumerJoin(..) | Timer::ConsumerSync(..) | Timer::Patterns(_) => {
                Outcome::nothing()
            }
        }
    }

    fn loaded(&self, now: Now) -> Outcome<Groups> {
        let mut outcome = Outcome::nothing();
        for group in self.groups.values() {
            let woken = match group {
                Kind::Classic(group) => self.wake(now, group),
                Kind::Consumer(group) => self.wake_consumer(now, group),
                Kind::Share(group) => self.wake_share(now, group),
                Kind::Streams(group) => self.streams_wake(group),
            };
            outcome.records.extend(woken.records);
            outcome.changes.extend(woken.changes);
            outcome.timers.extend(woken.timers);
        }
        outcome.timers.push(TimerChange::Set(Timer::Expire, self.settings.retention_check_interval));
        outcome
    }

    fn apply(&mut self, place: Place, record: &Record) {
        match record {
            Record::Offset(key, value) => {
                let before = self.offsets.bytes();
                self.offsets.apply(place, key, value.as_ref());
                self.offsets_share.change(before, self.offsets.bytes());
                if let Some(value) = value
                    && !self.groups.contains_key(&key.group)
                {
                    self.put(Group::new(key.group.clone(), value.committed).into());
                }
            }
            Record::Group(id, Some(value)) => {
                self.put(Group::from_value(id.clone(), value).into());
            }
            // One of another kind has other records.
            Record::Group(id, None) if self.classic(id).is_some() => self.forget(id),
            Record::Group(_, None) => {}
            Record::Consumer(record) => self.apply_consumer(record),
            Record::Share(record) => self.apply_share(record),
            Record::Streams(record) => self.apply_streams(record),
        }
    }

    fn install(&mut self, change: Change) {
        match change.0 {
            What::Put(group) => self.put(group),
            What::News(news) => self.take_news(news),
            What::Streams(id, soft) => self.install_streams(&id, *soft),
        }
    }

    fn end_transaction(&mut self, producer: ProducerId, committed: bool) {
        let before = self.offsets.bytes();
        self.offsets.end_transaction(producer, committed);
        self.offsets_share.change(before, self.offsets.bytes());
    }

    fn encode(record: &Record) -> Entry {
        record.write()
    }

    fn decode(entry: &Entry) -> Result<Option<Record>, String> {
        Record::read(entry).map_err(|error| error.to_string())
    }
}

/// The member's session begins anew.
fn session(group: &Group, member_id: &Arc<str>) -> Option<TimerChange<Timer>> {
    let timeout_ms = u64::try_from(group.member(member_id)?.session_timeout_ms).ok()?;
    let timer = Timer::Session(group.id.clone(), member_id.clone());
    Some(TimerChange::Set(timer, std::time::Duration::from_millis(timeout_ms)))
}

fn has_pending_joins(group: &Kind) -> bool {
    match group {
        Kind::Classic(group) => !group.pending_joins.is_empty(),
        Kind::Consumer(_) | Kind::Share(_) | Kind::Streams(_) => false,
    }
}

fn delete_group(group: &Kind, outcome: &mut Outcome<Groups>) {
    outcome.records.extend(group.tombstones());
    let Kind::Classic(group) = group else { return };
    for member_id in &group.pending_joins {
        outcome.timers.push(TimerChange::Cancel(Timer::Session(group.id.clone(), member_id.clone())));
    }
}
