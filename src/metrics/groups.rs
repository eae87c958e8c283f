//! Measurements of the groups that this node coordinates.

use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::family::number;
use crate::metrics::registry::Collectors;

/// The groups coordinated here at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Groups without members.
    pub empty: usize,
    /// Groups that wait for their members to join.
    pub preparing: usize,
    /// Groups that wait for their leader's assignment.
    pub completing: usize,
    /// Groups whose members have their assignment.
    pub stable: usize,
    /// Consumer groups (KIP-848) without members.
    pub consumer_empty: usize,
    /// Consumer groups that are due for a new assignment.
    pub consumer_assigning: usize,
    /// Consumer groups whose members are on the way to their assignment.
    pub consumer_reconciling: usize,
    /// Consumer groups whose members have their assignment.
    pub consumer_stable: usize,
    /// Share groups (KIP-932) without members.
    pub share_empty: usize,
    /// Share groups with members.
    pub share_stable: usize,
    /// Streams groups (KIP-1071) without members.
    pub streams_empty: usize,
    /// Streams groups whose topics are not there.
    pub streams_not_ready: usize,
    /// Streams groups that are due for a new assignment.
    pub streams_assigning: usize,
    /// Streams groups whose members are on the way to their assignment.
    pub streams_reconciling: usize,
    /// Streams groups whose members have their assignment.
    pub streams_stable: usize,
    /// Committed offsets that are kept.
    pub offsets: usize,
}

/// A measurement with what it shows.
type Showing = (Family, fn(&Groups) -> usize);

impl Groups {
    /// Adds those of another partition.
    pub fn add(&mut self, more: &Groups) {
        self.empty += more.empty;
        self.preparing += more.preparing;
        self.completing += more.completing;
        self.stable += more.stable;
        self.consumer_empty += more.consumer_empty;
        self.consumer_assigning += more.consumer_assigning;
        self.consumer_reconciling += more.consumer_reconciling;
        self.consumer_stable += more.consumer_stable;
        self.share_empty += more.share_empty;
        self.share_stable += more.share_stable;
        self.streams_empty += more.streams_empty;
        self.streams_not_ready += more.streams_not_ready;
        self.streams_assigning += more.streams_assigning;
        self.streams_reconciling += more.streams_reconciling;
        self.streams_stable += more.streams_stable;
        self.offsets += more.offsets;
    }
}

/// The names of what is shown of groups.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    families: [Showing; 6],
    consumer: Family,
    share: Family,
    streams: Family,
}

impl Shown {
    pub(super) fn new(collectors: &mut Collectors) -> Shown {
        let name = "kafka_server_group_coordinator_metrics_consumer_group_count";
        let help = "Consumer groups of the newer protocol (KIP-848) coordinated here, by state.";
        let consumer = collectors.looked_up_gauge(name.to_owned(), &["state"], help);
        let name = "kafka_server_group_coordinator_metrics_share_group_count";
        let help = "Share groups (KIP-932) coordinated here, by state.";
        let share = collectors.looked_up_gauge(name.to_owned(), &["state"], help);
        let name = "kafka_server_group_coordinator_metrics_streams_group_count";
        let help = "Streams groups (KIP-1071) coordinated here, by state.";
        let streams = collectors.looked_up_gauge(name.to_owned(), &["state"], help);
        let mut one = |name: &str, help, value: fn(&Groups) -> usize| {
            let name = format!("kafka_coordinator_group_groupmetadatamanager_{name}");
            (collectors.looked_up_gauge(name, &[], help), value)
        };
        Shown {
            consumer,
            share,
            streams,
            families: [
                one("numgroups", "Groups coordinated here.", |it| {
                    it.empty + it.preparing + it.completing + it.stable
                }),
                one("numgroupsempty", "Groups without members.", |it| it.empty),
                one("numgroupspreparingrebalance", "Groups that wait for their members to join.", |it| {
                    it.preparing
                }),
                one(
                    "numgroupscompletingrebalance",
                    "Groups that wait for their leader's assignment.",
                    |it| it.completing,
                ),
                one("numgroupsstable", "Groups whose members have their assignment.", |it| it.stable),
                one("numoffsets", "Committed offsets that are kept.", |it| it.offsets),
            ],
        }
    }

    pub(super) fn show(&self, page: &mut Page, groups: &Groups) {
        for (family, value) in &self.families {
            family.show_one(page, number(u64::try_from(value(groups)).unwrap_or(u64::MAX)));
        }
        let states: [(&[&str], usize); 4] = [
            (&["empty"], groups.consumer_empty),
            (&["assigning"], groups.consumer_assigning),
            (&["reconciling"], groups.consumer_reconciling),
            (&["stable"], groups.consumer_stable),
        ];
        let rows = states.map(|(state, count)| (state, number(u64::try_from(count).unwrap_or(u64::MAX))));
        self.consumer.show(page, rows);
        let states: [(&[&str], usize); 2] =
            [(&["empty"], groups.share_empty), (&["stable"], groups.share_stable)];
        let rows = states.map(|(state, count)| (state, number(u64::try_from(count).unwrap_or(u64::MAX))));
        self.share.show(page, rows);
        let states: [(&[&str], usize); 5] = [
            (&["empty"], groups.streams_empty),
            (&["not_ready"], groups.streams_not_ready),
            (&["assigning"], groups.streams_assigning),
            (&["reconciling"], groups.streams_reconciling),
            (&["stable"], groups.streams_stable),
        ];
        let rows = states.map(|(state, count)| (state, number(u64::try_from(count).unwrap_or(u64::MAX))));
        self.streams.show(page, rows);
    }
}
