//! Doors to the readers of group records and of what members send each other, for `fuzz/`.

use crate::base::Offset;
use crate::base::ProducerId;
use crate::cluster::Image;
use crate::coordinator::Machine;
use crate::coordinator::Place;
use crate::coordinator::machine::Entry;
use crate::groups::classic::subscription;
use crate::groups::consumer::patterns;
use crate::groups::machine::Groups;
use crate::groups::record::Record;
use crate::groups::settings::Settings;
use bytes::Bytes;
use std::sync::Arc;

/// How many topics a member's subscription names; `None` when it is not one.
pub fn subscribed(metadata: &Bytes) -> Option<usize> {
    subscription::topics(metadata).ok().map(|topics| topics.len())
}

/// Whether a pattern of topics is taken; it is held against the names of the image's topics as a group does.
pub fn pattern(pattern: &str, image: &Image) -> bool {
    let taken = patterns::check(pattern).is_ok();
    let matched = patterns::matching(pattern, image);
    assert!(taken || matched.is_empty(), "what is no pattern matches nothing");
    taken
}

/// Reads the entries and applies what was read, as a coordinator does when it loads its partition. How many were
/// records of groups.
pub fn load(settings: &Arc<Settings>, entries: impl Iterator<Item = Entry>) -> usize {
    let mut groups = Groups::new(settings.clone(), Arc::new(Image::empty("c")));
    let mut count = 0;
    for (offset, entry) in (0..).zip(entries) {
        let Ok(Some(record)) = Groups::decode(&entry) else { continue };
        // Large ones would take their memory three times.
        if entry.value.as_ref().is_none_or(|value| value.len() < 1 << 14) {
            assert_eq!(Record::read(&record.write()), Ok(Some(record.clone())), "what was written is read");
        }
        groups.apply(Place { offset: Offset(offset), producer: ProducerId::NONE }, &record);
        count += 1;
    }
    count
}
