//! Measurements of clients whose use is limited, named by the client and bounded by a setting.

use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::registry::Collectors;

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Bytes of Produce requests.
    Produce,
    /// Bytes of Fetch answers.
    Fetch,
    /// The time of workers.
    Request,
}

/// What a client did in the last windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// What is limited.
    pub what: Limited,
    /// The user, or nothing.
    pub user: String,
    /// The client id, or nothing.
    pub client_id: String,
    /// Bytes a second, or percent of one worker.
    pub rate: f64,
    /// The mean of the pauses in milliseconds; `None` without any.
    pub throttle_ms: Option<f64>,
}

/// The names of what is shown of limits.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    families: [(Limited, Family, Family); 3],
}

impl Shown {
    pub(super) fn new(collectors: &mut Collectors) -> Shown {
        const LABELS: &[&str] = &["user", "client_id"];
        let mut gauge =
            |name: &str, help| collectors.looked_up_gauge(format!("kafka_server_{name}"), LABELS, help);
        let mut kind =
            |what, rate: (&str, &'static str), pause| (what, gauge(rate.0, rate.1), gauge(pause, THROTTLE));
        const THROTTLE: &str = "Mean of the pauses in milliseconds that a client beyond its quota was told in the last windows; \
            not there without pauses.";
        Shown {
            families: [
                kind(
                    Limited::Produce,
                    ("produce_byte_rate", "Bytes a second of a client with producer_byte_rate."),
                    "produce_throttle_time",
                ),
                kind(
                    Limited::Fetch,
                    ("fetch_byte_rate", "Bytes a second to a client with consumer_byte_rate."),
                    "fetch_throttle_time",
                ),
                kind(
                    Limited::Request,
                    (
                        "request_request_time",
                        "Percent of a worker that a client with request_percentage takes.",
                    ),
                    "request_throttle_time",
                ),
            ],
        }
    }

    pub(super) fn show(&self, page: &mut Page, limits: &[Limit]) {
        for (what, rate, throttle) in &self.families {
            let of_kind = || limits.iter().filter(|limit| limit.what == *what);
            let labels: Vec<[&str; 2]> =
                of_kind().map(|limit| [limit.user.as_str(), limit.client_id.as_str()]).collect();
            let each = || labels.iter().map(<[&str; 2]>::as_slice).zip(of_kind());
            rate.show(page, each().map(|(labels, limit)| (labels, limit.rate)));
            throttle.show(page, each().filter_map(|(labels, limit)| Some((labels, limit.throttle_ms?))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Observed;
    use crate::metrics::Registry;

    #[test]
    fn a_limited_client_is_shown_with_its_rate_and_its_pauses() {
        let limit = |what, client_id: &str, throttle_ms| Limit {
            what,
            user: String::new(),
            client_id: client_id.to_owned(),
            rate: 5.0,
            throttle_ms,
        };
        let limits = vec![limit(Limited::Produce, "a", Some(2.0)), limit(Limited::Fetch, "b", None)];
        let text = Registry::new().text(&Observed { limits, ..Observed::default() });
        assert!(text.contains(r#"kafka_server_produce_byte_rate{user="",client_id="a"} 5"#), "{text}");
        assert!(text.contains(r#"kafka_server_produce_throttle_time{user="",client_id="a"} 2"#), "{text}");
        assert!(text.contains(r#"kafka_server_fetch_byte_rate{user="",client_id="b"} 5"#), "{text}");
        assert!(!text.contains("kafka_server_fetch_throttle_time{"), "{text}");
    }
}
