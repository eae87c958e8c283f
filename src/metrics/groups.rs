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
    /// Committed offsets that are kept.
    pub offsets: usize,
}

/// A measurement with what it shows.
type Showing = (Family, fn(&Groups) -> usize);

/// The names of what is shown of groups.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    families: [Showing; 6],
}

impl Shown {
    pub(super) fn new(collectors: &mut Collectors) -> Shown {
        let mut one = |name: &str, help, value: fn(&Groups) -> usize| {
            let name = format!("kafka_coordinator_group_groupmetadatamanager_{name}");
            (collectors.looked_up_gauge(name, &[], help), value)
        };
        Shown {
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
    }
}
