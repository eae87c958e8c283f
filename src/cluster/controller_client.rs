//! This broker's calls to the controller. In process here; the same calls will go over the wire to another node.

use super::Error;
use super::controller::Refusal;
use super::controller::command::AlterConfigs;
use super::controller::command::AlterQuotas;
use super::controller::command::AssignDirectory;
use super::controller::command::ConfigAlteration;
use super::controller::command::CreatePartitions;
use super::controller::command::CreateTopics;
use super::controller::command::ElectLeaders;
use super::controller::command::ElectionResult;
use super::controller::command::Permit;
use super::controller::command::ProducerIds;
use super::controller::command::ReassignmentResult;
use super::controller::command::Reassignments;
use super::controller::command::TopicCreation;
use super::controller::command::TopicDeletion;
use super::controller::command::TopicToDelete;
use super::controller::command::UpdateFeatures;
use super::controller::quotas;
use super::controller::turn::Applied;
use super::controller::turn::Command;
use super::controller::turn::Reply;
use crate::base::BrokerId;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use uuid::Uuid;

/// How many commands may wait for the controller; more wait in their callers.
pub(crate) const QUEUE: usize = 1024;

/// Asks the controller for changes. Cheap to clone.
///
/// Each call returns once its records are durable and the published image shows them; [`Applied::offset`] is what
/// `replica` must have acted on before the change can be used. Dropping a call does not take the change back.
///
/// Every call fails with [`Error::NotActive`] once the controller has stopped.
#[derive(Clone, Debug)]
pub struct ControllerClient {
    commands: mpsc::Sender<Command>,
    broker: BrokerId,
    permit: Option<Permit>,
}

impl ControllerClient {
    pub(crate) fn new(commands: mpsc::Sender<Command>, broker: BrokerId) -> ControllerClient {
        ControllerClient { commands, broker, permit: None }
    }

    /// A client whose controller has stopped, for tests of rooms above.
    #[cfg(test)]
    pub(crate) fn stopped() -> ControllerClient {
        ControllerClient::new(mpsc::channel(1).0, BrokerId::NONE)
    }

    /// Whether the controller takes commands.
    pub fn is_active(&self) -> bool {
        !self.commands.is_closed()
    }

    /// Waits until the controller has stopped: at the end of the broker, or when the metadata log failed.
    pub async fn ended(&self) {
        self.commands.closed().await;
    }

    /// The same, with changes of topics paid by this permit.
    pub fn paid_by(&self, permit: Option<Permit>) -> ControllerClient {
        ControllerClient { permit, ..self.clone() }
    }

    /// Creates topics; each has a result of its own.
    ///
    /// # Errors
    /// [`Error::NotActive`].
    pub async fn create_topics(&self, command: CreateTopics) -> Result<Applied<Vec<TopicCreation>>, Error> {
        let permit = self.permit.clone();
        self.call(|reply| Command::CreateTopics(command, permit, reply)).await
    }

    /// Deletes topics; each has a result of its own.
    ///
    /// # Errors
    /// [`Error::NotActive`], or [`Error::Refused`] when topics may not be deleted at all.
    pub async fn delete_topics(
        &self,
        topics: Vec<TopicToDelete>,
    ) -> Result<Applied<Vec<TopicDeletion>>, Error> {
        let permit = self.permit.clone();
        self.call(|reply| Command::DeleteTopics(topics, permit, reply)).await
    }

    /// Adds partitions to topics; each topic has a result of its own.
    ///
    /// # Errors
    /// [`Error::NotActive`].
    pub async fn create_partitions(
        &self,
        command: CreatePartitions,
    ) -> Result<Applied<Vec<(String, Result<(), Refusal>)>>, Error> {
        let permit = self.permit.clone();
        self.call(|reply| Command::CreatePartitions(command, permit, reply)).await
    }

    /// Changes quotas; each entity has a result of its own.
    ///
    /// # Errors
    /// [`Error::NotActive`].
    pub async fn alter_quotas(&self, command: AlterQuotas) -> Result<Applied<quotas::Results>, Error> {
        self.call(|reply| Command::AlterQuotas(command, reply)).await
    }

    /// Changes settings; each resource has a result of its own.
    ///
    /// # Errors
    /// [`Error::NotActive`].
    pub async fn alter_configs(
        &self,
        command: AlterConfigs,
    ) -> Result<Applied<Vec<ConfigAlteration>>, Error> {
        self.call(|reply| Command::AlterConfigs(command, reply)).await
    }

    /// Changes levels of features, all or none.
    ///
    /// # Errors
    /// [`Error::NotActive`], or [`Error::Refused`] when one of them cannot be.
    pub async fn update_features(&self, command: UpdateFeatures) -> Result<Applied<()>, Error> {
        self.call(|reply| Command::UpdateFeatures(command, reply)).await
    }

    /// Elects leaders; each partition has a result of its own.
    ///
    /// # Errors
    /// [`Error::NotActive`].
    pub async fn elect_leaders(&self, command: ElectLeaders) -> Result<Applied<Vec<ElectionResult>>, Error> {
        self.call(|reply| Command::ElectLeaders(command, reply)).await
    }

    /// Moves partitions to other brokers; each partition has a result of its own.
    ///
    /// # Errors
    /// [`Error::NotActive`].
    pub async fn reassign(&self, command: Reassignments) -> Result<Applied<Vec<ReassignmentResult>>, Error> {
        self.call(|reply| Command::Reassign(command, reply)).await
    }

    /// Takes a broker that is gone out of the cluster.
    ///
    /// # Errors
    /// [`Error::NotActive`], or [`Error::Refused`] for a broker that is not registered, or runs.
    pub async fn unregister_broker(&self, broker: BrokerId) -> Result<Applied<()>, Error> {
        self.call(|reply| Command::UnregisterBroker(broker, reply)).await
    }

    /// Tells which log directories of this broker get no new partitions from now on.
    ///
    /// # Errors
    /// [`Error::NotActive`], or [`Error::Refused`] where this broker is not registered.
    pub async fn cordon(&self, directories: Vec<Uuid>) -> Result<Applied<()>, Error> {
        let broker = self.broker;
        self.call(|reply| Command::Cordon { broker, directories, reply }).await
    }

    /// Tells in which directory this broker's replica of a partition lies now.
    ///
    /// # Errors
    /// [`Error::NotActive`], or [`Error::Refused`] for a partition that is gone.
    pub async fn assign_directory(&self, assignment: AssignDirectory) -> Result<Applied<()>, Error> {
        let broker = self.broker;
        self.call(|reply| Command::AssignDirectory { broker, assignment, reply }).await
    }

    /// A block of producer ids that nobody else gets.
    ///
    /// # Errors
    /// [`Error::NotActive`], or [`Error::Refused`] when all ids are used up.
    pub async fn allocate_producer_ids(&self) -> Result<Applied<ProducerIds>, Error> {
        let broker = self.broker;
        self.call(|reply| Command::AllocateProducerIds { broker, reply }).await
    }

    async fn call<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<Applied<T>, Error> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| Error::NotActive)?;
        answer.await.map_err(|_| Error::NotActive)?
    }
}
