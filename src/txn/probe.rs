//! A door to the reader of transaction records, for `fuzz/`.

use crate::base::Offset;
use crate::base::ProducerId;
use crate::coordinator::Machine;
use crate::coordinator::Place;
use crate::coordinator::machine::Entry;
use crate::txn::machine::Transactions;
use crate::txn::record::Record;
use crate::txn::settings::Settings;
use std::sync::Arc;

/// Reads the entries and applies what was read, as a coordinator does when it loads its partition. How many were
/// records of transactions.
pub fn load(settings: &Arc<Settings>, entries: impl Iterator<Item = Entry>) -> usize {
    let mut transactions = Transactions::new(Arc::clone(settings));
    let mut count = 0;
    for (offset, entry) in (0..).zip(entries) {
        let Ok(Some(record)) = Transactions::decode(&entry) else { continue };
        // Large ones would take their memory three times.
        if entry.value.as_ref().is_none_or(|value| value.len() < 1 << 14) {
            assert_eq!(Record::read(&record.write()), Ok(Some(record.clone())), "what was written is read");
        }
        transactions.apply(Place { offset: Offset(offset), producer: ProducerId::NONE }, &record);
        count += 1;
    }
    count
}
