//! How the settings of share groups (KIP-932) have to fit together, as `GroupCoordinatorConfig` and `ShareGroupConfig` of
//! Kafka check it.

use crate::config::define::Invalid;
use crate::config::group_ranges::at_least;
use crate::config::group_ranges::check_heartbeat;
use crate::config::group_ranges::ranged;
use crate::config::values::Values;

/// Refuses what does not fit together.
pub(super) fn check(values: &Values) -> Result<(), Invalid> {
    let (session_timeout_ms, _) = ranged(values, "share", "session.timeout.ms")?;
    let (heartbeat_interval_ms, _) = ranged(values, "share", "heartbeat.interval.ms")?;
    ranged(values, "share", "assignment.interval.ms")?;
    check_heartbeat("share", heartbeat_interval_ms, session_timeout_ms)?;
    for rest in ["delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms"] {
        let name = |which: &str| format!("group.share.{which}{rest}");
        at_least(values, &name("max."), &name(""))?;
        at_least(values, &name(""), &name("min."))?;
    }
    at_least(values, "group.share.max.share.sessions", "group.share.max.size")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::config::group_ranges::with_lines as check;
    use std::collections::BTreeMap;

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let (more, less) = ("must be greater than or equal to", "must be less than or equal to");
        for (name, value, wanted) in [
            ("session.timeout.ms", "1000", more),
            ("session.timeout.ms", "60001", less),
            ("heartbeat.interval.ms", "4999", more),
            ("heartbeat.interval.ms", "50000", less),
            ("max.heartbeat.interval.ms", "4999", more),
            ("assignment.interval.ms", "20000", less),
            ("max.assignment.interval.ms", "999", less),
            ("record.lock.duration.ms", "1000", more),
            ("record.lock.duration.ms", "60001", more),
            ("max.delivery.count.limit", "5", ""),
            ("min.delivery.count.limit", "5", ""),
            ("partition.max.record.locks", "4001", more),
            ("max.share.sessions", "199", "group.share.max.size"),
        ] {
            let key = format!("group.share.{name}");
            let refused = check(&[(&key, value)]).err().unwrap_or_default();
            assert!(refused.contains(wanted) && refused.is_empty() == wanted.is_empty(), "{key}: {refused}");
        }
        let few = [("group.share.delivery.count.limit", "2"), ("group.share.min.delivery.count.limit", "3")];
        assert!(check(&few).unwrap_err().contains("group.share.delivery.count.limit must be greater"));
        let short =
            [("group.share.min.session.timeout.ms", "5000"), ("group.share.session.timeout.ms", "5000")];
        let refused = check(&short).unwrap_err();
        assert!(refused.contains("group.share.heartbeat.interval.ms must be less than group.share.session"));
    }

    #[test]
    fn a_change_while_it_runs_is_checked_too() {
        let config = check(&[]).unwrap();
        let wanted = BTreeMap::from([("group.share.assignment.interval.ms".to_owned(), "20000".to_owned())]);
        assert!(config.with_dynamic(&BTreeMap::new(), &wanted).is_err());
    }
}
