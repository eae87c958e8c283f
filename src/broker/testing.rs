//! A broker for the tests of this room.

use crate::broker::AnswerMemory;
use crate::broker::Broker;
use crate::broker::FetchSessions;
use crate::broker::Telemetry;
use crate::cluster::ControllerClient;
use crate::cluster::Image;
use crate::cluster::Publisher;
use crate::config::ServerConfig;
use crate::groups;
use crate::io::Clock;
use crate::metrics::Registry;
use crate::quota::Quotas;
use crate::replica::Moves;
use crate::replica::Replicas;
use crate::share;
use crate::txn;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Node 1 of an empty cluster, without partitions and with a controller that has stopped.
pub(crate) fn idle_broker() -> Arc<Broker> {
    idle_broker_with(&[("node.id", "1")], Image::empty("cluster"))
}

/// The same with these settings and this image; no partition of it is open.
pub(crate) fn idle_broker_with(settings: &[(&str, &str)], image: Image) -> Arc<Broker> {
    let set: BTreeMap<String, String> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let config = Arc::new(ServerConfig::new(&set, "localhost").unwrap());
    let clock = Clock::system();
    let publisher = Publisher::new(image);
    let controller = ControllerClient::stopped();
    let transactions = txn::Service::new(&config, publisher.clone(), controller.clone(), clock.clone());
    let replicas = Replicas::idle(publisher.clone());
    let on = (Arc::clone(&replicas), clock.clone());
    let share = share::Service::new(Arc::clone(&config), publisher.clone(), controller.clone(), on);
    Arc::new(Broker {
        groups: groups::Service::new(&config, publisher.clone(), clock.clone()),
        moves: Moves::none(),
        telemetry: Telemetry::new(&config.telemetry, Registry::new().clients(), clock.clone()),
        quotas: Quotas::new(&config.quotas, clock.clone()),
        config,
        clock,
        replicas,
        publisher,
        fetch_sessions: FetchSessions::new(10),
        transactions,
        share,
        controller,
        answer_memory: AnswerMemory::default(),
        metrics: Registry::new().broker(),
    })
}
