//! The clients: one request at a time, repeated when its answer is lost.

use super::*;

/// What a client waits for.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Init {
        expected: Option<Producer>,
    },
    /// The partition joins, and is written to when that is answered.
    Add {
        partition: usize,
        guard: Option<usize>,
    },
    /// The partition is asked for before it is written to (version 1 only).
    Verify {
        partition: usize,
        guard: Option<usize>,
    },
    End {
        commit: bool,
    },
}

/// How far a client is.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// It may do what it likes.
    Free,
    /// A request is under way.
    Waiting(Request),
    /// A request may have been answered or not, and is to be repeated.
    Again(Request),
}

#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) incarnation: usize,
    pub(super) producer: Option<Producer>,
    pub(super) step: Step,
    /// The open transaction.
    pub(super) tag: Option<Tag>,
    /// The partitions that joined it.
    joined: BTreeSet<usize>,
    /// Whether an answer to the present request was lost, so that a refusal of its repetition says nothing.
    unsure: bool,
}

impl Client {
    pub(super) fn new(incarnation: usize) -> Client {
        Client {
            incarnation,
            producer: None,
            step: Step::Free,
            tag: None,
            joined: BTreeSet::new(),
            unsure: false,
        }
    }

    pub(super) fn answer_lost(&mut self) {
        if let Step::Waiting(request) = &self.step {
            self.unsure = true;
            self.step = Step::Again(request.clone());
        }
    }
}

impl World {
    /// A client dies and another takes its place.
    pub(super) fn replace(&mut self, client: usize) {
        self.say(&format!("{client} dies"));
        self.incarnations += 1;
        self.parked.retain(|(_, other, _)| *other != client);
        self.clients[client] = Client::new(self.incarnations);
    }

    pub(super) fn act(&mut self, client: usize) {
        match self.clients[client].step.clone() {
            Step::Waiting(_) => {}
            Step::Again(request) => self.send(client, request),
            Step::Free => match self.clients[client].producer {
                None => self.send(client, Request::Init { expected: None }),
                Some(producer) => self.go_on(client, producer),
            },
        }
    }

    fn go_on(&mut self, client: usize, producer: Producer) {
        let Some(_) = self.clients[client].tag else {
            if self.random.one_in(20) {
                self.send(client, Request::Init { expected: Some(producer) });
                return;
            }
            let incarnation = self.clients[client].incarnation;
            self.clients[client].tag = Some(self.told.len());
            self.clients[client].joined.clear();
            self.told.push(Told { incarnation, ..Told::default() });
            return;
        };
        let empty = self.clients[client].joined.is_empty();
        if !empty && self.random.one_in(3) || empty && self.version >= 2 && self.random.one_in(20) {
            let commit = !empty && !self.random.one_in(3);
            self.send(client, Request::End { commit });
            return;
        }
        let partition = self.pick(PARTITIONS);
        let guard = self.data[partition].guard(producer);
        let joined = self.clients[client].joined.contains(&partition);
        match (joined, guard) {
            // Open in the partition already: it is written to at once.
            (true, None) => self.write(client, partition, None),
            (true, Some(_)) if self.version < 2 => self.send(client, Request::Verify { partition, guard }),
            _ => self.send(client, Request::Add { partition, guard }),
        }
    }

    fn send(&mut self, client: usize, request: Request) {
        let producer = self.clients[client].producer;
        self.clients[client].step = Step::Waiting(request.clone());
        let client_version = self.version;
        let add = |partition: usize, producer| Add {
            id: ID.into(),
            producer,
            partitions: partitions(&[("t", i32::try_from(partition).unwrap())]),
            client_version,
        };
        let command = match (request, producer) {
            (Request::Init { expected }, _) => {
                Command::Init(Init { id: ID.into(), timeout_ms: TIMEOUT_MS, expected, fresh: None })
            }
            (Request::Add { partition, .. }, Some(producer)) => Command::Add(add(partition, producer)),
            (Request::Verify { partition, .. }, Some(producer)) => Command::Verify(add(partition, producer)),
            (Request::End { commit }, Some(producer)) => {
                if let Some(tag) = self.clients[client].tag {
                    self.told[tag].asked |= commit;
                }
                Command::End(End { id: ID.into(), producer, commit, client_version, fresh: None })
            }
            (other, None) => panic!("{other:?} without a producer"),
        };
        self.ask(client, command);
    }

    /// The partition takes a record, or refuses it for what it knows of the producer.
    fn write(&mut self, client: usize, partition: usize, guard: Option<usize>) {
        let (Some(producer), Some(tag)) = (self.clients[client].producer, self.clients[client].tag) else {
            return;
        };
        if self.random.one_in(15) {
            self.say(&format!("{client} hears nothing of its write of {tag} to {partition}"));
            self.late.push((producer, tag, partition));
            if self.random.one_in(2) {
                self.send(client, Request::End { commit: false });
            } else {
                self.give_up(client);
            }
            return;
        }
        let written = self.data[partition].append(producer, tag, guard);
        self.say(&format!("{client} writes {tag} to {partition}: {written:?}"));
        match written {
            Ok(()) => self.told[tag].records[partition] += 1,
            Err(_) => self.give_up(client),
        }
    }

    /// The transaction is lost to its client, which begins anew: with the producer it has, or with none.
    fn give_up(&mut self, client: usize) {
        let goes_on = self.random.one_in(2);
        let this = &mut self.clients[client];
        this.tag = None;
        this.unsure = false;
        let expected = this.producer.filter(|_| goes_on);
        this.step = Step::Again(Request::Init { expected });
    }

    pub(super) fn deliver(&mut self, client: usize, answer: Answer) {
        let Step::Waiting(request) = self.clients[client].step.clone() else { return };
        self.clients[client].step = Step::Free;
        match (request.clone(), answer) {
            (_, Answer::Producer(Err(ErrorCode::ConcurrentTransactions)))
            | (_, Answer::Done(Err(ErrorCode::ConcurrentTransactions)))
            | (_, Answer::Verified(Err(ErrorCode::ConcurrentTransactions))) => {
                self.clients[client].step = Step::Again(request);
            }
            (Request::Init { .. }, Answer::Producer(Ok(producer))) => {
                self.give(client, producer);
                self.began(self.clients[client].incarnation);
                let this = &mut self.clients[client];
                (this.producer, this.tag, this.unsure) = (Some(producer), None, false);
            }
            (Request::Init { .. }, Answer::Producer(Err(_))) => {
                self.clients[client].producer = None;
                self.clients[client].tag = None;
            }
            (Request::Add { partition, guard }, Answer::Done(Ok(()))) => {
                self.clients[client].joined.insert(partition);
                self.clients[client].unsure = false;
                self.write_joined(client, partition, guard);
            }
            (Request::Verify { partition, guard }, Answer::Verified(Ok(missing))) if missing.is_empty() => {
                self.write(client, partition, guard);
            }
            (Request::End { commit }, Answer::Producer(Ok(next))) => {
                self.give(client, next);
                let this = &mut self.clients[client];
                (this.producer, this.unsure) = (Some(next), false);
                if let Some(tag) = this.tag.take() {
                    self.told[tag].committed = Some(commit);
                }
            }
            (Request::End { .. }, _) if self.clients[client].unsure => self.give_up(client),
            (Request::End { .. }, _) => {
                // Refused at the first attempt: it did not and will not happen.
                if let Some(tag) = self.clients[client].tag {
                    self.told[tag].committed = Some(false);
                }
                self.give_up(client);
            }
            _ => self.give_up(client),
        }
    }

    /// With the older protocol the write comes with a question of its own; the newer one asks by joining.
    fn write_joined(&mut self, client: usize, partition: usize, guard: Option<usize>) {
        if self.version < 2 && guard.is_some() {
            self.send(client, Request::Verify { partition, guard });
        } else {
            self.write(client, partition, guard);
        }
    }
}
