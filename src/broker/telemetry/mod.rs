//! Figures that clients measure and push here (KIP-714): which are wanted of whom, and what came.

pub(super) mod get_subscriptions;
mod instances;
pub(super) mod push;
mod subscriptions;

pub use instances::Telemetry;
pub(super) use instances::Tie;

#[cfg(test)]
mod tests;
