//! What is different between two images.

use super::image::ConfigResource;
use super::image::Image;
use super::image::ResourceType;
use super::image::Topic;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What changed from one image to a later one. A topic that was deleted and created anew under its name is in both
/// `created` and `deleted`.
#[derive(Debug, Default)]
pub struct Delta {
    /// Topics that only the later image has.
    pub created: Vec<Arc<Topic>>,
    /// Topics that only the earlier image has.
    pub deleted: Vec<Arc<Topic>>,
    /// Topics whose partitions differ, earlier and later.
    pub changed: Vec<(Arc<Topic>, Arc<Topic>)>,
    /// Resources whose settings differ.
    pub configs: Vec<ConfigResource>,
}

impl Delta {
    /// Compares two images; topics that the two share cost one pointer comparison each.
    pub fn between(earlier: &Image, later: &Image) -> Delta {
        let mut delta = Delta::default();
        if !earlier.same_topics(later) {
            delta.compare_topics(earlier, later);
        }
        if !earlier.same_configs(later) {
            delta.compare_configs(earlier, later);
        }
        delta
    }

    fn compare_topics(&mut self, earlier: &Image, later: &Image) {
        for topic in later.topics() {
            match earlier.topic(&topic.name) {
                Some(before) if Arc::ptr_eq(before, topic) => {}
                Some(before) if before.id == topic.id => {
                    self.changed.push((Arc::clone(before), Arc::clone(topic)));
                }
                _ => self.created.push(Arc::clone(topic)),
            }
        }
        for topic in earlier.topics() {
            if later.topic(&topic.name).is_none_or(|after| after.id != topic.id) {
                self.deleted.push(Arc::clone(topic));
            }
        }
    }

    fn compare_configs(&mut self, earlier: &Image, later: &Image) {
        let mut resources: BTreeSet<(ResourceType, &str)> = BTreeSet::new();
        for image in [earlier, later] {
            resources.extend(image.configs().iter().map(|(kind, name, _)| (kind, name)));
        }
        for (kind, name) in resources {
            if earlier.configs().get(kind, name) != later.configs().get(kind, name) {
                self.configs.push(ConfigResource::new(kind, name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::TopicId;
    use crate::cluster::records::ConfigRecord;
    use crate::cluster::records::Record;
    use crate::cluster::records::RemoveTopicRecord;
    use crate::cluster::records::TopicRecord;

    #[test]
    fn a_topic_made_anew_is_deleted_and_created() {
        let (first, second) =
            (TopicId::random_from(crate::io::random::uuid), TopicId::random_from(crate::io::random::uuid));
        let topic = |id| Record::from(TopicRecord { name: "t".to_owned(), topic_id: id });
        let mut earlier = Image::empty("c");
        earlier.apply(&topic(first)).unwrap();
        let mut later = earlier.clone();
        later.apply(&RemoveTopicRecord { topic_id: first }.into()).unwrap();
        later.apply(&topic(second)).unwrap();
        let delta = Delta::between(&earlier, &later);
        assert_eq!(delta.created.iter().map(|topic| topic.id).collect::<Vec<_>>(), [second]);
        assert_eq!(delta.deleted.iter().map(|topic| topic.id).collect::<Vec<_>>(), [first]);
        assert!(delta.changed.is_empty() && delta.configs.is_empty());
    }

    #[test]
    fn only_settings_that_differ_are_named() {
        let set = |name: &str, value: Option<&str>| {
            Record::from(ConfigRecord {
                resource_type: 4,
                resource_name: name.to_owned(),
                name: "k".to_owned(),
                value: value.map(str::to_owned),
            })
        };
        let mut earlier = Image::empty("c");
        earlier.apply(&set("1", Some("a"))).unwrap();
        earlier.apply(&set("2", Some("a"))).unwrap();
        let mut later = earlier.clone();
        later.apply(&set("1", Some("b"))).unwrap();
        later.apply(&set("2", None)).unwrap();
        later.apply(&set("", Some("a"))).unwrap();
        let names: Vec<String> =
            Delta::between(&earlier, &later).configs.into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["", "1", "2"]);
    }
}
