//! Short ways to ask consumer groups, and a cluster with topics.

use super::*;
use crate::cluster::Image;
use crate::cluster::records::ConfigRecord;
use crate::cluster::records::PartitionRecord;
use crate::cluster::testing::add_topic;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command as own;
use crate::groups::consumer::command::{Beaten, Described, Fault};
use crate::groups::consumer::group::Group as Group848;
use crate::groups::kind::Kind;
use std::collections::BTreeSet;
use uuid::Uuid;

pub(super) fn names(names: &[&str]) -> BTreeSet<Arc<str>> {
    names.iter().map(|name| text(name)).collect()
}

/// The id that a topic of this name has in trials.
pub(super) fn topic_id(name: &str) -> TopicId {
    let mut bytes = [0u8; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    TopicId(Uuid::from_bytes(bytes))
}

pub(super) fn parts(all: &[(&str, &[i32])]) -> Partitions {
    all.iter().map(|(name, all)| (topic_id(name), all.iter().copied().collect())).collect()
}

/// A member's first heartbeat.
pub(super) fn join848(id: &str, topics: &[&str]) -> own::Heartbeat {
    own::Heartbeat {
        rebalance_timeout_ms: Some(60_000),
        topics: Some(names(topics)),
        owned: Some(Partitions::new()),
        ..alive(id, 0)
    }
}

/// A heartbeat without news.
pub(super) fn alive(id: &str, epoch: i32) -> own::Heartbeat {
    own::Heartbeat {
        group: text(GROUP),
        member_id: text(id),
        new_member_id: text("fresh"),
        brings_member_id: true,
        epoch,
        instance_id: None,
        rack_id: None,
        rebalance_timeout_ms: None,
        topics: None,
        pattern: None,
        assignor: None,
        owned: None,
        client_id: text("client"),
        client_host: text("/127.0.0.1"),
    }
}

/// A heartbeat that tells what the member has.
pub(super) fn owning(id: &str, epoch: i32, owned: &[(&str, &[i32])]) -> own::Heartbeat {
    own::Heartbeat { owned: Some(parts(owned)), ..alive(id, epoch) }
}

pub(super) fn with_topics(topics: &[(&str, i32)]) -> Trial {
    let mut trial = Trial::new(settings());
    trial.topics(topics);
    trial
}

/// A cluster with just these topics.
pub(super) fn image_of(before: &Image, topics: &[(&str, TopicId, i32)]) -> Image {
    let mut image = Image::empty("c");
    for (name, id, count) in topics {
        let nowhere = |partition| PartitionRecord { replicas: Vec::new(), isr: Vec::new(), ..partition };
        add_topic(&mut image, (name, *id), *count, nowhere);
    }
    image.offset = Offset(before.offset.0 + 1);
    image
}

impl Trial {
    /// From now on the cluster has just these topics.
    pub(super) fn topics(&mut self, topics: &[(&str, i32)]) {
        let topics: Vec<_> = topics.iter().map(|(name, count)| (*name, topic_id(name), *count)).collect();
        self.topics_with_ids(&topics);
    }

    pub(super) fn topics_with_ids(&mut self, topics: &[(&str, TopicId, i32)]) {
        let image = image_of(self.machine.image(), topics);
        self.see(image);
    }

    pub(super) fn see(&mut self, image: Image) {
        self.image = Arc::new(image);
        let image = Arc::clone(&self.image);
        assert_eq!(self.ask(Command::Image(image)), Answer::Done);
    }

    /// Sets something for the group.
    pub(super) fn group_config(&mut self, key: &str, value: &str) {
        let mut image = self.machine.image().clone();
        let record = ConfigRecord {
            resource_type: 32,
            resource_name: GROUP.to_owned(),
            name: key.to_owned(),
            value: Some(value.to_owned()),
        };
        image.apply(&record.into()).unwrap();
        image.offset = Offset(image.offset.0 + 1);
        self.see(image);
    }

    pub(super) fn beat(&mut self, request: own::Heartbeat) -> Result<Beaten, Fault> {
        match self.ask(Command::Consumer(own::Command::Heartbeat(Box::new(request)))) {
            Answer::Consumer(own::Answer::Heartbeat(result)) => result,
            other => panic!("not a heartbeat: {other:?}"),
        }
    }

    pub(super) fn describe848(&mut self) -> Described {
        match self.ask(Command::Consumer(own::Command::Describe(vec![text(GROUP)]))) {
            Answer::Consumer(own::Answer::Describe(mut shown)) => shown.remove(0).unwrap(),
            other => panic!("not a description: {other:?}"),
        }
    }

    pub(super) fn group848(&self) -> &Group848 {
        match self.machine.kind(GROUP) {
            Some(Kind::Consumer(group)) => group,
            other => panic!("no consumer group: {other:?}"),
        }
    }

    pub(super) fn epoch(&self) -> i32 {
        self.group848().epoch
    }
}
