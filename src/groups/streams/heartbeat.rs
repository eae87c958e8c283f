//! A member's sign of life (Kafka's `GroupMetadataManager.streamsGroupHeartbeat`).
//!
//! 1. The member is made or changed.
//! 2. Its topology becomes the group's, when there is none.
//! 3. The topology is held against the cluster's topics. Any change of these three makes a new epoch.
//! 4. An epoch without assignment gets one, unless it is too early.
//! 5. The member goes a step towards what it shall have.

use crate::base::ErrorCode;
use crate::cluster::Image;
use crate::coordinator::Now;
use crate::groups::streams::assignment;
use crate::groups::streams::command::Alive;
use crate::groups::streams::command::EndpointPartitions;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::command::Status;
use crate::groups::streams::command::StreamsHeartbeat;
use crate::groups::streams::group::Group;
use crate::groups::streams::group::Soft;
use crate::groups::streams::member::LEFT_FOR_A_WHILE;
use crate::groups::streams::member::Member;
use crate::groups::streams::member::MemberState;
use crate::groups::streams::member::Progress;
use crate::groups::streams::reconcile;
use crate::groups::streams::reconcile::Holders;
use crate::groups::streams::record::Metadata;
use crate::groups::streams::record::StreamsRecord;
use crate::groups::streams::settings::RACK_AWARE_TAGS;
use crate::groups::streams::tasks::Role;
use crate::groups::streams::tasks::Tasks;
use crate::groups::streams::topics;
use crate::groups::streams::topics::Configured;
use crate::groups::streams::topology::Topology;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A deadline of a group, without the group's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Deadline {
    /// The member must show a sign of life.
    Session(Arc<str>),
    /// The member must have given back what it must.
    Rebalance(Arc<str>),
    /// A new group has waited for members.
    Initial,
}

/// What follows from a request.
pub(crate) struct Decision {
    pub(crate) records: Vec<StreamsRecord>,
    /// What is not kept in the log, where it changes.
    pub(crate) soft: Option<Soft>,
    /// Deadlines to set, or to cancel.
    pub(crate) deadlines: Vec<(Deadline, Option<Duration>)>,
    pub(crate) alive: Alive,
}

/// What stands under the group's id before a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// The group itself.
    Group,
    /// A classic group without members, which makes room.
    Classic,
    Nothing,
}

/// What follows from the heartbeat of a member that joins or stays. `group` is empty and new where there is none yet,
/// which `before` tells.
///
/// # Errors
/// Of the whole request, in Kafka's words.
pub(crate) fn heartbeat(
    now: Now,
    group: &Group,
    before: Before,
    request: &StreamsHeartbeat,
) -> Result<Decision, Refusal> {
    let mut turn = Turn {
        now,
        group,
        before,
        request,
        records: Vec::new(),
        soft: group.soft.clone(),
        deadlines: Vec::new(),
        statuses: Vec::new(),
    };
    let found = turn.find_member()?;
    turn.run(&found)
}

/// A member as it was, and the static member that it replaces.
struct Found {
    member: Member,
    replaced: Option<Arc<Member>>,
    /// What it shall have by now.
    target: Tasks,
}

struct Turn<'a> {
    now: Now,
    group: &'a Group,
    before: Before,
    request: &'a StreamsHeartbeat,
    records: Vec<StreamsRecord>,
    soft: Soft,
    deadlines: Vec<(Deadline, Option<Duration>)>,
    statuses: Vec<Status>,
}

impl Turn<'_> {
    fn run(mut self, found: &Found) -> Result<Decision, Refusal> {
        let request = self.request;
        let mut member = self.updated(&found.member);
        let mut is_changed = self.write_member(&found.member, &member);
        let topology = self.topology(&member)?;
        let (configured, metadata_hash) = self.configured(&topology)?;
        is_changed |= self.group.topology.is_none() || metadata_hash != self.group.metadata.metadata_hash;
        let validated = if configured.is_ready() { topology.epoch } else { -1 };
        is_changed |= validated != self.group.metadata.validated_topology_epoch;
        self.owned_tasks_exist(&configured)?;
        self.take_progress(&member.id);
        let configs = request.settings.assignment();
        is_changed |= configs != self.group.metadata.assignment_configs;
        let mut epoch = self.group.metadata.epoch;
        if is_changed {
            epoch = epoch.saturating_add(1);
            self.write_metadata(epoch, metadata_hash, validated, &configs);
        }
        self.delay_the_first_assignment();
        let target = self.target(epoch, &member, found, &configured, &configs);
        self.reconcile(&mut member, &target)?;
        self.session(&member.id);
        if request.shutdown && self.soft.shutdown_by.is_none() {
            tracing::info!(group = %self.group.id, member = %member.id, "shutdown of the application is asked for");
            self.soft.shutdown_by = Some(member.id.clone());
        }
        Ok(self.answer(found, &member, &configured, &configs))
    }

    fn is_joining(&self) -> bool {
        self.request.member_epoch == 0
    }

    fn find_member(&mut self) -> Result<Found, Refusal> {
        let request = self.request;
        self.has_room()?;
        let known = self.group.member(&request.member_id);
        if let Some(instance_id) = &request.instance_id {
            return self.find_static(instance_id);
        }
        let member = match known {
            Some(member) => (**member).clone(),
            None if self.is_joining() => {
                tracing::info!(group = %self.group.id, member = %request.member_id, "member joins the streams group");
                Member::new(request.member_id.clone())
            }
            None => return Err(self.unknown_member()),
        };
        epoch_fits(&member, request)?;
        Ok(Found { target: self.group.target(&member.id), member, replaced: None })
    }

    fn find_static(&mut self, instance_id: &Arc<str>) -> Result<Found, Refusal> {
        let request = self.request;
        let holder = self.group.static_member(instance_id);
        if !self.is_joining() {
            let holder = static_holder(holder, &request.member_id, instance_id)?;
            epoch_fits(holder, request)?;
            let target = self.group.target(&holder.id);
            return Ok(Found { member: (**holder).clone(), replaced: None, target });
        }
        let Some(holder) = holder else {
            let known = self.group.member(&request.member_id);
            let member =
                known.map_or_else(|| Member::new(request.member_id.clone()), |member| (**member).clone());
            tracing::info!(group = %self.group.id, member = %member.id, %instance_id, "static member joins the streams group");
            return Ok(Found { target: self.group.target(&member.id), member, replaced: None });
        };
        if holder.current.epoch != LEFT_FOR_A_WHILE {
            return Err(Refusal::new(
                ErrorCode::UnreleasedInstanceId,
                format!(
                    "Static member {} with instance id {instance_id} cannot join the group because the instance id is owned by {} member.",
                    request.member_id, holder.id
                ),
            ));
        }
        let mut member = (**holder).clone();
        member.id = request.member_id.clone();
        member.current.epoch = 0;
        member.current.previous_epoch = 0;
        let target = self.group.target(&holder.id);
        self.replace(holder, &member, &target);
        Ok(Found { member, replaced: Some(Arc::clone(holder)), target })
    }

    /// The new holder of a static member's name takes over all that the old one had.
    fn replace(&mut self, before: &Member, member: &Member, target: &Tasks) {
        let (group, id) = (&self.group.id, &member.id);
        tracing::info!(%group, member = %id, before = %before.id, "static member comes back to the streams group");
        if before.id != *id {
            self.records.push(StreamsRecord::Current(group.clone(), before.id.clone(), None));
            self.records.push(StreamsRecord::Target(group.clone(), before.id.clone(), None));
            self.records.push(StreamsRecord::Member(group.clone(), before.id.clone(), None));
            self.deadlines.push((Deadline::Session(before.id.clone()), None));
            self.deadlines.push((Deadline::Rebalance(before.id.clone()), None));
        }
        let profile = Some(member.profile.clone());
        self.records.push(StreamsRecord::Member(group.clone(), id.clone(), profile));
        self.records.push(StreamsRecord::Target(group.clone(), id.clone(), Some(target.clone())));
        self.records.push(StreamsRecord::Current(group.clone(), id.clone(), Some(member.current.clone())));
    }

    fn has_room(&self) -> Result<(), Refusal> {
        let (group, request) = (self.group, self.request);
        let max = request.settings.group_size_max;
        let is_known = request.instance_id.as_ref().is_some_and(|id| group.static_member(id).is_some())
            || group.member(&request.member_id).is_some();
        if !self.is_joining() || is_known || group.members().len() < max {
            return Ok(());
        }
        let words = format!("The streams group has reached its maximum capacity of {max} members.");
        Err(Refusal::new(ErrorCode::GroupMaxSizeReached, words))
    }

    fn unknown_member(&self) -> Refusal {
        let words = format!("Member {} is not a member of group {}.", self.request.member_id, self.group.id);
        Refusal::new(ErrorCode::UnknownMemberId, words)
    }

    /// The member with what the request says anew.
    fn updated(&self, before: &Member) -> Member {
        let request = self.request;
        let mut member = before.clone();
        let profile = &mut member.profile;
        if request.instance_id.is_some() {
            profile.instance_id.clone_from(&request.instance_id);
        }
        if request.rack_id.is_some() {
            profile.rack_id.clone_from(&request.rack_id);
        }
        if let Some(timeout) = request.rebalance_timeout_ms {
            profile.rebalance_timeout_ms = timeout;
        }
        if let Some(topology) = &request.topology {
            profile.topology_epoch = topology.epoch;
        }
        profile.client_id = request.client_id.clone();
        profile.client_host = request.client_host.clone();
        if let Some(process_id) = &request.process_id {
            profile.process_id = process_id.clone();
        }
        if let Some(tags) = &request.client_tags {
            profile.client_tags.clone_from(tags);
        }
        if self.is_joining() || request.endpoint.is_some() {
            profile.endpoint.clone_from(&request.endpoint);
        }
        member
    }

    /// Writes what is new of the member; whether the group gets a new epoch for it.
    fn write_member(&mut self, before: &Member, now: &Member) -> bool {
        let is_new = self.group.member(&now.id).is_none();
        if before.profile == now.profile && !is_new {
            return false;
        }
        let profile = Some(now.profile.clone());
        self.records.push(StreamsRecord::Member(self.group.id.clone(), now.id.clone(), profile));
        // Of a member without a name of its own everything counts, also where it can be reached.
        self.request.instance_id.is_none() || before.profile.needs_new_assignment(&now.profile)
    }

    /// The group's topology, which is the member's when the group has none.
    fn topology(&mut self, member: &Member) -> Result<Arc<Topology>, Refusal> {
        let topology = match (&self.group.topology, &self.request.topology) {
            (None, None) => {
                return Err(Refusal::new(
                    ErrorCode::UnknownServerError,
                    "The topology is null and the group topology is also null.",
                ));
            }
            (None, Some(brought)) => {
                tracing::info!(group = %self.group.id, epoch = brought.epoch, "topology of the streams group is set");
                self.records.push(StreamsRecord::Topology(self.group.id.clone(), Some(brought.clone())));
                return Ok(Arc::new(brought.clone()));
            }
            (Some(own), Some(brought)) if own.epoch <= brought.epoch && **own != *brought => {
                let words = "Topology updates are not supported yet.";
                return Err(Refusal::new(ErrorCode::InvalidRequest, words));
            }
            (Some(own), _) => Arc::clone(own),
        };
        let (mine, its) = (member.profile.topology_epoch, topology.epoch);
        if mine < its {
            self.statuses.push(Status::StaleTopology(format!(
                "The member's topology epoch {mine} is behind the group's topology epoch {its}."
            )));
        }
        Ok(topology)
    }

    /// The topology with the numbers that follow from the topics that exist now.
    fn configured(&mut self, topology: &Topology) -> Result<(Arc<Configured>, i64), Refusal> {
        let image = &*self.request.image;
        let hash = metadata_hash(topology, image);
        if let Some(configured) = &self.soft.configured
            && configured.metadata_hash == hash
            && configured.epoch == topology.epoch
        {
            return Ok((Arc::clone(configured), hash));
        }
        let existing =
            |name: &str| image.topic(name).and_then(|topic| i32::try_from(topic.partitions.len()).ok());
        let configured = Arc::new(topics::configure(topology, hash, &existing)?);
        match &configured.problem {
            Some(problem) => {
                tracing::info!(group = %self.group.id, "topics of the streams group: {}", problem.detail());
            }
            None => tracing::info!(group = %self.group.id, "topics of the streams group are all there"),
        }
        self.soft.configured = Some(Arc::clone(&configured));
        Ok((configured, hash))
    }

    fn owned_tasks_exist(&self, configured: &Configured) -> Result<(), Refusal> {
        let (true, Some(parts)) = (configured.is_ready(), &configured.subtopologies) else { return Ok(()) };
        let Some(owned) = &self.request.owned else { return Ok(()) };
        let invalid = |words: String| Err(Refusal::new(ErrorCode::InvalidRequest, words));
        for (id, partitions) in owned.active.iter().chain(&owned.standby).chain(&owned.warmup) {
            let Some(part) = parts.get(id) else {
                return invalid(format!("Subtopology {id} does not exist in the topology."));
            };
            let tasks = part.tasks;
            if let Some(wrong) = partitions.iter().find(|partition| !(0..tasks).contains(partition)) {
                return invalid(format!(
                    "Task {wrong} for subtopology {id} is invalid. Number of tasks for this subtopology: {tasks}"
                ));
            }
        }
        Ok(())
    }

    fn take_progress(&mut self, member: &Arc<str>) {
        let request = self.request;
        if request.task_offsets.is_none() && request.task_end_offsets.is_none() {
            return;
        }
        let before = self.soft.progress.get(member).cloned().unwrap_or_default();
        let progress = Progress {
            offsets: request.task_offsets.clone().unwrap_or_else(|| before.offsets.clone()),
            end_offsets: request.task_end_offsets.clone().unwrap_or_else(|| before.end_offsets.clone()),
        };
        self.soft.progress.insert(member.clone(), Arc::new(progress));
    }

    fn write_metadata(
        &mut self,
        epoch: i32,
        metadata_hash: i64,
        validated_topology_epoch: i32,
        configs: &BTreeMap<Arc<str>, Arc<str>>,
    ) {
        let before = &self.group.metadata;
        let metadata = Metadata {
            epoch,
            metadata_hash,
            validated_topology_epoch,
            assignment_configs: configs.clone(),
            stored_description_epoch: before.stored_description_epoch,
            failed_description_epoch: before.failed_description_epoch,
        };
        tracing::info!(group = %self.group.id, epoch, validated_topology_epoch, "streams group has a new epoch");
        self.records.push(StreamsRecord::Metadata(self.group.id.clone(), Some(metadata)));
    }

    fn delay_the_first_assignment(&mut self) {
        let delay = self.request.settings.initial_rebalance_delay_ms;
        if self.group.is_empty() && delay > 0 && !self.soft.is_delayed {
            self.soft.is_delayed = true;
            self.deadlines.push((Deadline::Initial, Some(millis(delay))));
        }
    }

    /// What the member shall have, and from which epoch on; by a new assignment when one is due.
    fn target(
        &mut self,
        epoch: i32,
        member: &Member,
        found: &Found,
        configured: &Configured,
        configs: &BTreeMap<Arc<str>, Arc<str>>,
    ) -> (i32, Tasks) {
        let last = self.group.target_metadata;
        if self.soft.is_delayed {
            let words = "Assignment delayed due to the configured initial rebalance delay.";
            self.statuses.push(Status::AssignmentDelayed(words.to_owned()));
            return (last.epoch, Tasks::default());
        }
        if last.epoch >= epoch {
            return (last.epoch, found.target.clone());
        }
        let interval = i64::from(self.request.settings.assignment_interval_ms);
        let next_ms = last.timestamp_ms.saturating_add(interval);
        if last.timestamp_ms != 0 && interval != 0 && self.now.0.0 < next_ms {
            let words = "Assignment delayed due to the configured assignment interval.";
            self.statuses.push(Status::AssignmentDelayed(words.to_owned()));
            return (last.epoch, found.target.clone());
        }
        let joining = Some((member, found.replaced.as_deref()));
        let mut made = assignment::assign(self.now.0, self.group, epoch, joining, configured, configs);
        tracing::info!(group = %self.group.id, epoch, members = made.targets.len(), "streams group has a new assignment");
        self.records.append(&mut made.records);
        (made.epoch, made.targets.remove(&member.id).unwrap_or_default())
    }

    fn reconcile(&mut self, member: &mut Member, target: &(i32, Tasks)) -> Result<(), Refusal> {
        let (epoch, tasks) = target;
        if member.is_reconciled_to(*epoch) {
            return Ok(());
        }
        let holders = Holders::of(self.group.members().map(|member| &**member));
        let target = reconcile::Target { epoch: *epoch, tasks };
        let next = reconcile::reconcile(member, target, &holders, self.request.owned.as_ref())?;
        if next == member.current {
            return Ok(());
        }
        tracing::debug!(group = %self.group.id, member = %member.id, epoch = next.epoch, state = ?next.state, "member goes on");
        let (group, id) = (self.group.id.clone(), member.id.clone());
        let deadline = (next.state == MemberState::UnrevokedTasks)
            .then(|| millis(member.profile.rebalance_timeout_ms.max(0)));
        self.deadlines.push((Deadline::Rebalance(id.clone()), deadline));
        self.records.push(StreamsRecord::Current(group, id, Some(next.clone())));
        member.current = next;
        Ok(())
    }

    fn session(&mut self, member: &Arc<str>) {
        let timeout = millis(self.request.settings.session_timeout_ms);
        self.deadlines.push((Deadline::Session(member.clone()), Some(timeout)));
    }

    /// Whether the member shows that it has not heard of its tasks: it speaks with the epoch before, or tells that it
    /// runs others. Kafka 4.4 does not tell them again, so that a member whose answer was lost runs nothing.
    fn has_missed_an_answer(&self, found: &Found, member: &Member) -> bool {
        let epoch = self.request.member_epoch;
        let is_late = epoch != found.member.current.epoch;
        let differs = |owned: &Tasks| *owned != member.current.assigned.tasks();
        is_late || self.request.owned.as_ref().is_some_and(differs)
    }

    fn answer(
        mut self,
        found: &Found,
        member: &Member,
        configured: &Configured,
        configs: &BTreeMap<Arc<str>, Arc<str>>,
    ) -> Decision {
        let (request, group) = (self.request, self.group);
        let has_new_tasks = found.member.current.assigned != member.current.assigned;
        let known = group.member(&member.id).or(found.replaced.as_ref());
        let before = known.and_then(|member| member.profile.endpoint.as_ref());
        let has_moved = before != member.profile.endpoint.as_ref();
        let tasks = (self.is_joining() || has_new_tasks || self.has_missed_an_answer(found, member))
            .then(|| member.current.assigned.tasks());
        if has_moved || (has_new_tasks && member.profile.endpoint.is_some()) {
            self.soft.endpoint_epoch = self.soft.endpoint_epoch.wrapping_add(1);
        }
        let endpoints = (self.soft.endpoint_epoch != request.endpoint_epoch)
            .then(|| endpoints(group, member, found.replaced.as_deref(), configured, &request.image));
        self.statuses.extend(configured.problem.clone());
        if let Some(asker) = &self.soft.shutdown_by {
            self.statuses.push(Status::ShutdownApplication(format!(
                "Streams group member {asker} encountered a fatal error and requested a shutdown for the entire application."
            )));
        }
        if request.knows_missing_tags {
            self.statuses.extend(missing_tags(member, configs));
        }
        let alive = Alive {
            member_id: member.id.clone(),
            member_epoch: member.current.epoch,
            heartbeat_interval_ms: request.settings.heartbeat_interval_ms,
            task_offset_interval_ms: request.settings.task_offset_interval_ms,
            acceptable_recovery_lag: request.settings.acceptable_recovery_lag,
            statuses: self.statuses,
            tasks,
            // Kafka tells it where the id is known, also when that is of the classic group before this one.
            endpoint_epoch: if self.before == Before::Nothing { 0 } else { self.soft.endpoint_epoch },
            endpoints,
            missing_topics: configured.missing.values().cloned().collect(),
        };
        if self.before != Before::Group {
            // Kafka answers the first heartbeat from a group that the log does not know yet, and forgets these with it.
            self.soft.endpoint_epoch = 0;
            self.soft.shutdown_by = None;
            self.soft.progress.clear();
        }
        Decision { records: self.records, soft: Some(self.soft), deadlines: self.deadlines, alive }
    }
}

fn millis(value: i32) -> Duration {
    Duration::from_millis(u64::try_from(value).unwrap_or(0))
}

/// The holder of a static member's name, which only it may use.
///
/// # Errors
/// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
pub(crate) fn static_holder<'a>(
    holder: Option<&'a Arc<Member>>,
    member_id: &str,
    instance_id: &str,
) -> Result<&'a Arc<Member>, Refusal> {
    let unknown =
        || Refusal::new(ErrorCode::UnknownMemberId, format!("Instance id {instance_id} is unknown."));
    let holder = holder.ok_or_else(unknown)?;
    if *holder.id == *member_id {
        return Ok(holder);
    }
    let words = format!(
        "Static member {member_id} with instance id {instance_id} was fenced by member {}.",
        holder.id
    );
    Err(Refusal::new(ErrorCode::FencedInstanceId, words))
}

/// Whether the member may speak with this epoch: its own, or the one before when the answer with the new one was lost.
fn epoch_fits(member: &Member, request: &StreamsHeartbeat) -> Result<(), Refusal> {
    let (told, current) = (request.member_epoch, &member.current);
    let fenced = |than: &str| {
        Err(Refusal::new(
            ErrorCode::FencedMemberEpoch,
            format!(
                "The streams group member has a {than} member epoch ({told}) than the one known by the group coordinator ({}). The member must abandon all its partitions and rejoin.",
                current.epoch
            ),
        ))
    };
    let lost = told == current.previous_epoch
        && request.owned.as_ref().is_some_and(|owned| current.assigned.contains_all(owned));
    match told {
        0 => Ok(()),
        _ if told > current.epoch => fenced("greater"),
        _ if told < current.epoch && !lost => fenced("smaller"),
        _ => Ok(()),
    }
}

/// Who can be asked for the state of which partitions.
fn endpoints(
    group: &Group,
    member: &Member,
    replaced: Option<&Member>,
    configured: &Configured,
    image: &Image,
) -> Vec<EndpointPartitions> {
    let gone = |id: &Arc<str>| *id == member.id || replaced.is_some_and(|replaced| replaced.id == *id);
    let others = group.members().map(|other| &**other).filter(|other| !gone(&other.id));
    others.chain(std::iter::once(member)).filter_map(|one| of_member(one, configured, image)).collect()
}

fn of_member(member: &Member, configured: &Configured, image: &Image) -> Option<EndpointPartitions> {
    let endpoint = member.profile.endpoint.clone()?;
    let held = &member.current.assigned;
    let mut others = held.standby.clone();
    for (id, partitions) in &held.warmup {
        others.entry(id.clone()).or_default().extend(partitions);
    }
    Some(EndpointPartitions {
        endpoint,
        active: partitions_of(&held.active_role(), configured, image),
        standby: partitions_of(&others, configured, image),
    })
}

/// The partitions of the sources that these tasks read.
fn partitions_of(role: &Role, configured: &Configured, image: &Image) -> Vec<(Arc<str>, Vec<i32>)> {
    let mut found = Vec::new();
    for (id, partitions) in role {
        let Some(part) = configured.subtopologies.as_ref().and_then(|parts| parts.get(id)) else { continue };
        for topic in part.source_topics.iter().chain(part.repartition_source_topics.keys()) {
            let count = image.topic(topic).map_or(0, |topic| topic.partitions.len());
            let exists = |partition: &i32| usize::try_from(*partition).is_ok_and(|index| index < count);
            let partitions: Vec<i32> = partitions.iter().copied().filter(exists).collect();
            if !partitions.is_empty() {
                found.push((topic.clone(), partitions));
            }
        }
    }
    found
}

fn missing_tags(member: &Member, configs: &BTreeMap<Arc<str>, Arc<str>>) -> Option<Status> {
    let wanted = configs.get(RACK_AWARE_TAGS)?;
    let wanted = wanted.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    let missing: Vec<&str> = wanted.filter(|tag| !member.profile.client_tags.contains_key(*tag)).collect();
    (!missing.is_empty()).then(|| {
        Status::MissingClientTags(format!(
            "Missing required client tags for rack-aware standby assignment: [{}]. Configure them via 'client.tag.<tagKey>' in your Streams config.",
            missing.join(", ")
        ))
    })
}

/// A number that changes with the topics that the topology needs: which exist, and with how many partitions. Not
/// Kafka's own hash: another broker makes a new epoch once when it takes the group over.
fn metadata_hash(topology: &Topology, image: &Image) -> i64 {
    // FNV-1a: the same in every process.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for name in topology.required_topics() {
        if let Some(topic) = image.topic(name) {
            add(name.as_bytes());
            add(topic.id.0.as_bytes());
            add(&(topic.partitions.len() as u64).to_be_bytes());
        }
    }
    i64::from_be_bytes(hash.to_be_bytes())
}
