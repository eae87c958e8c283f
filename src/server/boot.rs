//! Starting: folders, addresses, metadata, partitions, coordinators, connections.

use crate::admin::Admin;
use crate::admin::Rooms;
use crate::base::BrokerId;
use crate::broker::AnswerMemory;
use crate::broker::Broker;
use crate::broker::FetchSessions;
use crate::broker::Marking;
use crate::broker::Telemetry;
use crate::cluster::Local;
use crate::cluster::Opening;
use crate::cluster::Publisher;
use crate::config::HostPort;
use crate::config::ListenerConfig;
use crate::config::NetworkSettings;
use crate::config::ServerConfig;
use crate::groups;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::task;
use crate::io::task::Task;
use crate::log::Dirs;
use crate::metrics;
use crate::net;
use crate::quota::Quotas;
use crate::replica::Moves;
use crate::replica::Replicas;
use crate::server::Error;
use crate::server::Platform;
use crate::server::cordons;
use crate::server::platform::Sockets;
use crate::share;
use crate::txn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// Where a listener can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The listener's name.
    pub name: String,
    /// What clients are told.
    pub advertised: HostPort,
    /// The addresses it holds.
    pub addresses: Vec<SocketAddr>,
}

/// A running broker. [`Server::stop`] ends it in good order.
pub struct Server {
    pub(super) node_id: BrokerId,
    pub(super) cluster_id: String,
    pub(super) listening: Vec<Listening>,
    pub(super) metrics: metrics::Registry,
    pub(super) admin: Admin,
    pub(super) clock: Clock,
    /// Ends the connections.
    pub(super) connections: Shutdown,
    pub(super) listeners: Vec<Task<()>>,
    /// Ends everything below the connections.
    pub(super) below: Shutdown,
    pub(super) coordination: groups::Running,
    pub(super) groups: groups::Service,
    pub(super) transacting: txn::Running,
    pub(super) transactions: txn::Service,
    pub(super) marking: Marking,
    /// Follows what the image says of limits.
    pub(super) following: Task<()>,
    /// Moves logs between directories.
    pub(super) moving: Task<()>,
    /// Follows what the image says of connections.
    pub(super) limiting: Task<()>,
    /// Follows which log directories get nothing new.
    pub(super) cordoning: Task<()>,
    pub(super) share: share::Service,
    pub(super) sharing: share::Running,
    pub(super) replicas: Arc<Replicas>,
    pub(super) local: Local,
    pub(super) dirs: Dirs,
    pub(super) broker: Arc<Broker>,
}

impl Server {
    /// Starts a broker; when this returns, clients are served.
    ///
    /// # Errors
    /// [`Error`]; then nothing is left running and the folders are closed.
    pub async fn start(config: ServerConfig, platform: Platform) -> Result<Server, Error> {
        let config = Arc::new(config);
        let below = Shutdown::new();
        let metrics = metrics::Registry::new();
        let admin = Admin::start(&config.admin, metrics.clone(), platform.clock.clone()).await?;
        let dirs = match open_folders(&config, &platform, &below, metrics.log()).await {
            Ok(dirs) => dirs,
            Err(error) => {
                admin.stop().await;
                return Err(error);
            }
        };
        let starting = start_in(config, platform, dirs.clone(), below.clone(), (metrics, admin.clone()));
        // Boxed, so that callers need not have room for all of it.
        match Box::pin(starting).await {
            Ok(server) => Ok(server),
            Err(error) => {
                admin.stop().await;
                below.trigger();
                task::run_blocking(move || dirs.close(-1)).await;
                Err(error)
            }
        }
    }

    /// The cluster's id.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The listeners for clients, with the addresses and ports they really have.
    pub fn listening(&self) -> &[Listening] {
        &self.listening
    }

    /// Where `/metrics`, `/live` and `/ready` are served.
    pub fn admin(&self) -> &[SocketAddr] {
        self.admin.addresses()
    }

    /// What answers requests, for those who ask without a connection.
    pub fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// Waits until this broker cannot go on, though nobody asked for its end: its log directories failed, or its
    /// controller stopped. The reason.
    pub async fn failed(&self) -> String {
        tokio::select! {
            biased;
            reason = self.dirs.unusable() => reason,
            () = self.broker.controller.ended() => "the metadata log cannot be written any more".to_owned(),
        }
    }

    /// The log directories.
    pub fn dirs(&self) -> &Dirs {
        &self.dirs
    }

    /// The measurements.
    pub fn metrics(&self) -> &metrics::Registry {
        &self.metrics
    }
}

/// Opens, locks and recovers the log directories.
async fn open_folders(
    config: &ServerConfig,
    platform: &Platform,
    below: &Shutdown,
    metrics: metrics::Log,
) -> Result<Dirs, Error> {
    let (platform, shutdown, settings) = (platform.clone(), below.clone(), config.storage.clone());
    Ok(task::run_blocking(move || platform.open_folders(shutdown, settings, metrics)).await?)
}

async fn start_in(
    config: Arc<ServerConfig>,
    platform: Platform,
    dirs: Dirs,
    below: Shutdown,
    (metrics, admin): (metrics::Registry, Admin),
) -> Result<Server, Error> {
    let (bound, listeners) = bind(&config, platform.sockets).await?;
    let local = open_metadata(&config, &platform, &dirs, listeners.clone(), &below).await?;
    let publisher = local.publisher().clone();
    let clock = platform.clock;
    let (unfinished, deleted) = (dirs.clone(), local.deleted().clone());
    task::run_blocking(move || unfinished.finish_deletions(&deleted)).await;
    let replicas = Replicas::start(
        dirs.clone(),
        publisher.clone(),
        Arc::clone(&config),
        (clock.clone(), metrics.topics()),
        below.clone(),
    )
    .await;
    let groups = groups::Service::new(&config, publisher.clone(), clock.clone());
    let commit_timeout = Duration::from_millis(u64::try_from(config.offsets.commit_timeout_ms).unwrap_or(0));
    let coordination =
        groups::Running::start(&groups, Arc::clone(&replicas), clock.clone(), commit_timeout, &below);
    let transactions =
        txn::Service::new(&config, publisher.clone(), local.controller().clone(), clock.clone());
    let transacting = txn::Running::start(&transactions, Arc::clone(&replicas), clock.clone(), &below);
    let quotas = Quotas::new(&config.quotas, clock.clone());
    quotas.update(&publisher.current()).await;
    let following = quotas.follow(&publisher, below.clone());
    let controller = (local.controller().clone(), publisher.clone());
    let (moves, moving) =
        Moves::start(&replicas, controller, Arc::clone(&config), clock.clone(), below.clone());
    let share = share::Service::new(
        Arc::clone(&config),
        publisher.clone(),
        local.controller().clone(),
        (Arc::clone(&replicas), clock.clone()),
    );
    let sharing = share::Running::start(&share, Arc::clone(&replicas), clock.clone(), &below);
    let broker = Arc::new(Broker {
        moves,
        config: Arc::clone(&config),
        clock: clock.clone(),
        quotas,
        telemetry: Telemetry::new(&config.telemetry, metrics.clients(), clock.clone()),
        publisher,
        controller: local.controller().clone(),
        groups: groups.clone(),
        replicas: Arc::clone(&replicas),
        fetch_sessions: FetchSessions::new(usize::try_from(config.network.fetch_session_slots).unwrap_or(0)),
        transactions: transactions.clone(),
        share: share.clone(),
        answer_memory: AnswerMemory::default(),
        metrics: metrics.broker(),
    });
    let marking = Marking::start(&broker, &below);
    let connections = Shutdown::new();
    let network = network_settings(&config, local.publisher());
    let service =
        net::Service::new(Arc::clone(&broker), &network, clock.clone(), connections.clone(), metrics.net())
            .await;
    let limiting = follow_limits(&service, &config, local.publisher(), below.clone());
    let cordoning = cordons::follow(&dirs, &config, local.publisher(), local.controller(), below.clone());
    let listening = listening(&bound, &listeners);
    // Who is answered on one of these addresses finds the broker ready.
    admin.ready(Rooms { broker: Arc::clone(&broker) });
    let tasks = bound.into_iter().map(|bound| service.serve(bound)).collect();
    Ok(Server {
        node_id: config.node_id,
        cluster_id: dirs.cluster_id().to_owned(),
        listening,
        metrics,
        admin,
        clock,
        connections,
        listeners: tasks,
        below,
        coordination,
        groups,
        transacting,
        transactions,
        marking,
        following,
        moving,
        limiting,
        cordoning,
        share,
        sharing,
        replicas,
        local,
        dirs,
        broker,
    })
}

/// Takes the addresses of all listeners, if there are to be `sockets`. The settings come back with the ports that the
/// system chose.
async fn bind(
    config: &ServerConfig,
    sockets: Sockets,
) -> Result<(Vec<net::Bound>, Vec<ListenerConfig>), Error> {
    if sockets == Sockets::None {
        return Ok((Vec::new(), config.listeners.clone()));
    }
    let mut sockets = Vec::new();
    let mut listeners = Vec::new();
    for listener in &config.listeners {
        let bound = net::bind(listener, &config.network).await.map_err(|source| Error::Listen {
            listener: listener.name.clone(),
            address: HostPort { host: listener.host.clone(), port: listener.port }.to_string(),
            source,
        })?;
        let port = bound.first().map_or(listener.port, |first| first.address().port());
        let mut listener = listener.clone();
        listener.port = port;
        if listener.advertised.port == 0 {
            listener.advertised.port = port;
        }
        listeners.push(listener);
        sockets.extend(bound);
    }
    Ok((sockets, listeners))
}

async fn open_metadata(
    config: &Arc<ServerConfig>,
    platform: &Platform,
    dirs: &Dirs,
    listeners: Vec<ListenerConfig>,
    below: &Shutdown,
) -> Result<Local, Error> {
    let opening = Opening {
        config: Arc::clone(config),
        listeners,
        disk: platform.disk.clone(),
        clock: platform.clock.clone(),
        shutdown: below.clone(),
    };
    Ok(Local::open(dirs, opening).await?)
}

/// The network's settings with what was changed while the broker ran before.
fn network_settings(config: &ServerConfig, publisher: &Publisher) -> NetworkSettings {
    let image = publisher.current();
    let changed = config.with_dynamic(image.broker_configs(None), image.broker_configs(Some(config.node_id)));
    match changed {
        Ok(changed) if changed.network.max_connections == 0 && config.network.max_connections > 0 => {
            // Through which connection should it be taken back?
            warn!(
                kept = config.network.max_connections,
                "max.connections was set to 0 and would lock everybody out for ever; it stays what it was at the start"
            );
            NetworkSettings { max_connections: config.network.max_connections, ..changed.network }
        }
        Ok(changed) => {
            if changed.network.max_connections == 0 {
                warn!("max.connections is 0: no client is served");
            }
            changed.network
        }
        Err(invalid) => {
            warn!(%invalid, "settings in the metadata log do not fit; those of the start count");
            config.network.clone()
        }
    }
}

/// Lets the limits on connections follow the settings that are changed while the broker runs.
fn follow_limits(
    service: &Arc<net::Service<Broker>>,
    config: &Arc<ServerConfig>,
    publisher: &Publisher,
    shutdown: Shutdown,
) -> Task<()> {
    let (service, config, publisher) = (Arc::clone(service), Arc::clone(config), publisher.clone());
    let mut images = publisher.watch();
    task::spawn("connection-limits", async move {
        let mut seen = images.borrow_and_update().clone();
        loop {
            tokio::select! {
                biased;
                () = shutdown.triggered() => return,
                changed = images.changed() => if changed.is_err() { return },
            }
            let image = images.borrow_and_update().clone();
            let same = |broker| image.broker_configs(broker) == seen.broker_configs(broker);
            if !same(None) || !same(Some(config.node_id)) {
                service.reconfigure(&network_settings(&config, &publisher)).await;
            }
            seen = image;
        }
    })
}

fn listening(bound: &[net::Bound], listeners: &[ListenerConfig]) -> Vec<Listening> {
    let of = |listener: &ListenerConfig| Listening {
        name: listener.name.clone(),
        advertised: listener.advertised.clone(),
        addresses: bound
            .iter()
            .filter(|bound| bound.name() == listener.name)
            .map(net::Bound::address)
            .collect(),
    };
    listeners.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Image;
    use crate::cluster::records::ConfigRecord;
    use std::collections::BTreeMap;

    /// How many connections there may be at a start, with `at_start` in the file and `changed` in the metadata log.
    fn allowed(at_start: &str, changed: Option<&str>) -> i32 {
        let set = [("node.id", "1"), ("max.connections", at_start)];
        let set: BTreeMap<String, String> =
            set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let config = ServerConfig::new(&set, "localhost").unwrap();
        let mut image = Image::empty("cluster");
        if let Some(value) = changed {
            let record = ConfigRecord {
                resource_type: 4,
                resource_name: "1".to_owned(),
                name: "max.connections".to_owned(),
                value: Some(value.to_owned()),
            };
            image.apply(&record.into()).unwrap();
        }
        network_settings(&config, &Publisher::new(image)).max_connections
    }

    #[test]
    fn a_broker_that_was_set_to_no_connections_lets_the_one_in_that_takes_it_back() {
        assert_eq!(allowed("100", None), 100);
        assert_eq!(allowed("100", Some("7")), 7);
        assert_eq!(allowed("100", Some("0")), 100);
        assert_eq!(allowed("0", Some("0")), 0, "whoever writes it into the file can change it there");
    }
}
