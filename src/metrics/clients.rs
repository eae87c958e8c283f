//! What clients push about themselves (KIP-714), for a bounded number of series.

use crate::metrics::Counter;
use crate::metrics::Gauge;
use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::registry::Collectors;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest text of a client that becomes a label, in bytes.
const TEXT_MAX: usize = 256;

/// Client instance, name of the figure, attributes.
type Key = (String, String, String);

/// Handles of what clients pushed.
#[derive(Clone, Debug)]
pub struct Clients {
    series: Arc<Mutex<BTreeMap<Key, Series>>>,
    /// Client instances that are known.
    pub instances: Gauge,
    /// Pushes that were taken.
    pub pushes: Counter,
    /// Pushes that were refused.
    pub refused: Counter,
    dropped: Counter,
    shown: Family,
}

#[derive(Clone, Debug)]
struct Series {
    client_id: String,
    value: f64,
}

/// One figure of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// Its attributes as one text.
    pub attributes: String,
    /// Its value.
    pub value: f64,
    /// Whether the value adds to the one before.
    pub delta: bool,
}

impl Clients {
    pub(super) fn new(collectors: &mut Collectors) -> Clients {
        const LABELS: &[&str] = &["metric", "client_id", "client_instance_id", "attributes"];
        Clients {
            series: Arc::default(),
            instances: collectors
                .gauge("dohle_client_instances", "Clients that asked which figures are wanted of them."),
            pushes: collectors
                .counter("dohle_client_pushes_total", "Reports of client figures that were taken."),
            refused: collectors
                .counter("dohle_client_pushes_refused_total", "Reports of client figures that were refused."),
            dropped: collectors.counter(
                "dohle_client_figures_dropped_total",
                "Client figures that found no room among dohle.client.metrics.series.max.",
            ),
            shown: collectors.looked_up_gauge(
                String::from("dohle_client_metrics"),
                LABELS,
                "Figures that clients measure and push here (KIP-714), under the names they give them.",
            ),
        }
    }

    /// Takes a figure that a client pushed. One that is not known yet finds room only while there are fewer than `max`.
    pub fn push(&self, instance: &str, client_id: &str, figure: Figure, max: usize) {
        let key = (instance.to_owned(), cut(figure.name), cut(figure.attributes));
        let mut series = self.series.lock();
        if !series.contains_key(&key) && series.len() >= max {
            self.dropped.inc();
            return;
        }
        let fresh = || Series { client_id: cut(client_id.to_owned()), value: 0.0 };
        let known = series.entry(key).or_insert_with(fresh);
        known.value = if figure.delta { known.value + figure.value } else { figure.value };
    }

    /// Forgets a client that is gone.
    pub fn forget(&self, instance: &str) {
        let mut series = self.series.lock();
        let first = (instance.to_owned(), String::new(), String::new());
        let keys: Vec<Key> =
            series.range(first..).map(|(key, _)| key).take_while(|key| key.0 == instance).cloned().collect();
        for key in keys {
            series.remove(&key);
        }
    }

    pub(super) fn show(&self, page: &mut Page) {
        let series = self.series.lock().clone();
        let labels: Vec<([&str; 4], f64)> = series
            .iter()
            .map(|((instance, name, attributes), series)| {
                (
                    [name.as_str(), series.client_id.as_str(), instance.as_str(), attributes.as_str()],
                    series.value,
                )
            })
            .collect();
        self.shown.show(page, labels.iter().map(|(labels, value)| (labels.as_slice(), *value)));
    }
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_MAX));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Observed;
    use crate::metrics::Registry;

    fn figure(name: &str, value: f64, delta: bool) -> Figure {
        Figure { name: name.to_owned(), attributes: "node=1".to_owned(), value, delta }
    }

    #[test]
    fn figures_add_up_find_bounded_room_and_go_with_their_client() {
        let registry = Registry::new();
        let clients = registry.clients();
        for value in [2.0, 3.0] {
            clients.push("i", "me", figure("a", value, true), 2);
            clients.push("i", "me", figure("b", value, false), 2);
        }
        clients.push("i", "me", figure("c", 1.0, false), 2);
        let text = registry.text(&Observed::default());
        let line = |name: &str, value: u8| {
            let labels =
                format!(r#"metric="{name}",client_id="me",client_instance_id="i",attributes="node=1""#);
            format!("dohle_client_metrics{{{labels}}} {value}")
        };
        assert!(text.contains(&line("a", 5)) && text.contains(&line("b", 3)), "{text}");
        assert!(text.contains("dohle_client_figures_dropped_total 1") && !text.contains("metric=\"c\""));
        clients.push("j", "\"\n", figure("c", 1.0, false), 9);
        clients.forget("i");
        let text = registry.text(&Observed::default());
        assert!(!text.contains("metric=\"a\"") && text.contains(r#"client_id="\"\n""#), "{text}");
    }
}
