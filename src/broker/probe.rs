//! A door to what becomes of heartbeats, for `fuzz/`: bodies that nobody checked, decoded, judged and decided as a broker
//! does, for groups in memory.

use crate::base::BrokerId;
use crate::base::Offset;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::broker::context::Connection;
use crate::broker::context::Context;
use crate::broker::group::consumer_group_heartbeat;
use crate::broker::group::streams_group_describe as describe;
use crate::broker::group::streams_group_heartbeat as heartbeat;
use crate::broker::group::streams_group_heartbeat::request;
use crate::broker::share::share_group_heartbeat;
use crate::cluster::Image;
use crate::config::SecurityProtocol;
use crate::coordinator::Machine;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Place;
use crate::coordinator::Ticket;
use crate::coordinator::TimerChange;
use crate::coordinator::machine::Entry;
use crate::groups::Groups;
use crate::groups::Settings;
use crate::groups::command::Answer;
use crate::groups::command::Command;
use crate::groups::consumer;
use crate::groups::machine::Timer;
use crate::groups::record::Record;
use crate::groups::share;
use crate::groups::streams;
use crate::protocol::RequestHeader;
use crate::protocol::codec;
use crate::protocol::supplement::streams_group_describe;
use crate::protocol::supplement::streams_group_heartbeat;
use crate::protocol::versions;
use bytes::Bytes;
use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;
use kafka_protocol::messages::ShareGroupHeartbeatRequest;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Groups of every kind, the records they wrote, and what is due in them.
#[derive(Debug)]
pub struct Life {
    machine: Groups,
    settings: Arc<Settings>,
    image: Arc<Image>,
    connection: Arc<Connection>,
    log: Vec<Record>,
    timers: BTreeSet<Timer>,
    now: i64,
}

impl Life {
    /// No groups yet, in a cluster with these topics.
    pub fn new(settings: Arc<Settings>, image: Arc<Image>) -> Life {
        let peer = ([127, 0, 0, 1], 5).into();
        let mut life = Life {
            machine: Groups::new(Arc::clone(&settings), Arc::clone(&image)),
            settings,
            image,
            connection: Arc::new(Connection::new("PLAINTEXT", SecurityProtocol::Plaintext, peer)),
            log: Vec::new(),
            timers: BTreeSet::new(),
            now: 1_700_000_000_000,
        };
        let outcome = life.machine.loaded(life.now());
        life.take(outcome);
        life
    }

    fn now(&self) -> Now {
        Now(Timestamp(self.now))
    }

    /// A heartbeat of any kind of member. Whether it came as far as a group.
    pub fn heartbeat(&mut self, api_key: i16, api_version: i16, body: Bytes) -> bool {
        let header = RequestHeader { api_key, api_version, correlation_id: 7, client_id: None };
        let context = Context { header, connection: Arc::clone(&self.connection), followed: false };
        let Some(command) = self.command(&context, body) else { return false };
        let outcome = self.machine.decide(self.now(), Ticket(1), command);
        for (_, answer) in self.take(outcome) {
            encode(&context.header, answer);
        }
        true
    }

    fn command(&self, context: &Context, body: Bytes) -> Option<Command> {
        let header = &context.header;
        match header.api_key {
            versions::CONSUMER_GROUP_HEARTBEAT => {
                let request: ConsumerGroupHeartbeatRequest = codec::decode(header, body).ok()?;
                let mut command = consumer_group_heartbeat::command(context, &request);
                command.new_member_id = Arc::from("fresh");
                Some(Command::Consumer(consumer::command::Command::Heartbeat(Box::new(command))))
            }
            versions::SHARE_GROUP_HEARTBEAT => {
                let request: ShareGroupHeartbeatRequest = codec::decode(header, body).ok()?;
                let command = share_group_heartbeat::command(context, &request).ok()?;
                Some(Command::Share(share::command::Command::Heartbeat(Box::new(command))))
            }
            _ => {
                let request = streams_group_heartbeat::decode(header, body).ok()?;
                request::check(&request).ok()?;
                let settings = {
                    let (streams, image) = (&self.settings.streams, &self.image);
                    streams::settings::Settings::of(streams, BrokerId(1), image, &request.group_id)
                };
                let command = request::command(context, request).ok()?;
                Some(Command::StreamsHeartbeat(Box::new(command(Arc::clone(&self.image), settings))))
            }
        }
    }

    /// What was written so far.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.log.iter().map(Groups::encode)
    }

    /// Time passes, and what is due at this place of all that is comes to pass.
    pub fn expire(&mut self, place: usize) {
        self.now += 60_000;
        let Some(timer) = self.timers.iter().nth(place % self.timers.len().max(1)).cloned() else { return };
        self.timers.remove(&timer);
        let outcome = self.machine.expired(self.now(), timer);
        self.take(outcome);
    }

    /// The broker stops, and another one reads what was written.
    pub fn restart(&mut self) {
        let mut machine = Groups::new(Arc::clone(&self.settings), Arc::clone(&self.image));
        for (offset, record) in (0..).zip(&self.log) {
            machine.apply(Place { offset: Offset(offset), producer: ProducerId::NONE }, record);
        }
        self.machine = machine;
        self.timers.clear();
        let outcome = self.machine.loaded(self.now());
        self.take(outcome);
    }

    /// Shows all groups of these ids.
    pub fn describe(&mut self, ids: &[Arc<str>]) {
        let header = RequestHeader {
            api_key: versions::STREAMS_GROUP_DESCRIBE,
            api_version: 1,
            correlation_id: 7,
            client_id: None,
        };
        for command in [
            Command::StreamsDescribe(ids.to_vec()),
            Command::Describe(ids.to_vec()),
            Command::Consumer(consumer::command::Command::Describe(ids.to_vec())),
            Command::Share(share::command::Command::Describe(ids.to_vec())),
            Command::Count,
        ] {
            let outcome = self.machine.decide(self.now(), Ticket(1), command);
            for (_, answer) in self.take(outcome) {
                encode(&header, answer);
            }
        }
    }

    fn take(&mut self, outcome: Outcome<Groups>) -> Vec<(Ticket, Answer)> {
        for record in outcome.records {
            let read = Groups::decode(&Groups::encode(&record));
            assert_eq!(read.as_ref(), Ok(&Some(record.clone())), "what was written is read");
            let offset = Offset(i64::try_from(self.log.len()).unwrap_or(i64::MAX));
            self.machine.apply(Place { offset, producer: ProducerId::NONE }, &record);
            self.log.push(record);
        }
        for change in outcome.changes {
            self.machine.install(change);
        }
        for change in outcome.timers {
            match change {
                TimerChange::Set(timer, _) => self.timers.insert(timer),
                TimerChange::Cancel(timer) => self.timers.remove(&timer),
            };
        }
        outcome.answers
    }
}

/// Writes the answers whose form is ours.
fn encode(header: &RequestHeader, answer: Answer) {
    let written = match answer {
        Answer::StreamsHeartbeat(answer) => {
            let answer = match answer {
                Ok(alive) => heartbeat::answer(*alive),
                Err(refusal) => heartbeat::refused(refusal),
            };
            streams_group_heartbeat::encode(header, &answer)
        }
        Answer::StreamsDescribe(groups) => {
            let group = |shown| match shown {
                Ok(shown) => describe::described("g", shown, 0),
                Err(refusal) => describe::failed("g", refusal),
            };
            let groups: Vec<streams_group_describe::Group> = groups.into_iter().map(group).collect();
            streams_group_describe::encode(header, &groups)
        }
        Answer::Consumer(consumer::command::Answer::Heartbeat(beaten)) => {
            codec::encode(header, &consumer_group_heartbeat::response(beaten))
        }
        _ => return,
    };
    assert!(written.is_ok(), "an answer that cannot be written: {written:?}");
}
