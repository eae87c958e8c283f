//! Tests of the group machine as a whole. `trial.rs` runs it in simulated time.

use crate::base::ErrorCode;
use crate::base::Offset;
use crate::base::ProducerId;
use crate::base::TopicId;
use crate::coordinator::Machine;
use crate::coordinator::Place;
use crate::coordinator::Ticket;
use crate::groups::Groups;
use crate::groups::Memory;
use crate::groups::Settings;
use crate::groups::command::{Answer, Command, Commit, CommitPartition, CommitTopic, DeleteOffsets};
use crate::groups::command::{
    Fetch, FetchTopic, FetchedPartition, Heartbeat, Join, Joined, Leave, Leaver, List, Missing,
};
use crate::groups::command::{Protocol, Sync, Synced};
use crate::groups::record::Record;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use trial::{GROUP, JoinWith, Trial, commit, heartbeat, join, join_as, part, reload, settings};
use trial::{subscription, sync, text};

mod cases;
mod consumer;
mod consumer_migration;
mod consumer_simulation;
mod generations;
mod golden;
mod plants;
mod service;
mod simulation;
mod storage;
mod trial;
mod world;
