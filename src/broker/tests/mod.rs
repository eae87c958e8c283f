//! A whole broker without sockets: requests as the protocol crate encodes them, answers as it decodes them.

mod admin;
mod answers;
mod cluster;
mod configs;
mod coverage;
mod data;
mod log_dirs;
mod meta;
mod quotas;
mod share;
mod share_answers;
mod transactions;

use super::AnswerMemory;
use super::Broker;
use super::FetchSessions;
use super::Telemetry;
use super::context::Answer;
use super::context::Connection;
use super::context::Reply;
use crate::cluster::Local;
use crate::cluster::Opening;
use crate::config::SecurityProtocol;
use crate::config::ServerConfig;
use crate::groups;
use crate::io::Clock;
use crate::io::Disk;
use crate::io::task::Shutdown;
use crate::log::Dirs;
use crate::log::Threads;
use crate::metrics::Registry;
use crate::protocol::Part;
use crate::protocol::versions;
use crate::quota::Quotas;
use crate::replica::Moves;
use crate::replica::Replicas;
use crate::share as sharing;
use crate::txn;
use bytes::BufMut;
use bytes::Bytes;
use bytes::BytesMut;
use kafka_protocol::messages::RequestHeader;
use kafka_protocol::messages::ResponseHeader;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;
use kafka_protocol::protocol::Request;
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A broker on a folder of its own.
pub(super) struct Bench {
    pub(super) broker: Arc<Broker>,
    pub(super) connection: Arc<Connection>,
    registry: Registry,
    shutdown: Shutdown,
    local: Local,
    dirs: Dirs,
    lines: Vec<(String, String)>,
    folder: tempfile::TempDir,
}

impl Bench {
    /// A new cluster of one broker with these settings.
    pub(super) async fn new(lines: &[(&str, &str)]) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let lines = lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Bench::start(folder, lines).await
    }

    async fn start(folder: tempfile::TempDir, lines: Vec<(String, String)>) -> Bench {
        Bench::start_with(folder, lines, (Clock::system(), Threads::Own)).await
    }

    async fn start_with(
        folder: tempfile::TempDir,
        lines: Vec<(String, String)>,
        (clock, threads): (Clock, Threads),
    ) -> Bench {
        let mut set: BTreeMap<String, String> = lines.iter().cloned().collect();
        let data = folder.path().join("data").to_str().unwrap().to_owned();
        set.entry("log.dirs".to_owned()).or_insert(data);
        set.entry("node.id".to_owned()).or_insert_with(|| "1".to_owned());
        let config = Arc::new(ServerConfig::new(&set, "machine").unwrap());
        let (disk, shutdown) = (Disk::system(), Shutdown::new());
        let dirs = Dirs::open(
            disk.clone(),
            clock.clone(),
            shutdown.clone(),
            config.storage.clone(),
            threads,
            crate::metrics::Registry::new().log(),
        )
        .unwrap();
        let opening = Opening {
            config: Arc::clone(&config),
            listeners: config.listeners.clone(),
            disk,
            clock: clock.clone(),
            shutdown: shutdown.clone(),
        };
        let local = Local::open(&dirs, opening).await.unwrap();
        let publisher = local.publisher().clone();
        let replicas = Replicas::start(
            dirs.clone(),
            publisher.clone(),
            Arc::clone(&config),
            (clock.clone(), Registry::new().topics()),
            shutdown.clone(),
        );
        let transactions =
            txn::Service::new(&config, publisher.clone(), local.controller().clone(), clock.clone());
        let quotas = Quotas::new(&config.quotas, clock.clone());
        quotas.update(&publisher.current()).await;
        let replicas = replicas.await;
        let controller = (local.controller().clone(), publisher.clone());
        let (moves, _task) =
            Moves::start(&replicas, controller, Arc::clone(&config), clock.clone(), shutdown.clone());
        let registry = Registry::new();
        let on = (Arc::clone(&replicas), clock.clone());
        let share =
            sharing::Service::new(Arc::clone(&config), publisher.clone(), local.controller().clone(), on);
        let broker = Arc::new(Broker {
            answer_memory: AnswerMemory::default(),
            quotas,
            telemetry: Telemetry::new(&config.telemetry, registry.clients(), clock.clone()),
            groups: groups::Service::new(&config, publisher.clone(), clock.clone()),
            config,
            clock,
            publisher,
            controller: local.controller().clone(),
            replicas,
            moves,
            fetch_sessions: FetchSessions::new(10),
            transactions,
            share,
            metrics: registry.broker(),
        });
        let peer = "127.0.0.1:5".parse().unwrap();
        let connection = Arc::new(Connection::new("PLAINTEXT", SecurityProtocol::Plaintext, peer));
        Bench { broker, connection, registry, shutdown, local, dirs, lines, folder }
    }

    /// The same folder with a new process.
    pub(super) async fn restart(self) -> Bench {
        let Bench { broker, shutdown, local, dirs, lines, folder, .. } = self;
        shutdown.trigger();
        broker.replicas.ended().await;
        drop(broker);
        local.ended().await;
        dirs.close(-1);
        drop(dirs);
        Bench::start(folder, lines).await
    }

    /// The measurements.
    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Requests come in by this listener from now on.
    pub(super) fn through(&mut self, listener: &str) {
        let peer = "127.0.0.1:5".parse().unwrap();
        self.connection = Arc::new(Connection::new(listener, SecurityProtocol::Plaintext, peer));
    }

    /// The answer to a request of this version.
    pub(super) async fn ask<R: Request>(&self, request: &R, version: i16) -> R::Response {
        Bench::read::<R>(self.outcome(request, version).await, version)
    }

    /// What becomes of a request of this version, answer or not.
    pub(super) async fn outcome<R: Request>(&self, request: &R, version: i16) -> Answer {
        match self.broker.handle(&self.connection, frame(request, version), false) {
            Reply::Now(answer) => answer,
            Reply::Later(pending) | Reply::Pipelined(pending) => pending.await,
        }
    }

    /// Decodes an answer.
    pub(super) fn read<R: Request>(answer: Answer, version: i16) -> R::Response {
        let mut answer = bytes_of(answer);
        let header_version =
            <R::Response as kafka_protocol::protocol::HeaderVersion>::header_version(version);
        let header = ResponseHeader::decode(&mut answer, header_version).unwrap();
        assert_eq!(header.correlation_id, 7);
        let response = R::Response::decode(&mut answer, version).unwrap();
        assert!(answer.is_empty(), "bytes behind the answer to {} version {version}", R::KEY);
        response
    }

    /// The leader epoch of a topic's first partition, as the cluster has it and this broker too.
    pub(super) fn epoch(&self, topic: &str) -> i32 {
        let index = crate::base::PartitionIndex(0);
        let known = self.broker.publisher.current().partition(topic, index).unwrap().leader_epoch;
        let here = self.broker.replicas.by_name(topic, index).map(|partition| partition.leader_epoch());
        here.map_or(-1, |here| here.0.min(known.0))
    }

    /// The id of the log directory at this path.
    pub(super) fn directory(&self, path: &str) -> crate::log::DirectoryId {
        self.dirs.directory_at(path).unwrap().0.unwrap()
    }

    /// The folder that everything of the broker lies in.
    pub(super) fn folder(&self) -> String {
        self.folder.path().to_str().unwrap().to_owned()
    }

    /// Every version of an API that is offered.
    pub(super) fn versions(key: i16) -> std::ops::RangeInclusive<i16> {
        let api = versions::api(key).unwrap();
        api.min..=api.max
    }
}

/// An answer without its length.
fn bytes_of(answer: Answer) -> Bytes {
    let response = match answer {
        Answer::Send(response) => response,
        Answer::Silent => panic!("no answer"),
        Answer::Close(reason) => panic!("closed: {reason}"),
    };
    let mut bytes = BytesMut::new();
    for part in response.parts {
        match part {
            Part::Bytes(part) => bytes.put(part),
            Part::File(slice) => {
                let mut read = vec![0; usize::try_from(slice.length).unwrap()];
                slice.file.read_exact_at(&mut read, slice.position).unwrap();
                bytes.put(read.as_slice());
            }
        }
    }
    bytes.freeze().slice(4..)
}

fn frame<R: Request>(request: &R, version: i16) -> Bytes {
    frame_of(request, version, None)
}

/// A request of a client with this id.
fn frame_of<R: Request>(request: &R, version: i16, client_id: Option<&'static str>) -> Bytes {
    let mut frame = BytesMut::new();
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_client_id(client_id.map(StrBytes::from_static_str))
        .with_correlation_id(7);
    header.encode(&mut frame, R::header_version(version)).unwrap();
    request.encode(&mut frame, version).unwrap();
    frame.freeze()
}
