//! Random commands, passing time and crashes against the rules that must always hold:
//! a generation has one assignment, generations do not go back, a member owns what the leader gave it, every
//! request is answered in the end, a committed offset stays, and the log tells the same state.
//!
//! `SIM_SEEDS=n` runs n seeds instead of 400; `SIM_SEED=s` runs seed s alone.

use super::plants::Plant;
use super::*;
use crate::base::seeds;
use proptest::prelude::*;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A step of a simulated client or of the world.
#[derive(Clone, Debug)]
enum Step {
    Join { client: usize, fresh: bool, protocols: usize },
    Sync { client: usize },
    Heartbeat { client: usize },
    Leave { client: usize },
    Commit { client: usize },
    StrangerCommits,
    Pass(u64),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0..NAMES.len();
    prop_oneof![
        6 => (client.clone(), prop::bool::weighted(0.3), 0usize..3)
            .prop_map(|(client, fresh, protocols)| Step::Join { client, fresh, protocols }),
        6 => client.clone().prop_map(|client| Step::Sync { client }),
        2 => client.clone().prop_map(|client| Step::Heartbeat { client }),
        1 => client.clone().prop_map(|client| Step::Leave { client }),
        2 => client.prop_map(|client| Step::Commit { client }),
        1 => Just(Step::StrangerCommits),
        4 => prop_oneof![1u64..2_000, 2_000u64..20_000, 20_000u64..90_000].prop_map(Step::Pass),
        1 => Just(Step::Crash),
    ]
}

/// What a client believes, as a real one would.
#[derive(Default)]
struct Client {
    member_id: Option<Arc<str>>,
    generation: i32,
    leads: Vec<Arc<str>>,
    join: Option<Ticket>,
    sync: Option<Ticket>,
}

struct World {
    trial: Trial,
    clients: Vec<Client>,
    ids: usize,
    /// Whose assignment of which generation was seen, since the last crash.
    seen: BTreeMap<(i32, Arc<str>), Bytes>,
    highest: i32,
    /// The offset that was committed last.
    committed: Option<i64>,
}

const SESSION_MS: i32 = 30_000;
/// Fewer than there are clients; the static ones are two.
const SIZE_MAX: usize = 3;

impl World {
    fn new(plant: Option<Plant>) -> World {
        let mut trial = Trial::new(Settings { group_size_max: SIZE_MAX, ..settings() });
        trial.plant = plant;
        let clients = NAMES.iter().map(|_| Client::default()).collect();
        World { trial, clients, ids: 0, seen: BTreeMap::new(), highest: 0, committed: None }
    }

    /// Clients 0 and 1 are static members, the others go by the MEMBER_ID_REQUIRED way.
    fn request(&mut self, client: usize, fresh: bool, protocols: usize) -> Command {
        self.ids += 1;
        let new_id = format!("{}{}", NAMES[client], self.ids);
        let instance = (client < 2).then(|| format!("i{client}"));
        let sets: [&[&str]; 3] = [&["range"], &["range", "sticky"], &["sticky", "range"]];
        let known = self.clients[client].member_id.clone().filter(|_| !fresh);
        join_as(&new_id, instance.as_deref())
            .protocols(sets[protocols])
            .with(|join| {
                join.session_timeout_ms = SESSION_MS;
                join.rebalance_timeout_ms = 20_000;
                join.requires_known_member_id = true;
                join.member_id = known.unwrap_or_else(|| text(""));
            })
            .build()
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Join { client, fresh, protocols } => {
                if self.clients[client].join.is_none() {
                    let command = self.request(client, fresh, protocols);
                    self.clients[client].join = Some(self.trial.send(command));
                }
            }
            Step::Sync { client } => self.sync(client),
            Step::Heartbeat { client } => {
                if let Some(id) = self.clients[client].member_id.clone() {
                    let error = self.trial.heartbeat(&id, self.clients[client].generation);
                    self.forget_if(client, error);
                }
            }
            Step::Leave { client } => {
                if let Some(id) = self.clients[client].member_id.take() {
                    self.trial.leave(&id, None).unwrap();
                }
            }
            Step::Commit { client } => {
                if let Some(id) = self.clients[client].member_id.clone() {
                    let generation = self.clients[client].generation;
                    if self.commit(&id, generation) {
                        assert_eq!(self.trial.generation(), generation, "a stale member committed");
                    }
                }
            }
            Step::StrangerCommits => {
                let empty = matches!(self.trial.state(), "Empty" | "Dead");
                assert_eq!(self.commit("", -1), empty);
            }
            Step::Pass(ms) => self.trial.pass(ms),
            Step::Crash => self.crash(),
        }
        self.collect();
        self.check();
    }

    /// Whether a commit is taken; each is of another offset.
    fn commit(&mut self, member: &str, generation: i32) -> bool {
        self.ids += 1;
        let offset = i64::try_from(self.ids).unwrap();
        let mut request = commit(member, generation);
        request.topics[0].partitions[0].offset = offset;
        let taken = self.trial.commit(request).is_ok();
        if taken {
            self.committed = Some(offset);
        }
        taken
    }

    fn sync(&mut self, client: usize) {
        let state = &self.clients[client];
        let (Some(id), None) = (state.member_id.clone(), state.sync) else { return };
        // A leader gives each member a part that names the generation, so that parts can be told apart.
        let given = |member: &Arc<str>| Bytes::from(format!("{} {member} {}", state.generation, self.ids));
        let parts = state.leads.iter().map(|member| (member.clone(), given(member))).collect();
        let command = sync(&id, state.generation, parts);
        self.clients[client].sync = Some(self.trial.send(command));
    }

    fn crash(&mut self) {
        self.trial.crash();
        self.seen.clear();
        self.highest = 0;
        for client in &mut self.clients {
            (client.join, client.sync) = (None, None);
        }
    }

    fn forget_if(&mut self, client: usize, error: ErrorCode) {
        if matches!(
            error,
            ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId | ErrorCode::GroupMaxSizeReached
        ) {
            self.clients[client].member_id = None;
        }
    }

    /// Hands answers to the clients.
    fn collect(&mut self) {
        for client in 0..self.clients.len() {
            if let Some(joined) = self.clients[client].join.and_then(|ticket| self.trial.joined(ticket)) {
                self.clients[client].join = None;
                match joined.error {
                    ErrorCode::None => {
                        let state = &mut self.clients[client];
                        state.member_id = Some(joined.member_id);
                        state.generation = joined.generation;
                        state.leads = joined.members.into_iter().map(|member| member.member_id).collect();
                    }
                    ErrorCode::MemberIdRequired => self.clients[client].member_id = Some(joined.member_id),
                    error => self.forget_if(client, error),
                }
            }
            if let Some(synced) = self.clients[client].sync.and_then(|ticket| self.trial.synced(ticket)) {
                self.clients[client].sync = None;
                self.forget_if(client, synced.error);
                if synced.error == ErrorCode::None {
                    self.note(client, synced.assignment);
                }
            }
        }
    }

    /// One generation gives a member one assignment, made for it in that generation.
    fn note(&mut self, client: usize, assignment: Bytes) {
        let state = &self.clients[client];
        let Some(id) = state.member_id.clone() else { return };
        let text = String::from_utf8(assignment.to_vec()).unwrap();
        assert!(text.is_empty() || text.starts_with(&format!("{} ", state.generation)), "{text}");
        // A replaced static member inherits its predecessor's part under a new id.
        let instance: Arc<str> = Arc::from(if client < 2 { NAMES[client] } else { &*id });
        assert!(text.is_empty() || text.contains(NAMES[client]), "{text} for {id}");
        let before = self.seen.insert((state.generation, instance), assignment.clone());
        assert!(before.is_none_or(|before| before == assignment));
    }

    fn check(&mut self) {
        if let Some(committed) = self.committed {
            let kept = self.trial.fetch_one("t", 0).offset;
            assert_eq!(kept, committed, "the committed offset is another");
        }
        let Some(group) = self.trial.machine.classic(GROUP) else {
            // It was empty and kept nothing, so it went in time; the next one of its name begins anew.
            self.highest = 0;
            self.seen.clear();
            return;
        };
        assert!(group.generation >= self.highest, "the generation went back");
        self.highest = group.generation;
        // Static members that are away keep their places on top of those that joined, as in Kafka.
        let dynamic = group.members().filter(|member| member.instance_id.is_none()).count();
        assert!(dynamic <= SIZE_MAX || group.state.name() == "PreparingRebalance");
        assert!(group.joining() == group.members().filter(|member| member.join.is_some()).count());
        match group.state.name() {
            "Empty" => assert_eq!(group.size(), 0),
            "Stable" => assert!(group.members().all(|member| member.join.is_none() && member.sync.is_none())),
            "CompletingRebalance" => assert!(group.members().all(|member| member.join.is_none())),
            _ => assert!(group.members().all(|member| member.sync.is_none())),
        }
        let settled = matches!(group.state.name(), "Empty" | "Stable") && group.stored;
        let now = group.to_record();
        let reloaded = reload(&self.trial.settings, &self.trial.log);
        assert_eq!(reloaded.offsets(), self.trial.machine.offsets());
        if settled {
            let again = reloaded.classic(GROUP).expect("a settled group is in the log");
            assert_eq!(again.to_record(), now);
            assert_eq!(again.subscribed_topics, group.subscribed_topics);
        }
    }

    /// With nobody speaking any more, time alone answers all requests and empties the group.
    fn settle(&mut self) {
        self.trial.pass(3_600_000);
        self.collect();
        for client in &self.clients {
            assert!(client.join.is_none() && client.sync.is_none(), "a request was never answered");
        }
        assert!(matches!(self.trial.state(), "Empty" | "Dead"));
    }
}

fn run(steps: Vec<Step>, plant: Option<Plant>) {
    let mut world = World::new(plant);
    for step in steps {
        world.take(step);
    }
    world.settle();
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..120)
}

#[test]
fn the_rules_hold_under_random_commands_time_and_crashes() {
    seeds::run_drawn("a classic group", 400, &steps(), |steps| run(steps, None));
}

#[test]
fn each_planted_fault_is_noticed() {
    let steps = steps();
    for plant in Plant::OF_CLASSIC {
        let noticed = seeds::notices(200, |seed| run(seeds::drawn(&steps, seed), Some(plant)));
        assert!(noticed, "{plant:?} is not noticed");
    }
}
