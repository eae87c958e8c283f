//! Making the topic that a coordinator keeps its state in, when it is first asked for.

use crate::base::ErrorCode;
use crate::cluster::ControllerClient;
use crate::cluster::Image;
use crate::cluster::Publisher;
use crate::cluster::Refusal;
use crate::cluster::Topic;
use crate::cluster::command::CreateTopics;
use crate::cluster::command::NewTopic;
use parking_lot::Mutex;
use std::sync::Arc;

/// How the topic is to be made (`AutoTopicCreationManager` in Kafka).
#[derive(Clone, Debug)]
pub struct InternalTopic {
    /// Its name.
    pub name: &'static str,
    /// How many partitions.
    pub partitions: i32,
    /// How many replicas; a smaller cluster uses as many as it has brokers.
    pub replication_factor: i16,
    /// Its own settings.
    pub configs: Vec<(&'static str, String)>,
    /// Why it could not be made, as the log says.
    pub told: Arc<Mutex<Option<String>>>,
}

impl InternalTopic {
    /// The topic in the current image; made first when it is not there. `None` when it cannot be made now.
    pub async fn ensure(&self, publisher: &Publisher, controller: &ControllerClient) -> Option<Arc<Topic>> {
        let image = publisher.current();
        if let Some(topic) = image.topic(self.name) {
            return Some(Arc::clone(topic));
        }
        let command = CreateTopics { topics: vec![self.to_new(&image)], validate_only: false };
        match controller.create_topics(command).await {
            Ok(created) => {
                for refused in created.value.iter().filter_map(|topic| topic.result.as_ref().err()) {
                    self.tell(refused);
                }
            }
            Err(error) => tracing::warn!(topic = self.name, %error, "internal topic cannot be created"),
        }
        publisher.current().topic(self.name).cloned()
    }

    /// One line for each reason: clients ask again and again. That it exists by now is as good as made. Whether there
    /// was a line.
    fn tell(&self, refused: &Refusal) -> bool {
        if refused.code == ErrorCode::TopicAlreadyExists {
            return false;
        }
        let reason = refused.to_string();
        let mut told = self.told.lock();
        let is_new = told.as_deref() != Some(reason.as_str());
        if is_new {
            tracing::warn!(
                topic = self.name,
                partitions = self.partitions,
                reason,
                "the internal topic is not created: no coordinator can be found"
            );
            *told = Some(reason);
        }
        is_new
    }

    fn to_new(&self, image: &Image) -> NewTopic {
        let brokers = image.brokers().filter(|broker| image.is_active(broker.id)).count();
        let replicas = self.replication_factor.min(i16::try_from(brokers).unwrap_or(i16::MAX)).max(1);
        NewTopic {
            name: self.name.to_owned(),
            num_partitions: self.partitions,
            replication_factor: replicas,
            assignments: Vec::new(),
            configs: self
                .configs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), Some(value.clone())))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_why_the_topic_is_not_made_is_told_once() {
        let topic = InternalTopic {
            name: "__consumer_offsets",
            partitions: 50,
            replication_factor: 3,
            configs: Vec::new(),
            told: Arc::default(),
        };
        let refused = |words: &str| Refusal::new(ErrorCode::PolicyViolation, words);
        assert!(
            !topic.tell(&Refusal::new(ErrorCode::TopicAlreadyExists, "there")),
            "that is as good as made"
        );
        let told: Vec<bool> =
            ["one", "one", "two", "two", "one"].iter().map(|words| topic.tell(&refused(words))).collect();
        assert_eq!(told, [true, false, true, false, true]);
    }
}
