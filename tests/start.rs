//! The program as people start and stop it: what it says, what it refuses, how it ends.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "helpers of a test panic as tests do, and time a process from outside"
)]

use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;
use tempfile::TempDir;

/// A running program, killed when the test forgets it.
struct Running {
    child: Child,
    said: Vec<String>,
}

impl Running {
    /// Starts it and reads what it says until it is ready.
    fn start(folder: &Path, arguments: &[&str]) -> Running {
        Running::launch(command(folder, arguments))
    }

    fn launch(mut command: Command) -> Running {
        let mut running = Running { child: command.spawn().unwrap(), said: Vec::new() };
        let mut lines = BufReader::new(running.child.stdout.take().unwrap()).lines();
        while let Some(Ok(line)) = lines.next() {
            let ready = line.starts_with("ready:");
            running.said.push(line);
            if ready {
                return running;
            }
        }
        let mut errors = String::new();
        running.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        panic!("it ended before it was ready: {errors}");
    }

    /// Asks it to stop; the exit code and how long it took.
    fn stop(mut self) -> (Option<i32>, Duration) {
        let asked = Instant::now();
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        (status.code(), asked.elapsed())
    }

    fn line(&self, label: &str) -> &str {
        self.said.iter().find_map(|line| line.strip_prefix(label)).unwrap().trim()
    }

    /// The addresses it says it listens on.
    fn addresses(&self) -> Vec<SocketAddr> {
        let (_, bound) = self.line("clients").split_once("listens on ").unwrap();
        bound.trim_end_matches(')').split(" and ").map(|address| address.parse().unwrap()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().unwrap_or(());
        self.child.wait().map(|_| ()).unwrap_or(());
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dohle"));
    command.current_dir(folder).args(["-o", "listeners=PLAINTEXT://localhost:0"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("KAFKA_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs it to its end; the exit code and what it said on standard error.
fn refused(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = command(folder, arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn it_says_where_it_is_and_what_to_type_and_what_scripts_wait_for() {
    let folder = folder();
    let running = Running::start(folder.path(), &["-o", "node.id=7"]);
    let (told, _) = running.line("clients").split_once(' ').unwrap();
    assert!(told.starts_with("localhost:") && !told.ends_with(":0"), "{told}");
    let data = folder.path().canonicalize().unwrap().join("dohle-data");
    assert_eq!(Path::new(running.line("data")).canonicalize().unwrap(), data);
    assert!(running.line("produce").contains(&format!("kcat -P -b {told}")));
    assert!(running.line("consume").contains(&format!("kcat -C -b {told}")));
    let ready = running.line("ready:");
    for text in
        ["[KafkaServer id=7] started", "Kafka Server started", "Transitioning from RECOVERY to RUNNING"]
    {
        assert!(ready.contains(text), "{ready}");
    }
}

#[test]
fn both_loopback_addresses_take_connections() {
    let folder = folder();
    let running = Running::start(folder.path(), &[]);
    let addresses = running.addresses();
    assert!(addresses.iter().any(SocketAddr::is_ipv4), "{addresses:?}");
    for address in addresses {
        TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap();
    }
}

#[test]
fn a_log_that_cannot_be_written_does_not_end_it() {
    let folder = folder();
    let mut command = command(folder.path(), &[]);
    command.stderr(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let running = Running::launch(command);
    TcpStream::connect_timeout(&running.addresses()[0], Duration::from_secs(5)).unwrap();
    assert_eq!(running.stop().0, Some(0));
}

#[test]
fn asked_to_stop_it_ends_in_five_seconds_with_exit_code_0_also_with_clients() {
    let folder = folder();
    let running = Running::start(folder.path(), &[]);
    let idle = TcpStream::connect(running.addresses()[0]).unwrap();
    let (code, took) = running.stop();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
    drop(idle);
    let marker = folder.path().join("dohle-data/.kafka_cleanshutdown");
    assert!(marker.exists(), "the folder is closed in good order");
}

#[test]
fn a_hangup_stops_it_in_good_order_unless_it_was_told_to_ignore_it() {
    for (nohup, program) in [(false, "exec \"$@\""), (true, "trap '' HUP; exec \"$@\"")] {
        let folder = folder();
        let mut running = Running::launch(in_shell(program, command(folder.path(), &[])));
        let pid = running.child.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
        if nohup {
            // A signal that counted would have come before this connection.
            TcpStream::connect_timeout(&running.addresses()[0], Duration::from_secs(5)).unwrap();
            assert_eq!(running.stop().0, Some(0));
        } else {
            assert_eq!(running.child.wait().unwrap().code(), Some(0));
        }
        assert!(folder.path().join("dohle-data/.kafka_cleanshutdown").exists());
    }
}

#[test]
fn it_ends_with_exit_code_1_and_one_line_when_its_only_folder_fails() {
    let folder = folder();
    // Files may have 1 or 2 MiB, by the shell; so the metadata log will fail.
    let program = "ulimit -f 2048; exec \"$@\"";
    let mut running = Running::launch(in_shell(program, command(folder.path(), &[])));
    let mut client = TcpStream::connect_timeout(&running.addresses()[0], Duration::from_secs(5)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.write_all(&topics_with_long_settings(100)).unwrap();
    let status = running.child.wait().unwrap();
    let mut errors = String::new();
    running.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(status.code(), Some(1), "{errors}");
    let last = errors.lines().last().unwrap();
    assert!(last.starts_with("dohle: stopped: the metadata log"), "{last}");
    assert!(!folder.path().join("dohle-data/.kafka_cleanshutdown").exists());
}

/// The same command, run by a shell program that ends in `exec "$@"`.
fn in_shell(program: &str, plain: Command) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", program, "sh"]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        if value.is_none() {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A CreateTopics request of version 2: each topic brings 30 kB into the metadata log.
fn topics_with_long_settings(count: u32) -> Vec<u8> {
    fn text(into: &mut Vec<u8>, text: &str) {
        into.extend(i16::try_from(text.len()).unwrap().to_be_bytes());
        into.extend(text.as_bytes());
    }
    let mut request = [19i16.to_be_bytes(), 2i16.to_be_bytes()].concat();
    request.extend(1i32.to_be_bytes());
    text(&mut request, "test");
    request.extend(count.to_be_bytes());
    for number in 0..count {
        text(&mut request, &format!("topic-{number}"));
        request.extend(1i32.to_be_bytes());
        request.extend(1i16.to_be_bytes());
        request.extend(0i32.to_be_bytes());
        request.extend(1i32.to_be_bytes());
        text(&mut request, "follower.replication.throttled.replicas");
        text(&mut request, &vec!["1:1"; 7500].join(","));
    }
    request.extend(30_000i32.to_be_bytes());
    request.push(0);
    let mut frame = u32::try_from(request.len()).unwrap().to_be_bytes().to_vec();
    frame.extend(request);
    frame
}

#[test]
fn a_second_one_on_the_same_folder_is_refused_with_one_line() {
    let folder = folder();
    let running = Running::start(folder.path(), &[]);
    let (code, errors) = refused(folder.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("locked by another process"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    running.stop();
    // The lock goes with its holder.
    assert_eq!(Running::start(folder.path(), &[]).stop().0, Some(0));
}

#[test]
fn a_restart_finds_its_cluster_again() {
    let folder = folder();
    let first = Running::start(folder.path(), &[]);
    let said = first.said[0].clone();
    first.stop();
    assert_eq!(Running::start(folder.path(), &[]).said[0], said);
    // A killed one too.
    let mut killed = Running::start(folder.path(), &[]);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert_eq!(Running::start(folder.path(), &[]).said[0], said);
}

#[test]
fn several_folders_are_all_used_and_named() {
    let folder = folder();
    let running = Running::start(folder.path(), &["-o", "log.dirs=one,two"]);
    let folders = running.said.iter().filter(|line| line.starts_with("data")).count();
    assert_eq!(folders, 2);
    assert!(folder.path().join("one/meta.properties").exists());
    assert!(folder.path().join("two/meta.properties").exists());
}

#[test]
fn a_setting_that_cannot_work_ends_it_with_one_line_and_exit_code_1() {
    let folder = folder();
    let check = |setting: &str, part: &str| {
        let (code, errors) = refused(folder.path(), &["-o", setting]);
        assert_eq!(code, Some(1), "{setting}");
        let told: Vec<&str> = errors.lines().filter(|line| line.starts_with("dohle: ")).collect();
        assert!(matches!(told.as_slice(), [line] if line.contains(part)), "{errors}");
    };
    check("listeners=PLAINTEXT://0.0.0.0:0", "advertised.listeners");
    check("listeners=SASL_SSL://localhost:0", "SASL_SSL");
    check("num.partitions=many", "num.partitions");
    check("authorizer.class.name=x", "authorizer.class.name");
    check("listeners=PLAINTEXT://192.0.2.1:0", "192.0.2.1");
    let (code, errors) = refused(folder.path(), &["--config", "missing.properties"]);
    assert!(code == Some(1) && errors.contains("missing.properties"), "{errors}");
}

#[test]
fn a_settings_file_is_read_and_unknown_settings_are_told() {
    let folder = folder();
    std::fs::write(folder.path().join("server.properties"), "log.dirs=elsewhere\nnum.partition=3\n").unwrap();
    let mut running = Running::start(folder.path(), &["--config", "server.properties"]);
    assert!(folder.path().join("elsewhere/meta.properties").exists());
    let mut errors = running.child.stderr.take().unwrap();
    assert_eq!(running.stop().0, Some(0));
    let mut text = String::new();
    errors.read_to_string(&mut text).unwrap();
    assert!(text.contains("did you mean num.partitions?"), "{text}");
}

/// What other programs leave in a folder (a file system's `lost+found`, a mounted volume's links) is not ours.
#[test]
fn foreign_entries_in_the_folder_are_left_alone() {
    let folder = folder();
    let data = folder.path().join("dohle-data");
    for name in ["lost+found", ".snapshot", "..data", "foo", "bar-delete"] {
        std::fs::create_dir_all(data.join(name)).unwrap();
    }
    std::fs::write(data.join("stray"), "mine").unwrap();
    let running = Running::start(folder.path(), &[]);
    assert_eq!(running.stop().0, Some(0));
    for name in ["lost+found", ".snapshot", "..data", "foo", "bar-delete"] {
        assert!(data.join(name).is_dir(), "{name}");
    }
    assert_eq!(std::fs::read_to_string(data.join("stray")).unwrap(), "mine");
}

/// A folder in which a broker has made a topic and was stopped in good order.
fn used() -> TempDir {
    let folder = folder();
    let running = Running::start(folder.path(), &[]);
    let mut client = TcpStream::connect_timeout(&running.addresses()[0], Duration::from_secs(5)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.write_all(&topics_with_long_settings(1)).unwrap();
    client.read_exact(&mut [0; 4]).unwrap();
    assert_eq!(running.stop().0, Some(0));
    folder
}

#[test]
fn a_metadata_log_that_lost_its_records_is_not_taken_for_an_empty_cluster() {
    let lose: [fn(&Path); 3] = [
        |log| std::fs::write(log.join("00000000000000000000.log"), b"").unwrap(),
        |log| std::fs::remove_dir_all(log).unwrap(),
        |log| {
            std::fs::write(log.join("00000000000000000000.log"), b"").unwrap();
            std::fs::remove_file(log.join("../.kafka_cleanshutdown")).unwrap();
        },
    ];
    for lose in lose {
        let folder = used();
        let data = folder.path().join("dohle-data");
        lose(&data.join("__cluster_metadata-0"));
        for _ in 0..2 {
            let (code, errors) = refused(folder.path(), &[]);
            assert_eq!(code, Some(1));
            let last = errors.lines().last().unwrap();
            assert!(last.contains("metadata log"), "{errors}");
        }
        assert!(data.join("topic-0-0").exists(), "nothing is set aside");
    }
}

#[test]
fn data_without_its_meta_properties_does_not_become_another_cluster() {
    let folder = used();
    let file = folder.path().join("dohle-data/meta.properties");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let (code, errors) = refused(folder.path(), &[]);
    assert_eq!(code, Some(1));
    assert!(errors.lines().last().unwrap().contains("meta.properties: the file is gone"), "{errors}");
    assert!(!file.exists());
    let id = text.lines().find_map(|line| line.strip_prefix("cluster.id=")).unwrap();
    let running = Running::start(folder.path(), &["-o", &format!("cluster.id={id}")]);
    assert_eq!(running.stop().0, Some(0));
}
