//! A streams group: what the log keeps of it, and what need not outlive this coordinator.

use crate::base::ErrorCode;
use crate::groups::kind::GROUP_BYTES;
use crate::groups::streams::member::Member;
use crate::groups::streams::member::Progress;
use crate::groups::streams::record::Metadata;
use crate::groups::streams::record::StreamsRecord;
use crate::groups::streams::record::TargetMetadata;
use crate::groups::streams::tasks::Tasks;
use crate::groups::streams::topics::Configured;
use crate::groups::streams::topology::Topology;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What members of these groups speak, in lists of groups.
pub(crate) const PROTOCOL_TYPE: &str = "streams";

/// The epoch of a group and of an assignment before the first.
const FIRST_EPOCH: i32 = 1;

/// Kafka's states of a streams group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody is in it.
    Empty,
    /// The topology is not known, or its topics are not there.
    NotReady,
    /// A new assignment is due.
    Assigning,
    /// Members are on their way to the assignment.
    Reconciling,
    /// Everybody has what they shall have.
    Stable,
}

impl State {
    /// The name in answers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Empty => "Empty",
            State::NotReady => "NotReady",
            State::Assigning => "Assigning",
            State::Reconciling => "Reconciling",
            State::Stable => "Stable",
        }
    }
}

/// A streams group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) id: Arc<str>,
    pub(crate) metadata: Metadata,
    pub(crate) target_metadata: TargetMetadata,
    pub(crate) topology: Option<Arc<Topology>>,
    members: BTreeMap<Arc<str>, Arc<Member>>,
    /// Static members by their names.
    statics: BTreeMap<Arc<str>, Arc<str>>,
    pub(crate) targets: BTreeMap<Arc<str>, Arc<Tasks>>,
    pub(crate) soft: Soft,
}

/// What a new coordinator finds out again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Soft {
    /// The topology against the cluster's topics.
    pub(crate) configured: Option<Arc<Configured>>,
    /// How far members' tasks are.
    pub(crate) progress: BTreeMap<Arc<str>, Arc<Progress>>,
    /// Counts the changes of what can be asked for where.
    pub(crate) endpoint_epoch: i32,
    /// The member that wants the application to stop.
    pub(crate) shutdown_by: Option<Arc<str>>,
    /// The group is new and waits for further members.
    pub(crate) is_delayed: bool,
}

impl Group {
    /// A group that nobody is in.
    pub(crate) fn new(id: Arc<str>) -> Group {
        let metadata = Metadata {
            epoch: FIRST_EPOCH,
            metadata_hash: 0,
            validated_topology_epoch: -1,
            assignment_configs: BTreeMap::new(),
            stored_description_epoch: -1,
            failed_description_epoch: -1,
        };
        Group {
            id,
            metadata,
            target_metadata: TargetMetadata { epoch: FIRST_EPOCH, timestamp_ms: 0 },
            topology: None,
            members: BTreeMap::new(),
            statics: BTreeMap::new(),
            targets: BTreeMap::new(),
            soft: Soft::default(),
        }
    }

    pub(crate) fn members(&self) -> impl ExactSizeIterator<Item = &Arc<Member>> {
        self.members.values()
    }

    pub(crate) fn member(&self, id: &str) -> Option<&Arc<Member>> {
        self.members.get(id)
    }

    pub(crate) fn static_member(&self, instance_id: &str) -> Option<&Arc<Member>> {
        self.members.get(self.statics.get(instance_id)?)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(crate) fn target(&self, member: &str) -> Tasks {
        self.targets.get(member).map(|tasks| (**tasks).clone()).unwrap_or_default()
    }

    pub(crate) fn state(&self) -> State {
        if self.members.is_empty() {
            return State::Empty;
        }
        let validated = self.metadata.validated_topology_epoch;
        if self.topology.as_ref().is_none_or(|topology| topology.epoch != validated) {
            return State::NotReady;
        }
        let target = self.target_metadata.epoch;
        if self.metadata.epoch > target {
            return State::Assigning;
        }
        let reconciled = self.members.values().all(|member| member.is_reconciled_to(target));
        if reconciled { State::Stable } else { State::Reconciling }
    }

    /// Whether the application reads the topic.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        !self.is_empty() && self.topology.as_ref().is_some_and(|topology| topology.reader_of(topic).is_some())
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let configs = self.metadata.assignment_configs.iter();
        GROUP_BYTES
            + self.id.len()
            + configs.map(|(name, value)| 64 + name.len() + value.len()).sum::<usize>()
            + self.topology.as_ref().map_or(0, |topology| topology.bytes())
            + self.members.values().map(|member| member.bytes()).sum::<usize>()
            + self.targets.values().map(|tasks| 64 + tasks.bytes()).sum::<usize>()
            + self.soft.configured.as_ref().map_or(0, |configured| configured.bytes())
            + self.soft.progress.values().map(|progress| 64 + progress.bytes()).sum::<usize>()
    }

    /// Takes over a fact; `false` when the group is deleted by it.
    pub(crate) fn apply(&mut self, record: &StreamsRecord) -> bool {
        match record {
            StreamsRecord::Metadata(_, Some(metadata)) => self.metadata = metadata.clone(),
            StreamsRecord::Metadata(_, None) => return false,
            StreamsRecord::Member(_, id, Some(profile)) => {
                self.change(id, |member| member.profile = profile.clone());
            }
            StreamsRecord::Member(_, id, None) => self.remove(id),
            StreamsRecord::TargetMetadata(_, value) => {
                let none = TargetMetadata { epoch: -1, timestamp_ms: 0 };
                self.target_metadata = value.unwrap_or(none);
            }
            StreamsRecord::Target(_, id, Some(tasks)) => {
                self.targets.insert(id.clone(), Arc::new(tasks.clone()));
            }
            StreamsRecord::Target(_, id, None) => {
                self.targets.remove(id);
            }
            StreamsRecord::Current(_, id, Some(current)) => {
                self.change(id, |member| member.current = current.clone());
            }
            StreamsRecord::Current(_, id, None) => self.forget_tasks(id),
            StreamsRecord::Topology(_, topology) => self.topology = topology.clone().map(Arc::new),
        }
        true
    }

    fn change(&mut self, id: &Arc<str>, change: impl FnOnce(&mut Member)) {
        let member = self.members.entry(id.clone()).or_insert_with(|| Arc::new(Member::new(id.clone())));
        let before = member.profile.instance_id.clone();
        change(Arc::make_mut(member));
        let now = member.profile.instance_id.clone();
        if before != now
            && let Some(before) = before
        {
            self.statics.remove(&before);
        }
        if let Some(now) = now {
            self.statics.insert(now, id.clone());
        }
    }

    fn forget_tasks(&mut self, id: &str) {
        if let Some(member) = self.members.get_mut(id) {
            let mut current = crate::groups::streams::member::Current::none();
            current.epoch = crate::groups::streams::member::GONE;
            current.previous_epoch = crate::groups::streams::member::GONE;
            Arc::make_mut(member).current = current;
        }
    }

    fn remove(&mut self, id: &str) {
        let Some(member) = self.members.remove(id) else { return };
        if let Some(instance_id) = &member.profile.instance_id
            && self.statics.get(instance_id).is_some_and(|holder| &**holder == id)
        {
            self.statics.remove(instance_id);
        }
        self.soft.progress.remove(id);
        if self.members.is_empty() {
            self.soft.shutdown_by = None;
        }
    }

    /// The records that delete all that the log has of the group, its offsets excepted.
    pub(crate) fn tombstones(&self) -> Vec<StreamsRecord> {
        let group = || self.id.clone();
        let mut records = Vec::new();
        let ids = || self.members.keys().cloned();
        records.extend(ids().map(|id| StreamsRecord::Current(group(), id, None)));
        records.extend(ids().map(|id| StreamsRecord::Target(group(), id, None)));
        records.push(StreamsRecord::TargetMetadata(group(), None));
        records.extend(ids().map(|id| StreamsRecord::Member(group(), id, None)));
        records.push(StreamsRecord::Metadata(group(), None));
        records.push(StreamsRecord::Topology(group(), None));
        records
    }

    /// Whether a member, or somebody outside an empty group, may commit these partitions
    /// (`StreamsGroup.validateOffsetCommit`).
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, or UNSUPPORTED_VERSION for requests that do not know member epochs.
    pub(crate) fn validate_commit(&self, request: &Committer<'_>) -> Result<(), ErrorCode> {
        if request.epoch < 0 && self.is_empty() {
            return Ok(());
        }
        let outside = request.epoch == -1 && request.member_id.is_empty() && request.instance_id.is_none();
        if request.is_transactional && outside {
            return Ok(());
        }
        let member = self.member(request.member_id).ok_or(ErrorCode::UnknownMemberId)?;
        if !request.is_transactional && !request.knows_member_epochs {
            return Err(ErrorCode::UnsupportedVersion);
        }
        let current = &member.current;
        if request.epoch == current.epoch {
            return Ok(());
        }
        if request.epoch > current.epoch {
            return Err(ErrorCode::StaleMemberEpoch);
        }
        // An older epoch will do for tasks that were the member's then and are still.
        let topology = self.topology.as_ref().ok_or(ErrorCode::StaleMemberEpoch)?;
        for (topic, partition) in &request.partitions {
            let subtopology = topology.reader_of(topic).ok_or(ErrorCode::StaleMemberEpoch)?;
            let given = current.assigned.active_epoch(subtopology, *partition);
            let given = given.or_else(|| current.revoking.active_epoch(subtopology, *partition));
            if given.is_none_or(|given| request.epoch < given) {
                return Err(ErrorCode::StaleMemberEpoch);
            }
        }
        Ok(())
    }

    /// Whether a member, or somebody outside the group, may read offsets.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH.
    pub(crate) fn validate_fetch(&self, member_id: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        let Some(id) = member_id else {
            return if epoch < 0 { Ok(()) } else { Err(ErrorCode::UnknownMemberId) };
        };
        let member = self.member(id).ok_or(ErrorCode::UnknownMemberId)?;
        if member.current.epoch == epoch { Ok(()) } else { Err(ErrorCode::StaleMemberEpoch) }
    }
}

/// Who commits which partitions.
#[derive(Debug)]
pub(crate) struct Committer<'a> {
    pub(crate) member_id: &'a str,
    pub(crate) instance_id: Option<&'a str>,
    pub(crate) epoch: i32,
    pub(crate) is_transactional: bool,
    /// The request is of a version that members of this protocol use.
    pub(crate) knows_member_epochs: bool,
    pub(crate) partitions: Vec<(&'a str, i32)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::streams::member::Current;
    use crate::groups::streams::topology::Subtopology;

    fn text(value: &str) -> Arc<str> {
        Arc::from(value)
    }

    fn group() -> Group {
        let mut group = Group::new(text("g"));
        let subtopology = Subtopology { source_topics: vec![text("in")], ..Subtopology::default() };
        let topology = Topology { epoch: 0, subtopologies: BTreeMap::from([(text("0"), subtopology)]) };
        assert!(group.apply(&StreamsRecord::Topology(text("g"), Some(topology))));
        let mut profile = Member::new(text("m")).profile;
        profile.instance_id = Some(text("i"));
        assert!(group.apply(&StreamsRecord::Member(text("g"), text("m"), Some(profile))));
        let mut current = Current { epoch: 7, previous_epoch: 6, ..Current::none() };
        current.assigned.active.insert(text("0"), BTreeMap::from([(0, 5), (1, 7)]));
        current.revoking.active.insert(text("0"), BTreeMap::from([(2, 3)]));
        assert!(group.apply(&StreamsRecord::Current(text("g"), text("m"), Some(current))));
        group
    }

    fn by<'a>(member_id: &'a str, epoch: i32, partitions: &[i32]) -> Committer<'a> {
        Committer {
            member_id,
            instance_id: None,
            epoch,
            is_transactional: false,
            knows_member_epochs: true,
            partitions: partitions.iter().map(|partition| ("in", *partition)).collect(),
        }
    }

    #[test]
    fn commits_are_taken_of_the_epoch_that_owns_the_task() {
        let group = group();
        let stale = Err(ErrorCode::StaleMemberEpoch);
        assert_eq!(group.validate_commit(&by("m", 7, &[9])), Ok(()));
        assert_eq!(group.validate_commit(&by("m", 8, &[0])), stale);
        assert_eq!(group.validate_commit(&by("m", 6, &[0])), Ok(()));
        assert_eq!(group.validate_commit(&by("m", 6, &[0, 1])), stale, "given with epoch 7");
        assert_eq!(group.validate_commit(&by("m", 4, &[2])), Ok(()), "it still has it");
        assert_eq!(group.validate_commit(&by("m", 4, &[3])), stale);
        assert_eq!(
            group.validate_commit(&Committer { partitions: vec![("other", 0)], ..by("m", 6, &[]) }),
            stale
        );
        assert_eq!(group.validate_commit(&by("x", 7, &[0])), Err(ErrorCode::UnknownMemberId));
        let old = Committer { knows_member_epochs: false, ..by("m", 7, &[0]) };
        assert_eq!(group.validate_commit(&old), Err(ErrorCode::UnsupportedVersion));
    }

    #[test]
    fn who_is_outside_commits_to_an_empty_group_or_in_a_transaction() {
        let group = group();
        assert_eq!(group.validate_commit(&by("", -1, &[0])), Err(ErrorCode::UnknownMemberId));
        assert_eq!(group.validate_commit(&Committer { is_transactional: true, ..by("", -1, &[0]) }), Ok(()));
        assert_eq!(Group::new(text("e")).validate_commit(&by("", -1, &[0])), Ok(()));
        assert_eq!(group.validate_fetch(None, -1), Ok(()));
        assert_eq!(group.validate_fetch(Some("m"), 7), Ok(()));
        assert_eq!(group.validate_fetch(Some("m"), 6), Err(ErrorCode::StaleMemberEpoch));
        assert_eq!(group.validate_fetch(Some("x"), 7), Err(ErrorCode::UnknownMemberId));
    }

    #[test]
    fn static_members_are_found_by_name_until_they_go() {
        let mut group = group();
        assert_eq!(group.static_member("i").map(|member| &*member.id), Some("m"));
        let mut profile = Member::new(text("n")).profile;
        profile.instance_id = Some(text("i"));
        group.apply(&StreamsRecord::Member(text("g"), text("n"), Some(profile)));
        group.apply(&StreamsRecord::Member(text("g"), text("m"), None));
        assert_eq!(
            group.static_member("i").map(|member| &*member.id),
            Some("n"),
            "the later one holds the name"
        );
        group.apply(&StreamsRecord::Member(text("g"), text("n"), None));
        assert!(group.static_member("i").is_none() && group.is_empty());
    }

    #[test]
    fn states_follow_epochs() {
        let mut group = group();
        let metadata = |epoch, validated| Metadata {
            epoch,
            validated_topology_epoch: validated,
            ..Group::new(text("g")).metadata
        };
        let target =
            |epoch| StreamsRecord::TargetMetadata(text("g"), Some(TargetMetadata { epoch, timestamp_ms: 1 }));
        let name = |group: &Group| group.state().name();
        group.apply(&StreamsRecord::Metadata(text("g"), Some(metadata(8, -1))));
        assert_eq!(name(&group), "NotReady");
        group.apply(&StreamsRecord::Metadata(text("g"), Some(metadata(8, 0))));
        assert_eq!(name(&group), "Assigning");
        group.apply(&target(8));
        assert_eq!(name(&group), "Reconciling");
        group.apply(&target(7));
        group.apply(&StreamsRecord::Metadata(text("g"), Some(metadata(7, 0))));
        assert_eq!(name(&group), "Stable");
        assert!(group.is_subscribed("in") && !group.is_subscribed("out"));
        for record in group.tombstones() {
            let stays = group.apply(&record);
            assert_eq!(stays, !matches!(record, StreamsRecord::Metadata(..)));
        }
        assert_eq!(name(&group), "Empty");
    }
}
