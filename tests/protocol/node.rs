//! A broker in this process, and a client that sees bytes.

use bytes::BufMut;
use bytes::Bytes;
use bytes::BytesMut;
use dohle::config::ServerConfig;
use dohle::protocol::versions;
use dohle::server::Platform;
use dohle::server::Server;
use std::collections::BTreeMap;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::net::TcpStream;
use std::time::Duration;
use tokio::runtime::Runtime;

/// A broker on a folder and a port of its own; stopped in good order when dropped.
pub(crate) struct Node {
    runtime: Runtime,
    server: Option<Server>,
    pub(crate) address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Node {
    pub(crate) fn start(lines: &[(&str, &str)]) -> Node {
        let folder = tempfile::tempdir().unwrap();
        let mut set: BTreeMap<String, String> =
            lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        set.insert(String::from("log.dirs"), folder.path().to_str().unwrap().to_owned());
        set.insert(String::from("listeners"), String::from("PLAINTEXT://127.0.0.1:0"));
        set.insert(String::from("node.id"), String::from("1"));
        set.insert(String::from("dohle.admin.listeners"), String::new());
        let config = ServerConfig::new(&set, "localhost").unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let platform = Platform::system();
        let server = runtime.block_on(Server::start(config, platform)).unwrap();
        let address = server.listening()[0].addresses[0];
        Node { runtime, server: Some(server), address, _folder: folder }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
    }
}

/// One connection. Waits at most ten seconds for anything.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    next_correlation: i32,
}

impl Client {
    fn new(address: SocketAddr) -> Client {
        Client::to(address, Duration::from_secs(10))
    }

    /// A connection that waits at most this long for anything.
    pub(crate) fn to(address: SocketAddr, patience: Duration) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, next_correlation: 1 }
    }

    /// Sends a request; its correlation id.
    pub(crate) fn send(&mut self, key: i16, version: i16, body: &[u8]) -> i32 {
        let correlation = self.next_correlation;
        self.next_correlation += 1;
        let flexible = versions::api(key).is_some_and(|api| api.flexible(version));
        let mut frame = BytesMut::new();
        frame.put_i16(key);
        frame.put_i16(version);
        frame.put_i32(correlation);
        frame.put_i16(4);
        frame.put_slice(b"test");
        if flexible {
            frame.put_u8(0);
        }
        frame.put_slice(body);
        let size = u32::try_from(frame.len()).unwrap();
        self.stream.write_all(&size.to_be_bytes()).unwrap();
        self.stream.write_all(&frame).unwrap();
        correlation
    }

    /// The next answer, without its size; `None` when the broker closed the connection.
    pub(crate) fn receive(&mut self) -> Option<Bytes> {
        let mut size = [0; 4];
        match self.stream.read_exact(&mut size) {
            Ok(()) => {}
            Err(error) => match error.kind() {
                std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => return None,
                _ => panic!("neither an answer nor the end: {error}"),
            },
        }
        let mut answer = vec![0; u32::from_be_bytes(size) as usize];
        self.stream.read_exact(&mut answer).unwrap();
        Some(Bytes::from(answer))
    }

    /// The body of the answer to a request, after its header; `None` when the broker closed the connection.
    pub(crate) fn ask(&mut self, key: i16, version: i16, body: &[u8]) -> Option<Bytes> {
        let correlation = self.send(key, version, body);
        let answer = self.receive()?;
        assert_eq!(answer[..4], correlation.to_be_bytes(), "api {key} version {version}");
        let flexible = versions::api(key).is_some_and(|api| api.flexible(version));
        if flexible && key != versions::API_VERSIONS {
            assert_eq!(answer[4], 0, "no tags in the header of api {key} version {version}");
            return Some(answer.slice(5..));
        }
        Some(answer.slice(4..))
    }
}
