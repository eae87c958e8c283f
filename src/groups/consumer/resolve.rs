//! Resolving the patterns of a group (`GroupMetadataManager.handleRegularExpressionsResult`).

use crate::groups::consumer::patterns;
use crate::groups::consumer::record::Fact;
use crate::groups::consumer::record::PatternValue;
use crate::groups::consumer::subscription;
use crate::groups::consumer::turn::Turn;
use std::sync::Arc;

impl Turn<'_> {
    /// Looks up which topics every pattern stands for; other topics than before ask for a new assignment.
    pub(crate) fn resolve_patterns(&mut self) {
        self.touch(|group| group.volatile.resolving = false);
        let image = self.world.image;
        let all: Vec<Arc<str>> = self.group.patterns().cloned().collect();
        let mut differs = false;
        for pattern in all {
            let topics = patterns::matching(&pattern, image);
            differs |= match self.group.resolved(&pattern) {
                Some(before) => before.topics != topics,
                None => !topics.is_empty(),
            };
            let value = PatternValue { topics, version: image.offset.0, resolved: self.world.now.0 };
            self.push(Fact::Pattern(pattern, Some(value)));
        }
        let metadata_hash = subscription::metadata_hash(&self.group, image);
        if differs || metadata_hash != self.group.metadata_hash {
            self.bump(metadata_hash);
            let epoch = self.group.epoch;
            self.touch(|group| group.volatile.refreshed = Some(epoch));
        }
    }
}
