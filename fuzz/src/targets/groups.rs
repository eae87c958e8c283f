//! What members and clients of the newer protocols send: heartbeats, patterns of topics, figures.

use super::Input;
use super::codecs::block_memory;
use dohle::base::TopicId;
use dohle::broker::probe::Life;
use dohle::cluster::Image;
use dohle::cluster::records::PartitionRecord;
use dohle::cluster::testing::add_topic;
use dohle::config::ServerConfig;
use dohle::groups;
use dohle::groups::Settings;
use dohle::metrics::Figure;
use dohle::metrics::Registry;
use dohle::protocol::otlp;
use dohle::protocol::versions;
use dohle::record::Codec;
use dohle::record::decompress;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::LazyLock;
use uuid::Uuid;

/// The names of the cluster's topics, with their numbers of partitions.
const TOPICS: &[(&str, i32)] = &[("in", 3), ("other", 1), ("log", 3), ("re", 2)];

static IMAGE: LazyLock<Arc<Image>> = LazyLock::new(|| {
    let mut image = Image::empty("fuzz");
    for (number, (name, count)) in (1..).zip(TOPICS) {
        let topic_id = TopicId(Uuid::from_u128(number));
        let placed = |partition| PartitionRecord { directories: vec![Uuid::from_u128(9)], ..partition };
        add_topic(&mut image, (name, topic_id), *count, placed);
    }
    Arc::new(image)
});

fn settings() -> Arc<Settings> {
    static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
        let config = ServerConfig::new(&BTreeMap::new(), "localhost").expect("the defaults");
        Settings::of(&config)
    });
    // A memory of their own for the groups of each input.
    let mut settings = SETTINGS.clone();
    settings.memory = groups::Memory::new(4 << 20, "members", "a.setting");
    Arc::new(settings)
}

/// A broker without groups yet.
pub(crate) fn life() -> Life {
    Life::new(settings(), Arc::clone(&IMAGE))
}

/// Heartbeats of members of consumer, share and streams groups, one after the other, with time that passes and
/// restarts between them.
pub(super) fn members(input: &mut Input<'_>) {
    let mut life = life();
    for _ in 0..24 {
        let choice = input.u8();
        match choice % 8 {
            0 => life.restart(),
            1 => life.expire(usize::from(input.u8())),
            kind => {
                let (key, version) = match kind {
                    2 | 3 => (versions::CONSUMER_GROUP_HEARTBEAT, i16::from(choice >> 7)),
                    4 => (versions::SHARE_GROUP_HEARTBEAT, 1),
                    _ => (versions::STREAMS_GROUP_HEARTBEAT, i16::from(choice >> 7)),
                };
                let body = if choice & 0x40 == 0 { input.piece() } else { input.body() };
                // Decoded, as a group has it, as it is written and read again.
                input.allow(body.len() * 64);
                life.heartbeat(key, version, body);
            }
        }
        if input.is_empty() {
            break;
        }
    }
    life.describe(&[Arc::from("g"), Arc::from("")]);
}

/// A pattern of topics that a member subscribes to.
pub(super) fn patterns(input: &mut Input<'_>) {
    let text = input.text();
    // No string of a request is longer.
    let text = &text[..text.floor_char_boundary(32_767)];
    groups::probe::pattern(text, &IMAGE);
}

/// How large figures may be when they are opened.
const OPENED_MAX: usize = 128 * 1024;

/// Figures that a client pushes, in any compression.
pub(super) fn telemetry(input: &mut Input<'_>) {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::new);
    let codec = Codec::ALL[usize::from(input.u8()) % Codec::ALL.len()];
    let body = input.body();
    input.allow(block_memory(&body) + OPENED_MAX * 2);
    let Ok(opened) = decompress(codec, &body, OPENED_MAX) else { return };
    let clients = REGISTRY.clients();
    let mut count = 0;
    let read = otlp::points(&opened, &mut |point| {
        assert!(point.name.len() <= 262 && point.attributes.len() <= 128, "a figure is small");
        let figure = Figure {
            name: point.name.to_string(),
            attributes: point.attributes.into_iter().map(|(key, value)| key + &value).collect(),
            value: point.value,
            delta: point.delta,
        };
        clients.push("one", "client", figure, 16);
        count += 1;
    });
    assert!(read.is_ok() || count == 0, "all figures of a push or none");
    clients.forget("one");
}
