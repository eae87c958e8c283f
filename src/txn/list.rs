//! Which transactional ids ListTransactions shows (KIP-664, KIP-994, KIP-1152).

use crate::base::Timestamp;
use crate::txn::command::List;
use crate::txn::transaction::Transaction;

/// Whether an id passes all filters.
pub(crate) fn passes(filters: &List, id: &str, transaction: &Transaction, now: Timestamp) -> bool {
    let state = filters.states.is_empty() || filters.states.contains(&transaction.state);
    let producer = filters.producers.is_empty() || filters.producers.contains(&transaction.producer);
    let age_ms = now.0.saturating_sub(transaction.started.0);
    let age = filters.longer_than_ms.is_none_or(|limit| age_ms > limit);
    let name = filters.pattern.as_ref().is_none_or(|pattern| pattern.is_match(id));
    state && producer && age && name
}
