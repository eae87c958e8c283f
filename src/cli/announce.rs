//! What a person and a waiting program read when the broker is ready.

use crate::config::HostPort;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What is said at the start.
#[derive(Debug)]
pub(super) struct Announcement {
    pub(super) node_id: i32,
    pub(super) cluster_id: String,
    /// Each listener's name, what clients are told, and where it listens.
    pub(super) listeners: Vec<(String, HostPort, Vec<SocketAddr>)>,
    pub(super) folders: Vec<PathBuf>,
    /// Where the metrics are served.
    pub(super) admin: Vec<SocketAddr>,
}

impl Announcement {
    /// The lines. The last one holds every text that start scripts and test libraries wait for.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "dohle {}, node {}, cluster {}\n",
            env!("CARGO_PKG_VERSION"),
            self.node_id,
            self.cluster_id
        );
        let mut line = |label: &str, rest: &str| {
            writeln!(text, "{label:<9}{rest}").expect("writing to a text does not fail");
        };
        for (name, advertised, bound) in &self.listeners {
            let bound: Vec<String> = bound.iter().map(SocketAddr::to_string).collect();
            line("clients", &format!("{advertised} ({name}, listens on {})", bound.join(" and ")));
        }
        for folder in &self.folders {
            line("data", &folder.display().to_string());
        }
        if let Some(address) = self.admin.first() {
            line("metrics", &format!("http://{address}/metrics"));
        }
        if let Some((_, advertised, _)) = self.listeners.first() {
            line("produce", &format!("echo hello | kcat -P -b {advertised} -t demo"));
            line("consume", &format!("kcat -C -b {advertised} -t demo"));
        }
        let ready = format!(
            "[KafkaServer id={}] started; Kafka Server started; Transitioning from RECOVERY to RUNNING",
            self.node_id
        );
        text.push_str(&format!("ready: {ready}\n"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_to_begin_with_is_said_and_the_last_line_is_what_scripts_wait_for() {
        let text = Announcement {
            node_id: 7,
            cluster_id: "abc".to_owned(),
            listeners: vec![(
                "PLAINTEXT".to_owned(),
                HostPort { host: "localhost".to_owned(), port: 9092 },
                vec!["127.0.0.1:9092".parse().unwrap(), "[::1]:9092".parse().unwrap()],
            )],
            folders: vec![PathBuf::from("/data")],
            admin: vec!["127.0.0.1:9644".parse().unwrap()],
        }
        .text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "clients  localhost:9092 (PLAINTEXT, listens on 127.0.0.1:9092 and [::1]:9092)",
                "data     /data",
                "metrics  http://127.0.0.1:9644/metrics",
                "produce  echo hello | kcat -P -b localhost:9092 -t demo",
                "consume  kcat -C -b localhost:9092 -t demo",
                "ready: [KafkaServer id=7] started; Kafka Server started; Transitioning from RECOVERY to RUNNING",
            ]
        );
    }
}
