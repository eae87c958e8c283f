//! What a client's changes of topics are paid with (KIP-599): one token for each partition made or deleted.

use super::Refusal;
use crate::base::ErrorCode;
use parking_lot::Mutex;
use std::sync::Arc;

/// Tokens that requests of one client share. Whoever limits the client puts them back; the controller takes them.
#[derive(Clone, Debug)]
pub struct Allowance {
    tokens: Arc<Mutex<f64>>,
}

/// An allowance and how it is held to. Requests that have no place for the refusal are never refused.
#[derive(Clone, Debug)]
pub struct Permit {
    /// The tokens.
    pub allowance: Allowance,
    /// Whether a client without tokens is refused.
    pub strict: bool,
}

impl Allowance {
    /// So many tokens.
    pub fn new(tokens: f64) -> Allowance {
        Allowance { tokens: Arc::new(Mutex::new(tokens)) }
    }

    /// The tokens that are left; below zero when more were taken than there were.
    pub fn tokens(&self) -> f64 {
        *self.tokens.lock()
    }

    /// Puts tokens back, up to `most`.
    pub fn put_back(&self, tokens: f64, most: f64) {
        let mut held = self.tokens.lock();
        *held = (*held + tokens).min(most);
    }

    /// Takes as many as a change costs. With `strict` nothing is taken, and false given back, when there is a debt.
    pub fn take(&self, count: usize, strict: bool) -> bool {
        let mut held = self.tokens.lock();
        if strict && *held < 0.0 {
            return false;
        }
        *held -= f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        true
    }
}

/// Pays for so many partitions.
///
/// # Errors
/// `THROTTLING_QUOTA_EXCEEDED` when the client is in debt.
pub(super) fn pay(permit: Option<&Permit>, partitions: usize) -> Result<(), Refusal> {
    match permit {
        Some(permit) if !permit.allowance.take(partitions, permit.strict) => {
            Err(Refusal::new(ErrorCode::ThrottlingQuotaExceeded, "The throttling quota has been exceeded."))
        }
        Some(_) | None => Ok(()),
    }
}
