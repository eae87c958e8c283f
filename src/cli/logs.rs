//! Where log lines go and how many of them: standard error, by `DOHLE_LOG`.

use crate::io::log_levels;
use std::io::IsTerminal;
use tracing::level_filters::LevelFilter;
use tracing::warn;
use tracing_subscriber::EnvFilter;

/// Starts logging. `DOHLE_LOG` takes a level or a filter such as `info,dohle::log=debug`; the variable of Kafka's
/// images for the root level counts below it. A filter that names no level, or cannot be read, falls back to `info`, which is
/// said.
pub(super) fn start(environment: &[(String, String)]) -> Levels {
    let asked = wanted(environment).unwrap_or_else(|| "info".to_owned());
    let is_good = names_levels(&asked) && EnvFilter::try_new(&asked).is_ok();
    let wanted = if is_good { asked.clone() } else { "info".to_owned() };
    let filter = EnvFilter::new(&wanted);
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(true)
        // A line that cannot be written is lost: saying so on the same standard error would panic, and a full disk
        // under the log must not end a broker that still serves.
        .log_internal_errors(false)
        .with_filter_reloading();
    let handle = subscriber.reload_handle();
    let apply = move |filter: &str| match EnvFilter::try_new(filter) {
        Ok(filter) => handle.reload(filter).is_ok(),
        Err(_) => false,
    };
    // A second start in one process (tests) keeps the first one's settings.
    subscriber.try_init().unwrap_or(());
    if !is_good {
        warn!("DOHLE_LOG is {asked:?}, which names no level: error, warn, info, debug or trace; taking info");
    }
    log_levels::started_with(LevelFilter::current().into_level().map_or("OFF", |level| level.as_str()));
    Levels { base: wanted, apply: Box::new(apply) }
}

/// What puts other levels in force.
pub(super) struct Levels {
    /// The filter of the start.
    base: String,
    apply: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Levels {
    /// Follows the levels that are changed while the process runs, for ever.
    pub(super) async fn follow(self) {
        let mut changes = log_levels::watch();
        while changes.changed().await.is_ok() {
            let filter = log_levels::filter(&self.base, &changes.borrow_and_update());
            if !(self.apply)(&filter) {
                warn!(filter, "the levels of the log stay as they were");
            }
        }
    }
}

/// Whether some part of a filter has a level: one without is taken for the name of a module, and nothing else is shown.
fn names_levels(filter: &str) -> bool {
    filter.split(',').any(|part| {
        let level = part.rsplit('=').next().unwrap_or(part).trim();
        level.parse::<LevelFilter>().is_ok()
    })
}

fn wanted(environment: &[(String, String)]) -> Option<String> {
    let value = |name: &str| environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    if let Some(filter) = value("DOHLE_LOG").filter(|filter| !filter.is_empty()) {
        return Some(filter.to_owned());
    }
    let level = match value("KAFKA_LOG4J_ROOT_LOGLEVEL")?.to_uppercase().as_str() {
        "OFF" => "off",
        "FATAL" | "ERROR" => "error",
        "WARN" => "warn",
        "DEBUG" => "debug",
        "TRACE" | "ALL" => "trace",
        _ => "info",
    };
    Some(level.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_without_a_level_is_noticed() {
        for good in ["info", "WARN", "off", "info,dohle::log=debug", "dohle::net=debug", "info,dohle::log"] {
            assert!(names_levels(good), "{good}");
        }
        for bad in ["nonsense", "in fo", "dohle::net", "dohle::net,dohle::log=loud"] {
            assert!(!names_levels(bad), "{bad}");
        }
    }

    #[test]
    fn our_variable_counts_over_the_one_of_kafkas_images() {
        let environment = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let kafka = ("KAFKA_LOG4J_ROOT_LOGLEVEL", "DEBUG");
        assert_eq!(wanted(&environment(&[])), None);
        assert_eq!(wanted(&environment(&[kafka])).as_deref(), Some("debug"));
        assert_eq!(wanted(&environment(&[("DOHLE_LOG", "warn"), kafka])).as_deref(), Some("warn"));
    }
}
