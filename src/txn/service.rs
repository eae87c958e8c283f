//! The handle by which the transaction machine is asked: verbs for requests, errors in Kafka's codes.

use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::ProducerId;
use crate::base::hash::coordinator_partition;
use crate::cluster::ControllerClient;
use crate::cluster::Publisher;
use crate::cluster::controller::features::TRANSACTION_VERSION;
use crate::config::ServerConfig;
use crate::coordinator;
use crate::coordinator::Ending;
use crate::coordinator::InternalTopic;
use crate::coordinator::Options;
use crate::coordinator::Runtime;
use crate::io::Clock;
use crate::metrics;
use crate::record::Codec;
use crate::txn::command::Add;
use crate::txn::command::Answer;
use crate::txn::command::Command;
use crate::txn::command::End;
use crate::txn::command::Init;
use crate::txn::command::List;
use crate::txn::command::Listed;
use crate::txn::command::Markers;
use crate::txn::command::Producer;
use crate::txn::machine::Transactions;
use crate::txn::producer_ids::ProducerIds;
use crate::txn::settings::Settings;
use crate::txn::transaction::Partitions;
use crate::txn::transaction::Transaction;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The topic that keeps transactions.
pub const TOPIC: &str = "__transaction_state";

/// How long a request waits for a partition that is being loaded.
const LOADING_PATIENCE: Duration = Duration::from_millis(300);

/// How long FindCoordinator waits for a partition of this broker that was just created or is being loaded.
const APPEARING_PATIENCE: Duration = Duration::from_secs(2);

/// Asks the transactions coordinated here. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    node_id: BrokerId,
    pub(super) clock: Clock,
    runtime: Runtime<Transactions>,
    pub(super) settings: Arc<Settings>,
    publisher: Publisher,
    topic: Arc<InternalTopic>,
    producer_ids: Arc<ProducerIds>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("led", &self.runtime.led().len()).finish_non_exhaustive()
    }
}

/// The markers that end a transaction, and in whose name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The markers.
    pub markers: Markers,
    /// The leader epoch of the partition that keeps the transaction.
    pub coordinator_epoch: i32,
}

impl Service {
    /// A service that coordinates nothing yet.
    pub fn new(
        config: &ServerConfig,
        publisher: Publisher,
        controller: ControllerClient,
        clock: Clock,
    ) -> Service {
        let options = Options {
            name: "transactions",
            // Kafka's coordinator never compresses them either.
            codec: Codec::None,
            load_bytes_max: usize::try_from(config.transactions.load_buffer_bytes).unwrap_or(1).max(1),
            loading_patience: LOADING_PATIENCE,
        };
        Service {
            node_id: config.node_id,
            clock: clock.clone(),
            runtime: Runtime::new(options, clock),
            settings: Arc::new(Settings::of(config)),
            publisher,
            topic: Arc::new(topic(config)),
            producer_ids: Arc::new(ProducerIds::new(controller)),
        }
    }

    /// What runs the transactions of each partition; `server/` tells it which partitions are led here.
    pub fn runtime(&self) -> &Runtime<Transactions> {
        &self.runtime
    }

    /// An empty machine, to load a partition's log into.
    pub fn fresh(&self) -> impl Fn() -> Transactions + Clone + Send + std::marker::Sync + use<> {
        let (settings, publisher) = (Arc::clone(&self.settings), self.publisher.clone());
        move || {
            // Deadlines may pass before anybody asks anything.
            settings.level.store(level(&publisher), Ordering::Relaxed);
            Transactions::new(Arc::clone(&settings))
        }
    }

    /// A producer id that nobody else has.
    ///
    /// # Errors
    /// COORDINATOR_LOAD_IN_PROGRESS while the controller gives no block.
    pub async fn new_producer_id(&self) -> Result<ProducerId, ErrorCode> {
        self.producer_ids.next().await
    }

    /// The partition that keeps a transactional id.
    pub fn partition_of(&self, id: &str) -> PartitionIndex {
        let image = self.publisher.current();
        let count = image.topic(TOPIC).and_then(|topic| i32::try_from(topic.partitions.len()).ok());
        coordinator_partition(id, count.filter(|count| *count > 0).unwrap_or(self.topic.partitions))
    }

    /// The broker that coordinates a transactional id. Makes the topic when there is none. When it is this broker,
    /// waits a moment for the partition to be loaded, so that a client's next request does not fail.
    ///
    /// # Errors
    /// COORDINATOR_NOT_AVAILABLE: the topic cannot be made, or the partition has no leader.
    pub async fn find(&self, controller: &ControllerClient, id: &str) -> Result<BrokerId, ErrorCode> {
        let topic = self.topic.ensure(&self.publisher, controller).await;
        let topic = topic.ok_or(ErrorCode::CoordinatorNotAvailable)?;
        let index = self.partition_of(id);
        let leader = topic.partition(index).map_or(BrokerId::NONE, |partition| partition.leader);
        if leader == BrokerId::NONE {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        if leader == self.node_id {
            self.runtime.ready(index, APPEARING_PATIENCE).await;
        }
        Ok(leader)
    }

    /// See [`Command::Init`].
    ///
    /// # Errors
    /// Kafka's codes of InitProducerId.
    pub async fn init(&self, mut request: Init) -> Result<Producer, ErrorCode> {
        loop {
            match self.ask(&request.id, Command::Init(request.clone())).await? {
                Answer::Producer(result) => return result,
                Answer::NeedsProducerId if request.fresh.is_none() => {
                    request.fresh = Some(self.new_producer_id().await?);
                }
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// See [`Command::Add`].
    ///
    /// # Errors
    /// Kafka's codes of AddPartitionsToTxn.
    pub async fn add(&self, request: Add) -> Result<(), ErrorCode> {
        match self.ask(&request.id.clone(), Command::Add(request)).await? {
            Answer::Done(result) => result,
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Command::Verify`]: the partitions that are not in the transaction.
    ///
    /// # Errors
    /// Kafka's codes of AddPartitionsToTxn.
    pub async fn verify(&self, request: Add) -> Result<Partitions, ErrorCode> {
        match self.ask(&request.id.clone(), Command::Verify(request)).await? {
            Answer::Verified(result) => result,
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Command::End`]: the producer to go on with.
    ///
    /// # Errors
    /// Kafka's codes of EndTxn.
    pub async fn end(&self, mut request: End) -> Result<Producer, ErrorCode> {
        loop {
            match self.ask(&request.id, Command::End(request.clone())).await? {
                Answer::Producer(result) => return result,
                Answer::NeedsProducerId if request.fresh.is_none() => {
                    request.fresh = Some(self.new_producer_id().await?);
                }
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// The next transactional id whose transaction waits for its markers; waits for one. For one listener.
    pub async fn prepared(&self) -> Arc<str> {
        self.settings.bell.next().await
    }

    /// The markers that the id's transaction waits for; `None` when it waits for none.
    ///
    /// # Errors
    /// When the partition is loading, elsewhere, or cannot commit.
    pub async fn decided(&self, id: &Arc<str>) -> Result<Option<Decided>, ErrorCode> {
        match self.ask(id, Command::Markers(id.clone())).await? {
            Answer::Markers(None) => Ok(None),
            Answer::Markers(Some(markers)) => {
                let epoch = self.runtime.epoch_of(self.partition_of(id)).ok_or(ErrorCode::NotCoordinator)?;
                Ok(Some(Decided { markers, coordinator_epoch: epoch.0 }))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// All markers of the producer's transaction are written.
    ///
    /// # Errors
    /// As [`Service::decided`].
    pub async fn marked(&self, id: &Arc<str>, producer: Producer) -> Result<(), ErrorCode> {
        match self.ask(id, Command::Marked(id.clone(), producer)).await? {
            Answer::Done(result) => result,
            other => Err(unexpected(&other)),
        }
    }

    /// Some markers of the producer's transaction are written.
    ///
    /// # Errors
    /// As [`Service::decided`].
    pub async fn some_marked(
        &self,
        id: &Arc<str>,
        producer: Producer,
        written: Partitions,
    ) -> Result<(), ErrorCode> {
        match self.ask(id, Command::SomeMarked(id.clone(), producer, written)).await? {
            Answer::Done(result) => result,
            other => Err(unexpected(&other)),
        }
    }

    /// Shows a transactional id; `None` when it is not known.
    ///
    /// # Errors
    /// When the partition is loading or elsewhere.
    pub async fn describe(&self, id: &Arc<str>) -> Result<Option<Box<Transaction>>, ErrorCode> {
        match self.ask(id, Command::Describe(id.clone())).await? {
            Answer::Described(found) => Ok(found),
            other => Err(unexpected(&other)),
        }
    }

    /// The transactional ids coordinated here.
    ///
    /// # Errors
    /// When a partition is loading or cannot answer.
    pub async fn list(&self, filters: &List) -> Result<Vec<Listed>, ErrorCode> {
        let mut all = Vec::new();
        for (index, _) in self.runtime.led() {
            match self.runtime.ask(index, Command::List(filters.clone())).await {
                Ok(Answer::Listed(more)) => all.extend(more),
                // It moved away in this moment; its ids are listed there.
                Err(coordinator::Error::NotCoordinator) => {}
                Ok(other) => return Err(unexpected(&other)),
                Err(error) => return Err(error.code()),
            }
        }
        Ok(all)
    }

    /// How many transactional ids are coordinated here.
    ///
    /// # Errors
    /// When a partition is loading or cannot answer.
    pub async fn count(&self) -> Result<metrics::Transactions, ErrorCode> {
        let mut all = metrics::Transactions::default();
        for (index, _) in self.runtime.led() {
            match self.runtime.ask(index, Command::Count).await {
                Ok(Answer::Counted(more)) => all.add(&more),
                Err(coordinator::Error::NotCoordinator) => {}
                Ok(other) => return Err(unexpected(&other)),
                Err(error) => return Err(error.code()),
            }
        }
        all.loads = self.runtime.loads();
        Ok(all)
    }

    /// Ends a producer's transaction on a partition of [`TOPIC`] itself, should one have written there.
    ///
    /// # Errors
    /// When the marker cannot be written.
    pub async fn end_transaction(&self, index: PartitionIndex, ending: Ending) -> Result<(), ErrorCode> {
        self.runtime.end_transaction(index, ending).await.map_err(coordinator::Error::code)
    }

    async fn ask(&self, id: &str, command: Command) -> Result<Answer, ErrorCode> {
        self.settings.level.store(level(&self.publisher), Ordering::Relaxed);
        let answer = self.runtime.ask(self.partition_of(id), command).await;
        answer.map_err(coordinator::Error::code)
    }
}

/// The finalized level of `transaction.version`.
fn level(publisher: &Publisher) -> i16 {
    publisher.current().features().get(TRANSACTION_VERSION).copied().unwrap_or(0)
}

/// The topic's shape (`TransactionStateManager.transactionTopicConfigs`).
fn topic(config: &ServerConfig) -> InternalTopic {
    let transactions = &config.transactions;
    InternalTopic {
        told: Arc::default(),
        name: TOPIC,
        partitions: transactions.topic_num_partitions.max(1),
        replication_factor: transactions.topic_replication_factor,
        configs: vec![
            ("cleanup.policy", String::from("compact")),
            ("compression.type", String::from("uncompressed")),
            ("min.insync.replicas", transactions.topic_min_isr.to_string()),
            ("segment.bytes", transactions.topic_segment_bytes.to_string()),
            ("unclean.leader.election.enable", String::from("false")),
        ],
    }
}

/// An answer to another question would be our fault.
fn unexpected(answer: &Answer) -> ErrorCode {
    tracing::error!(?answer, "answer to another command");
    ErrorCode::UnknownServerError
}
