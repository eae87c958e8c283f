//! Random members of consumer groups, topics, passing time and crashes against a small model: what each client believes
//! it owns. No partition ever has two owners among clients in good standing, epochs never go back, the log tells the
//! same state, and once everything is quiet every partition is with a member that wants it.
//!
//! `SIM_SEEDS=n` runs n seeds instead of 60; `SIM_SEED=s` runs seed s alone.

use super::plants::Plant;
use super::world::*;
use super::*;
use crate::base::seeds;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::{Beaten, Fault, Heartbeat as Beat};
use crate::groups::consumer::member::LEFT_STATIC;
use crate::groups::kind::Kind;
use proptest::prelude::*;
use std::collections::BTreeSet;

const CLIENTS: usize = 5;
const TOPICS: [&str; 3] = ["ta", "tb", "tc"];

/// A step of a client or of the world.
#[derive(Clone, Debug)]
enum Step {
    Join {
        client: usize,
        topics: usize,
        pattern: bool,
    },
    Beat {
        client: usize,
    },
    /// The answer to a heartbeat is lost on the way.
    LostBeat {
        client: usize,
    },
    Leave {
        client: usize,
    },
    /// The process is gone without a word; another one comes in its place.
    Die {
        client: usize,
    },
    Resubscribe {
        client: usize,
        topics: usize,
    },
    Commit {
        client: usize,
    },
    Topics {
        counts: [i32; 3],
    },
    Pass(u64),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0..CLIENTS;
    prop_oneof![
        5 => (client.clone(), 1usize..8, prop::bool::weighted(0.2))
            .prop_map(|(client, topics, pattern)| Step::Join { client, topics, pattern }),
        14 => client.clone().prop_map(|client| Step::Beat { client }),
        2 => client.clone().prop_map(|client| Step::LostBeat { client }),
        1 => client.clone().prop_map(|client| Step::Leave { client }),
        1 => client.clone().prop_map(|client| Step::Die { client }),
        1 => (client.clone(), 1usize..8).prop_map(|(client, topics)| Step::Resubscribe { client, topics }),
        2 => client.prop_map(|client| Step::Commit { client }),
        1 => [0i32..5, 0i32..5, 0i32..5].prop_map(|counts| Step::Topics { counts }),
        3 => prop_oneof![1u64..2_000, 2_000u64..20_000, 20_000u64..70_000].prop_map(Step::Pass),
        1 => Just(Step::Crash),
    ]
}

/// What a client believes, as a real one would. It gives up at once what it is told to.
#[derive(Default)]
struct Client {
    id: Option<Arc<str>>,
    epoch: i32,
    owned: Partitions,
    topics: usize,
    pattern: bool,
    /// It has missed an answer and does not know what it has missed.
    unsure: bool,
}

struct World {
    trial: Trial,
    clients: Vec<Client>,
    ids: usize,
    counts: [i32; 3],
    highest: i32,
    checks: usize,
}

fn chosen(topics: usize) -> Vec<&'static str> {
    TOPICS
        .into_iter()
        .enumerate()
        .filter(|(place, _)| topics & (1 << place) != 0)
        .map(|(_, name)| name)
        .collect()
}

impl World {
    fn new(interval_ms: i32, plant: Option<Plant>) -> World {
        let mut settings = settings();
        settings.consumer.assignment_interval_ms = interval_ms;
        let clients = (0..CLIENTS).map(|_| Client::default()).collect();
        let mut world =
            World { trial: Trial::new(settings), clients, ids: 0, counts: [2, 3, 0], highest: 0, checks: 0 };
        world.trial.plant = plant;
        world.tell_topics();
        world
    }

    fn tell_topics(&mut self) {
        let topics: Vec<_> = TOPICS.into_iter().zip(self.counts).filter(|(_, count)| *count > 0).collect();
        self.trial.topics(&topics);
    }

    /// Clients 0 and 1 are static members.
    fn request(&self, client: usize) -> Beat {
        let state = &self.clients[client];
        let id = state.id.clone().unwrap_or_else(|| text("none"));
        let instance_id = (client < 2).then(|| text(&format!("i{client}")));
        Beat { instance_id, owned: Some(state.owned.clone()), ..alive(&id, state.epoch) }
    }

    fn joining(&self, client: usize) -> Beat {
        let state = &self.clients[client];
        Beat {
            epoch: 0,
            owned: Some(Partitions::new()),
            rebalance_timeout_ms: Some(60_000),
            topics: Some(if state.pattern { BTreeSet::new() } else { names(&chosen(state.topics)) }),
            pattern: Some(text(if state.pattern { "t[ab]" } else { "" })),
            ..self.request(client)
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Join { client, topics, pattern } => {
                if self.clients[client].id.is_none() {
                    self.ids += 1;
                    let id = Some(text(&format!("m{client}-{}", self.ids)));
                    self.clients[client] = Client { id, topics, pattern, ..Client::default() };
                    let answer = self.trial.beat(self.joining(client));
                    self.hear(client, answer);
                }
            }
            Step::Beat { client } => self.beat(client),
            Step::LostBeat { client } => {
                if self.clients[client].id.is_some() {
                    let _lost = self.trial.beat(self.request(client));
                    self.clients[client].unsure = true;
                }
            }
            Step::Leave { client } => {
                if self.clients[client].id.is_some() {
                    let epoch = if client == 0 { LEFT_STATIC } else { -1 };
                    let _answer = self.trial.beat(Beat { epoch, ..self.request(client) });
                    self.clients[client] = Client::default();
                }
            }
            Step::Die { client } => self.clients[client] = Client::default(),
            Step::Resubscribe { client, topics } => {
                if self.clients[client].id.is_some() && !self.clients[client].pattern {
                    self.clients[client].topics = topics;
                    let request = Beat { topics: Some(names(&chosen(topics))), ..self.request(client) };
                    let answer = self.trial.beat(request);
                    self.hear(client, answer);
                }
            }
            Step::Commit { client } => self.commit(client),
            Step::Topics { counts } => {
                // Partitions only grow; a topic that goes comes back empty-handed under the same id.
                for (place, count) in counts.into_iter().enumerate() {
                    self.counts[place] = if count == 0 { 0 } else { self.counts[place].max(count) };
                }
                self.tell_topics();
            }
            Step::Pass(ms) => self.trial.pass(ms),
            Step::Crash => self.trial.crash(),
        }
        self.check();
    }

    fn beat(&mut self, client: usize) {
        if self.clients[client].id.is_none() {
            return;
        }
        let full = self.clients[client].unsure;
        let mut request = self.request(client);
        if full {
            // As clients do after a lost answer: everything is said again.
            let again = self.joining(client);
            request.rebalance_timeout_ms = again.rebalance_timeout_ms;
            request.topics = again.topics;
            request.pattern = again.pattern;
        }
        let answer = self.trial.beat(request);
        self.hear(client, answer);
    }

    fn hear(&mut self, client: usize, answer: Result<Beaten, Fault>) {
        match answer {
            Ok(beaten) => {
                let state = &mut self.clients[client];
                assert!(beaten.epoch >= state.epoch, "a member's epoch went back");
                state.epoch = beaten.epoch;
                state.unsure = false;
                if let Some(assignment) = beaten.assignment {
                    state.owned = assignment;
                }
            }
            Err(fault) => {
                let known = [
                    ErrorCode::FencedMemberEpoch,
                    ErrorCode::UnknownMemberId,
                    ErrorCode::FencedInstanceId,
                    ErrorCode::UnreleasedInstanceId,
                    ErrorCode::GroupIdNotFound,
                ];
                assert!(known.contains(&fault.code), "{fault:?}");
                self.clients[client] = Client::default();
            }
        }
    }

    /// Whether the client's member is in the group and has not been fenced without knowing.
    fn stands(&self, client: usize) -> bool {
        let state = &self.clients[client];
        let Some(Kind::Consumer(group)) = self.trial.machine.kind(GROUP) else { return false };
        state.id.as_ref().and_then(|id| group.member(id)).is_some_and(|member| member.epoch != LEFT_STATIC)
    }

    fn commit(&mut self, client: usize) {
        let Some(id) = self.clients[client].id.clone() else { return };
        let epoch = self.clients[client].epoch;
        let owned: Vec<(TopicId, i32)> = self.clients[client]
            .owned
            .iter()
            .flat_map(|(topic, all)| all.iter().map(|partition| (*topic, *partition)))
            .collect();
        let Some((topic, partition)) = owned.first().copied() else { return };
        let mut request = commit(&id, epoch);
        request.topics[0].id = topic;
        request.topics[0].partitions[0].partition = partition;
        let result = self.trial.commit(request);
        if self.stands(client) {
            // What a client in good standing has it may commit, also when it has missed an answer.
            assert!(result.is_ok(), "{id} at {epoch} may not commit {partition}: {result:?}");
        } else {
            assert!(result.is_err());
        }
    }

    fn check(&mut self) {
        let Some(Kind::Consumer(group)) = self.trial.machine.kind(GROUP) else { return };
        assert!(group.epoch >= self.highest, "the group's epoch went back");
        assert!(group.target_epoch <= group.epoch);
        self.highest = group.epoch;
        let mut given = BTreeSet::new();
        for member in group.members() {
            assert!(member.epoch <= group.target_epoch, "{} is ahead of the target", member.id);
            for (topic, partitions) in member.assigned.iter().chain(member.pending_revocation.iter()) {
                for partition in partitions.keys() {
                    assert!(given.insert((*topic, *partition)), "{partition} was given to two members");
                    assert!(group.owner_epoch(*topic, *partition).is_some());
                }
            }
        }
        // The model: nobody who stands owns what another one who stands owns.
        let mut owned = BTreeSet::new();
        for client in (0..CLIENTS).filter(|client| self.stands(*client)) {
            for (topic, partitions) in &self.clients[client].owned {
                for partition in partitions {
                    assert!(owned.insert((*topic, *partition)), "{partition} has two owners");
                    assert!(given.contains(&(*topic, *partition)), "{partition} is not this client's");
                }
            }
        }
        // Reading the log again takes long, and what is wrong with it stays wrong.
        self.checks += 1;
        if !self.checks.is_multiple_of(8) {
            return;
        }
        let reloaded = trial::reload_with(&self.trial.settings, &self.trial.image, &self.trial.log);
        let Some(Kind::Consumer(again)) = reloaded.kind(GROUP) else { panic!("the group is not in the log") };
        let (mut again, mut now) = ((**again).clone(), (**group).clone());
        (again.volatile, now.volatile) = Default::default();
        assert_eq!(again, now);
    }

    /// With everybody alive and nothing new, the group comes to rest, and everything is with somebody who wants it.
    fn settle(&mut self) {
        for _ in 0..12 {
            self.trial.pass(11_000);
            for client in 0..CLIENTS {
                for _ in 0..2 {
                    self.beat(client);
                }
                self.check();
            }
        }
        let Some(Kind::Consumer(group)) = self.trial.machine.kind(GROUP) else { return };
        // A static member that left or died without coming back keeps its part until its session ends.
        assert!(matches!(group.state().name(), "Stable" | "Empty"), "{}", group.state().name());
        let wanted: BTreeSet<&str> = group.subscribed_topics().into_iter().map(|name| &**name).collect();
        let all: i32 = TOPICS
            .into_iter()
            .zip(self.counts)
            .filter(|(name, _)| wanted.contains(name))
            .map(|(_, n)| n)
            .sum();
        let owned: usize = self.clients.iter().flat_map(|one| one.owned.values()).map(BTreeSet::len).sum();
        assert_eq!(owned, usize::try_from(all).unwrap(), "every partition has an owner");
    }
}

fn run((steps, interval_ms): (Vec<Step>, i32), plant: Option<Plant>) {
    let mut world = World::new(interval_ms, plant);
    for step in steps {
        world.take(step);
    }
    world.settle();
}

fn steps() -> impl Strategy<Value = (Vec<Step>, i32)> {
    (prop::collection::vec(step(), 1..150), prop_oneof![Just(0), Just(1_000)])
}

#[test]
fn no_partition_has_two_owners_and_all_have_one_in_the_end() {
    seeds::run_drawn("a consumer group", 60, &steps(), |steps| run(steps, None));
}

#[test]
fn each_planted_fault_is_noticed() {
    let steps = steps();
    for plant in Plant::OF_CONSUMER {
        let noticed = seeds::notices(200, |seed| run(seeds::drawn(&steps, seed), Some(plant)));
        assert!(noticed, "{plant:?} is not noticed");
    }
}
