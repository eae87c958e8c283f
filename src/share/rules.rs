//! The settings of a share group as they are now: its own, or the broker's (`ShareGroupConfigProvider`).

use crate::base::Timestamp;
use crate::cluster::Image;
use crate::cluster::controller::features::SHARE_VERSION;
use crate::config::OffsetReset as Reset;
use crate::config::ServerConfig;
use crate::replica::Reader;
use crate::share::partition::Rules;
use crate::share::state::settings::number;
use std::time::Duration;

/// From this level of it on there are dead-letter topics (KIP-1191).
const DEAD_LETTERS_FROM: i16 = 2;

/// What the broker says for groups that say nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defaults {
    lock_duration_ms: u64,
    delivery_limit: i16,
    locks_max: i64,
}

impl Defaults {
    pub(crate) fn of(config: &ServerConfig) -> Defaults {
        Defaults {
            lock_duration_ms: number(config, "group.share.record.lock.duration.ms"),
            delivery_limit: number(config, "group.share.delivery.count.limit"),
            locks_max: number(config, "group.share.partition.max.record.locks"),
        }
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRules {
    /// `share.record.lock.duration.ms`
    pub lock_duration: Duration,
    /// `share.auto.offset.reset`
    pub reset: Reset,
    /// `share.isolation.level`
    pub committed_only: bool,
    /// `errors.deadletterqueue.topic.name`; `None` for no such topic.
    pub dead_letter_topic: Option<String>,
    /// `errors.deadletterqueue.copy.record.enable`
    pub copies_dead_letters: bool,
    pub(crate) rules: Rules,
}

impl GroupRules {
    pub(crate) fn of(defaults: Defaults, image: &Image, group: &str) -> GroupRules {
        let own = image.group_configs(group);
        let text = |name: &str| own.get(name).map(|value| value.trim());
        let is = |name: &str, default: bool| {
            text(name).map_or(default, |value| value.eq_ignore_ascii_case("true"))
        };
        let level = image.features().get(SHARE_VERSION).copied().unwrap_or(0);
        let topic = text("errors.deadletterqueue.topic.name").filter(|name| !name.is_empty());
        let dead_letter_topic = topic.filter(|_| level >= DEAD_LETTERS_FROM).map(str::to_owned);
        let lock_ms = text("share.record.lock.duration.ms").and_then(|value| value.parse().ok());
        let limit = text("share.delivery.count.limit").and_then(|value| value.parse().ok());
        let locks = text("share.partition.max.record.locks").and_then(|value| value.parse().ok());
        GroupRules {
            lock_duration: Duration::from_millis(lock_ms.unwrap_or(defaults.lock_duration_ms)),
            reset: text("share.auto.offset.reset").and_then(Reset::parse).unwrap_or(Reset::Latest),
            committed_only: text("share.isolation.level")
                .is_some_and(|level| level.eq_ignore_ascii_case("read_committed")),
            rules: Rules {
                delivery_limit: limit.unwrap_or(defaults.delivery_limit),
                locks_max: locks.unwrap_or(defaults.locks_max),
                renews: is("share.renew.acknowledge.enable", true),
                dead_letters: dead_letter_topic.is_some(),
            },
            dead_letter_topic,
            copies_dead_letters: is("errors.deadletterqueue.copy.record.enable", false),
        }
    }

    pub(crate) fn reader(&self) -> Reader {
        if self.committed_only { Reader::Committed } else { Reader::Consumer }
    }
}

/// The time to look for, where one is to be looked for.
pub(crate) fn since(reset: Reset, now: Timestamp) -> Option<Timestamp> {
    match reset {
        Reset::Since(millis) => Some(Timestamp(now.0.saturating_sub(millis).max(0))),
        Reset::Earliest | Reset::Latest => None,
    }
}
