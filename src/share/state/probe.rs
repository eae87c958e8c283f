//! A door to the reader of the records of `__share_group_state`, for `fuzz/`.

use crate::base::Offset;
use crate::base::ProducerId;
use crate::coordinator::Machine;
use crate::coordinator::Place;
use crate::coordinator::machine::Entry;
use crate::share::state::machine::States;
use crate::share::state::record::Record;
use crate::share::state::settings::Settings;
use std::sync::Arc;

/// Reads the entries and applies what was read, as a coordinator does when it loads its partition. How many were
/// records of share-partitions.
pub fn load(settings: &Arc<Settings>, entries: impl Iterator<Item = Entry>) -> usize {
    let mut states = States::new(Arc::clone(settings));
    let mut count = 0;
    for (offset, entry) in (0..).zip(entries) {
        let Ok(Some(record)) = States::decode(&entry) else { continue };
        // Large ones would take their memory three times.
        if entry.value.as_ref().is_none_or(|value| value.len() < 1 << 14) {
            assert_eq!(Record::read(&record.write()), Ok(Some(record.clone())), "what was written is read");
        }
        states.apply(Place { offset: Offset(offset), producer: ProducerId::NONE }, &record);
        count += 1;
    }
    count
}
