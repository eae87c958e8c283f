//! Who leads a partition now, for clients that asked the wrong broker (KIP-951).

use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::cluster::Image;
use crate::protocol::produce::LeaderIdAndEpoch;
use crate::protocol::produce::NodeEndpoint;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;

/// How a request names a topic.
#[derive(Clone, Copy, Debug)]
pub(in crate::broker) enum Topic<'a> {
    Id(TopicId),
    Name(&'a str),
}

/// The leaders that an answer names, and where they listen, each once.
#[derive(Debug)]
pub(in crate::broker) struct Leaders {
    image: Arc<Image>,
    listener: String,
    pub(in crate::broker) endpoints: Vec<NodeEndpoint>,
}

impl Leaders {
    pub(in crate::broker) fn new(broker: &Broker, listener: &str) -> Leaders {
        Leaders { image: broker.publisher.current(), listener: listener.to_owned(), endpoints: Vec::new() }
    }

    /// The partition's leader; its address on the client's listener is added to the endpoints.
    pub(in crate::broker) fn of(&mut self, topic: Topic<'_>, index: PartitionIndex) -> LeaderIdAndEpoch {
        let topic = match topic {
            Topic::Id(id) => self.image.topic_by_id(id),
            Topic::Name(name) => self.image.topic(name),
        };
        let Some(partition) = topic.and_then(|topic| topic.partition(index)) else {
            return LeaderIdAndEpoch { leader_id: -1, leader_epoch: LeaderEpoch::NONE.0 };
        };
        let (id, epoch) = (partition.leader, partition.leader_epoch);
        if !self.endpoints.iter().any(|endpoint| endpoint.node_id == id.0)
            && let Some(broker) = self.image.broker(id)
            && let Some(endpoint) = broker.endpoint(&self.listener)
        {
            self.endpoints.push(NodeEndpoint {
                node_id: id.0,
                host: StrBytes::from_string(endpoint.host.clone()),
                port: i32::from(endpoint.port),
                rack: broker.rack.clone().map(StrBytes::from_string),
            });
        }
        LeaderIdAndEpoch { leader_id: id.0, leader_epoch: epoch.0 }
    }
}
