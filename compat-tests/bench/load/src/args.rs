//! The options of every mode, each with a default.

use std::error::Error;

/// What any part may end with.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Options; which of them a mode reads is said in the usage.
#[derive(Clone, Debug)]
pub struct Args {
    pub boot: String,
    pub topic: String,
    pub configs: String,
    pub path: String,
    /// Of a group: `classic` or `consumer`.
    pub protocol: String,
    /// The broker's process, 0 for none.
    pub pid: i32,
    pub topics: usize,
    pub partitions: usize,
    pub connections: usize,
    pub in_flight: usize,
    pub acks: i16,
    /// Records in a batch.
    pub records: usize,
    /// Bytes of a record's value.
    pub bytes: usize,
    /// Each record sent has one of so many keys, by chance; 0 for no keys.
    pub keys: u64,
    pub max_bytes: i32,
    pub wait_ms: i32,
    pub warm_seconds: f64,
    pub seconds: f64,
    /// Bytes of batches after which a run ends, 0 for no limit.
    pub amount: u64,
    /// Records a second.
    pub rate: u64,
    /// Whether an idle connection says ApiVersions once, as clients do.
    pub hello: bool,
    /// Partitions that a transaction writes to.
    pub spread: usize,
    /// Each so manieth transaction is aborted; 0 for none.
    pub abort_every: u64,
    /// Whether only committed records are fetched.
    pub committed: bool,
}

impl Args {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut args = Self {
            boot: String::new(),
            topic: "load".into(),
            configs: String::new(),
            path: ".".into(),
            protocol: "classic".into(),
            pid: 0,
            topics: 1,
            partitions: 1,
            connections: 1,
            in_flight: 1,
            acks: 1,
            records: 1,
            bytes: 1024,
            keys: 0,
            max_bytes: 1 << 20,
            wait_ms: 500,
            warm_seconds: 0.0,
            seconds: 5.0,
            amount: 0,
            rate: 5000,
            hello: true,
            spread: 1,
            abort_every: 0,
            committed: false,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} has no value"))?;
            args.set(&name, &value)?;
        }
        if args.topics == 0
            || args.partitions == 0
            || args.connections == 0
            || args.in_flight == 0
            || args.records == 0
        {
            return Err("counts start at one".into());
        }
        Ok(args)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "--boot" => self.boot = value.into(),
            "--topic" => self.topic = value.into(),
            "--configs" => self.configs = value.into(),
            "--path" => self.path = value.into(),
            "--protocol" => self.protocol = value.into(),
            "--pid" => self.pid = value.parse()?,
            "--topics" => self.topics = value.parse()?,
            "--partitions" => self.partitions = value.parse()?,
            "--connections" => self.connections = value.parse()?,
            "--in-flight" => self.in_flight = value.parse()?,
            "--acks" => self.acks = if value == "all" { -1 } else { value.parse()? },
            "--records" => self.records = value.parse()?,
            "--bytes" => self.bytes = value.parse()?,
            "--keys" => self.keys = value.parse()?,
            "--max-bytes" => self.max_bytes = value.parse()?,
            "--wait-ms" => self.wait_ms = value.parse()?,
            "--warm-seconds" => self.warm_seconds = value.parse()?,
            "--seconds" => self.seconds = value.parse()?,
            "--amount" => self.amount = value.parse()?,
            "--rate" => self.rate = value.parse()?,
            "--hello" => self.hello = value.parse()?,
            "--spread" => self.spread = value.parse()?,
            "--abort-every" => self.abort_every = value.parse()?,
            "--committed" => self.committed = value.parse()?,
            _ => return Err(format!("unknown option {name}").into()),
        }
        Ok(())
    }

    /// Every (topic, partition) in turn: partition by partition over all topics.
    pub fn places(&self) -> Vec<(String, i32)> {
        let mut places = Vec::with_capacity(self.topics * self.partitions);
        for partition in 0..self.partitions {
            for number in 0..self.topics {
                places.push((self.topic_name(number), partition as i32));
            }
        }
        places
    }

    pub fn topic_name(&self, number: usize) -> String {
        if self.topics == 1 { self.topic.clone() } else { format!("{}-{number}", self.topic) }
    }
}
