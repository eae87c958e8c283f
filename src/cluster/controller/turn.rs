//! One turn of the controller: takes commands in order, decides each on the draft, and keeps the answers until the
//! source says that the records are durable.

use super::Outcome;
use super::Refusal;
use super::Situation;
use super::brokers;
use super::command::AlterConfigs;
use super::command::AlterQuotas;
use super::command::AssignDirectory;
use super::command::ConfigAlteration;
use super::command::CreatePartitions;
use super::command::CreateTopics;
use super::command::ElectLeaders;
use super::command::ElectionResult;
use super::command::Permit;
use super::command::ProducerIds;
use super::command::ReassignmentResult;
use super::command::Reassignments;
use super::command::TopicCreation;
use super::command::TopicDeletion;
use super::command::TopicToDelete;
use super::command::UpdateFeatures;
use super::configs;
use super::elections;
use super::features;
use super::partitions;
use super::producer_ids;
use super::quotas;
use super::reassign;
use super::topics;
use crate::base::BrokerId;
use crate::base::Offset;
use crate::cluster::Error;
use crate::cluster::image::Image;
use crate::cluster::records::Record;
use crate::config::ServerConfig;
use crate::io::random::Random;
use tokio::sync::oneshot;
use uuid::Uuid;

/// An answer and the metadata offset from which on images show what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied<T> {
    /// The answer.
    pub value: T,
    /// The end of the metadata log that contains it.
    pub offset: Offset,
}

/// Where the answer to a command goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<Applied<T>, Error>>;

/// A command with the place for its answer.
pub(crate) enum Command {
    CreateTopics(CreateTopics, Option<Permit>, Reply<Vec<TopicCreation>>),
    DeleteTopics(Vec<TopicToDelete>, Option<Permit>, Reply<Vec<TopicDeletion>>),
    CreatePartitions(CreatePartitions, Option<Permit>, Reply<Vec<(String, Result<(), Refusal>)>>),
    AlterQuotas(AlterQuotas, Reply<quotas::Results>),
    AlterConfigs(AlterConfigs, Reply<Vec<ConfigAlteration>>),
    UpdateFeatures(UpdateFeatures, Reply<()>),
    ElectLeaders(ElectLeaders, Reply<Vec<ElectionResult>>),
    Reassign(Reassignments, Reply<Vec<ReassignmentResult>>),
    UnregisterBroker(BrokerId, Reply<()>),
    Cordon { broker: BrokerId, directories: Vec<Uuid>, reply: Reply<()> },
    AssignDirectory { broker: BrokerId, assignment: AssignDirectory, reply: Reply<()> },
    AllocateProducerIds { broker: BrokerId, reply: Reply<ProducerIds> },
}

/// An answer that waits for its records.
type Parked = Box<dyn FnOnce(Option<Offset>) + Send>;

/// What a turn has decided so far.
pub(crate) struct Turn {
    /// The image with everything decided in this turn; dropped when the records are not agreed.
    pub(crate) draft: Image,
    /// The records of each command that has some: a command's records stay together.
    pub(crate) entries: Vec<Vec<Record>>,
    parked: Vec<Parked>,
}

impl Turn {
    /// Begins from the current image.
    pub(crate) fn new(image: &Image) -> Turn {
        Turn { draft: image.clone(), entries: Vec::new(), parked: Vec::new() }
    }

    /// Decides one command on the draft.
    pub(crate) fn take(&mut self, command: Command, config: &ServerConfig, random: &mut Random) {
        let mut situation = Situation { image: &self.draft, config, random, permit: None };
        match command {
            Command::CreateTopics(command, permit, reply) => {
                situation.permit = permit.as_ref();
                let outcome = topics::create_topics(&mut situation, &command);
                self.keep(Ok(outcome), reply);
            }
            Command::DeleteTopics(command, permit, reply) => {
                situation.permit = permit.as_ref();
                let decided = topics::delete_topics(&situation, &command);
                self.keep(decided, reply);
            }
            Command::CreatePartitions(command, permit, reply) => {
                situation.permit = permit.as_ref();
                let outcome = partitions::create_partitions(&mut situation, &command);
                self.keep(Ok(outcome), reply);
            }
            Command::AlterConfigs(command, reply) => {
                let outcome = configs::alter_configs(&situation, &command);
                self.keep(Ok(outcome), reply);
            }
            Command::AlterQuotas(command, reply) => {
                let outcome = quotas::alter_quotas(&self.draft, &command);
                self.keep(Ok(outcome), reply);
            }
            Command::UpdateFeatures(command, reply) => {
                let decided = features::update(&situation, &command);
                self.keep(decided, reply);
            }
            Command::ElectLeaders(command, reply) => {
                let outcome = elections::elect_leaders(&self.draft, &command);
                self.keep(Ok(outcome), reply);
            }
            Command::Reassign(command, reply) => {
                let outcome = reassign::reassign(&situation, &command);
                self.keep(Ok(outcome), reply);
            }
            Command::UnregisterBroker(broker, reply) => {
                let decided = brokers::unregister(&self.draft, config.node_id, broker);
                self.keep(decided, reply);
            }
            Command::Cordon { broker, directories, reply } => {
                let decided = brokers::cordon(&self.draft, broker, directories);
                self.keep(decided, reply);
            }
            Command::AssignDirectory { broker, assignment, reply } => {
                let decided = partitions::assign_directory(&self.draft, broker, assignment);
                self.keep(decided, reply);
            }
            Command::AllocateProducerIds { broker, reply } => {
                let epoch = self.draft.broker(broker).map_or(-1, |broker| broker.epoch);
                let decided = producer_ids::allocate(&self.draft, broker, epoch);
                self.keep(decided, reply);
            }
        }
    }

    /// Applies a decision to the draft and parks its answer.
    fn keep<T: Send + 'static>(&mut self, decided: Result<Outcome<T>, Refusal>, reply: Reply<T>) {
        let answer = decided.map(|outcome| {
            for record in &outcome.records {
                self.draft.apply(record).expect("a decision fits the image it was made from");
            }
            if !outcome.records.is_empty() {
                self.entries.push(outcome.records);
            }
            outcome.response
        });
        self.parked.push(Box::new(move |end| {
            let answer = match (end, answer) {
                (None, _) => Err(Error::NotActive),
                (Some(_), Err(refusal)) => Err(Error::Refused(refusal)),
                (Some(offset), Ok(value)) => Ok(Applied { value, offset }),
            };
            // Nobody waits when the client has gone; the command counts all the same.
            drop(reply.send(answer));
        }));
    }

    /// Gives all answers: those of `Some(end)` are durable up to there, with `None` nothing was agreed.
    pub(crate) fn answer(self, end: Option<Offset>) {
        for parked in self.parked {
            parked(end);
        }
    }
}
