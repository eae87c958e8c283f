//! Random clients, passing time and crashes at every step, against a small model of what a transactional id means:
//! only the latest producer may add and end; what is decided stays decided until its markers are written; markers
//! reach every partition that was added, and no other.

use super::*;
use proptest::prelude::*;

const CLIENTS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Init {
        client: usize,
        goes_on: bool,
    },
    Add {
        client: usize,
        partition: i32,
    },
    End {
        client: usize,
        commit: bool,
    },
    /// The last end of this client comes once more.
    EndAgain {
        client: usize,
    },
    Mark,
    Pass(u64),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0..CLIENTS;
    prop_oneof![
        2 => (client.clone(), any::<bool>()).prop_map(|(client, goes_on)| Step::Init { client, goes_on }),
        6 => (client.clone(), 0i32..4).prop_map(|(client, partition)| Step::Add { client, partition }),
        4 => (client.clone(), any::<bool>()).prop_map(|(client, commit)| Step::End { client, commit }),
        2 => client.prop_map(|client| Step::EndAgain { client }),
        5 => Just(Step::Mark),
        2 => prop_oneof![1u64..10_000, 50_000u64..70_000].prop_map(Step::Pass),
        3 => Just(Step::Crash),
    ]
}

/// What the id means, in the fewest words.
#[derive(Debug, Default)]
struct Model {
    /// Who may add and end; nobody after a fence, until the next begins.
    holder: Option<Producer>,
    open: Option<BTreeSet<i32>>,
    opened_ms: u64,
    /// What is decided, and waits for its markers.
    decided: Option<(bool, BTreeSet<i32>)>,
}

/// What a client believes.
#[derive(Clone, Copy, Debug, Default)]
struct Client {
    producer: Option<Producer>,
    last_end: Option<(Producer, bool, Producer)>,
}

struct World {
    trial: Trial,
    model: Model,
    clients: [Client; CLIENTS],
    version: i16,
    highest: Option<Producer>,
}

impl World {
    fn take(&mut self, step: Step) {
        match step {
            Step::Init { client, goes_on } => self.init(client, goes_on),
            Step::Add { client, partition } => self.add(client, partition),
            Step::End { client, commit } => self.end(client, commit),
            Step::EndAgain { client } => self.end_again(client),
            Step::Mark => self.mark(),
            Step::Pass(ms) => self.pass(ms),
            Step::Crash => self.trial.crash(),
        }
        self.check();
    }

    /// The open transaction is aborted by the coordinator.
    fn fence(&mut self) {
        let partitions = self.model.open.take().unwrap();
        self.model.decided = Some((false, partitions));
        self.model.holder = None;
    }

    fn init(&mut self, client: usize, goes_on: bool) {
        let expected = self.clients[client].producer.filter(|_| goes_on);
        let result = self.trial.init(expected);
        if result == Err(ErrorCode::ProducerFenced) {
            assert!(expected.is_some() && expected != self.model.holder, "the holder is never fenced");
            return;
        }
        if self.model.decided.is_some() || self.model.open.is_some() {
            assert_eq!(result, Err(ErrorCode::ConcurrentTransactions));
            if self.model.open.is_some() {
                self.fence();
            }
            return;
        }
        let producer = result.unwrap();
        assert_ne!(Some(producer), self.model.holder, "who begins has a producer of its own");
        self.grows(producer);
        self.model.holder = Some(producer);
        self.clients[client].producer = Some(producer);
    }

    /// Epochs never come back.
    fn grows(&mut self, producer: Producer) {
        if let Some(highest) = self.highest {
            let grows = producer.id != highest.id || producer.epoch > highest.epoch;
            assert!(grows, "{producer:?} after {highest:?}");
        }
        self.highest = Some(producer);
    }

    fn add(&mut self, client: usize, partition: i32) {
        let Some(producer) = self.clients[client].producer else { return };
        let result = self.trial.add(producer, &[("t", partition)], self.version);
        if Some(producer) != self.model.holder {
            assert!(result.is_err(), "{producer:?} is fenced");
        } else if self.model.decided.is_some() {
            assert_eq!(result, Err(ErrorCode::ConcurrentTransactions));
        } else {
            assert_eq!(result, Ok(()));
            if self.model.open.is_none() {
                self.model.opened_ms = self.trial.now_ms;
            }
            self.model.open.get_or_insert_default().insert(partition);
        }
    }

    fn end(&mut self, client: usize, commit: bool) {
        let Some(producer) = self.clients[client].producer else { return };
        let result = self.trial.end(producer, commit, self.version);
        if Some(producer) != self.model.holder || self.model.decided.is_some() || self.model.open.is_none() {
            // Nothing new is committed: at most an answer is repeated, or nothing is aborted for an epoch.
            if let Ok(next) = result
                && self.trial.markers().is_some()
                && self.model.decided.is_none()
            {
                assert!(!commit && Some(producer) == self.model.holder && self.model.open.is_none());
                self.decide(client, (producer, commit, next), BTreeSet::new());
            }
            return;
        }
        let partitions = self.model.open.take().unwrap();
        self.decide(client, (producer, commit, result.unwrap()), partitions);
    }

    fn decide(&mut self, client: usize, end: (Producer, bool, Producer), partitions: BTreeSet<i32>) {
        let (before, commit, next) = end;
        self.model.decided = Some((commit, partitions));
        self.clients[client] = Client { producer: Some(next), last_end: Some(end) };
        self.model.holder = Some(next);
        if self.version >= 2 {
            self.grows(next);
        } else {
            assert_eq!(next, before);
        }
    }

    fn end_again(&mut self, client: usize) {
        let Some((producer, commit, next)) = self.clients[client].last_end else { return };
        let (open, decided) = (self.model.open.is_some(), self.model.decided.is_some());
        if self.version < 2 && open && Some(producer) == self.model.holder {
            // Without an epoch of its own the repetition cannot be told from the end of the next transaction.
            return;
        }
        let result = self.trial.end(producer, commit, self.version);
        if self.model.holder == Some(next) && !open && !decided && self.trial.state() != State::Empty {
            assert_eq!(result, Ok(next), "the answer is the same");
        }
    }

    fn mark(&mut self) {
        let markers = self.trial.mark();
        match self.model.decided.take() {
            None => assert_eq!(markers, None),
            Some((commit, partitions)) => {
                let markers = markers.unwrap();
                assert_eq!(markers.commit, commit);
                let written = markers.partitions.get("t").cloned().unwrap_or_default();
                assert_eq!(written, partitions);
            }
        }
    }

    fn pass(&mut self, ms: u64) {
        self.trial.pass(Duration::from_millis(ms));
        let limit = u64::try_from(TIMEOUT_MS).unwrap();
        if self.model.open.is_some() && self.trial.now_ms - self.model.opened_ms >= limit {
            self.fence();
        }
    }

    fn check(&mut self) {
        let (open, decided) =
            (self.model.open.is_some(), self.model.decided.as_ref().map(|(commit, _)| *commit));
        let Some(shown) = self.trial.shown() else { return };
        match shown.state {
            State::Ongoing => assert!(open),
            State::PrepareCommit => assert_eq!(decided, Some(true)),
            State::PrepareAbort => assert_eq!(decided, Some(false)),
            State::Empty | State::CompleteCommit | State::CompleteAbort => {
                assert!(!open && decided.is_none())
            }
        }
        let own = shown.partitions.get("t").cloned().unwrap_or_default();
        let wanted = self.model.open.as_ref().or_else(|| self.model.decided.as_ref().map(|(_, of)| of));
        assert_eq!(own, wanted.cloned().unwrap_or_default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn a_transactional_id_means_what_the_model_says(
        steps in proptest::collection::vec(step(), 1..80), version in prop_oneof![Just(0i16), Just(2i16)],
        crashes in any::<bool>(), old in any::<bool>(),
    ) {
        let mut trial = Trial::new();
        trial.init(None).unwrap();
        if old {
            trial.set_epoch(i16::MAX - 4);
        }
        let highest = trial.shown().map(|shown| crate::txn::rules::producer_of(&shown));
        let mut world = World { trial, model: Model::default(), clients: <[Client; CLIENTS]>::default(), version, highest };
        for step in steps {
            world.take(step);
            if crashes {
                world.trial.crash();
            }
        }
    }
}
