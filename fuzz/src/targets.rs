//! The targets.

mod admin;
mod codecs;
mod disk;
pub(crate) mod groups;
mod metadata;
mod records;
mod requests;
mod settings;

use super::input::Input;

/// A function that decodes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name; corpus and crashers lie in folders of this name.
    pub name: &'static str,
    /// What it does with an input; panics when something is wrong.
    pub run: fn(&mut Input<'_>),
    /// Bytes of heap beyond the budget, for what the target itself needs.
    pub extra_heap: usize,
}

const fn target(name: &'static str, run: fn(&mut Input<'_>)) -> Target {
    Target { name, run, extra_heap: 0 }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("request", requests::request),
    target("produce", requests::produce),
    target("fetch", requests::fetch),
    target("answers", requests::answers),
    target("payloads", requests::payloads),
    target("batch", records::batch),
    target("records", records::records),
    target("codecs", codecs::codecs),
    target("indexes", disk::indexes),
    target("checkpoints", disk::checkpoints),
    // The simulated disk and the state of an open log directory are the target's own.
    Target { extra_heap: 4 * 1024 * 1024, ..target("recovery", disk::recovery) },
    target("metadata", metadata::metadata),
    target("coordinator", metadata::coordinator),
    target("settings", settings::settings),
    // Image and settings that every input begins with.
    Target { extra_heap: 2 * 1024 * 1024, ..target("admin", admin::admin) },
    // A pattern may be compiled to a MiB, and is compiled alone and within others.
    Target { extra_heap: 16 * 1024 * 1024, ..target("patterns", groups::patterns) },
    // Groups with all their members, and what they wrote.
    Target { extra_heap: 8 * 1024 * 1024, ..target("members", groups::members) },
    target("telemetry", groups::telemetry),
];
