//! Records that brokers write for themselves: the metadata log, its snapshots, and the topics of coordinators.

use super::Input;
use bytes::Bytes;
use dohle::base::LeaderEpoch;
use dohle::base::Offset;
use dohle::base::Timestamp;
use dohle::cluster::Image;
use dohle::cluster::records::METADATA_VERSION_LATEST;
use dohle::cluster::records::METADATA_VERSION_MINIMUM;
use dohle::cluster::records::Record;
use dohle::cluster::source::probe;
use dohle::config::ServerConfig;
use dohle::coordinator::machine::Entry;
use dohle::groups;
use dohle::groups::Settings;
use dohle::record::BatchBuilder;
use dohle::record::Codec;
use dohle::share;
use dohle::txn;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::LazyLock;

/// Values of metadata records: one by one, and as the log and the snapshot that hold them.
pub(super) fn metadata(input: &mut Input<'_>) {
    let choice = input.u8();
    if choice & 1 != 0 {
        one_record(&input.body(), i16::from(choice >> 1));
        return;
    }
    if choice & 2 != 0 {
        let bytes = input.body();
        drop(probe::log(&bytes));
        drop(probe::snapshot(bytes));
        return;
    }
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(1));
    let mut values = 0;
    while !input.is_empty() && values < 64 {
        builder.push(None, Some(&input.piece()), &[], Timestamp(1));
        values += 1;
    }
    if values == 0 {
        return;
    }
    let batch = builder.build();
    let log = [batch.head(Offset(0), LeaderEpoch(1)), batch.rest()].concat();
    if let Ok(image) = probe::log(&Bytes::from(log)) {
        assert_eq!(image.offset, Offset(values));
        again(&image);
    }
}

/// An image is the same when it is made from its own records.
fn again(image: &Image) {
    let mut copy = Image::empty(&image.cluster_id);
    for record in image.records() {
        copy.apply(&record).expect("an image's own records");
    }
    let (one, other): (Vec<String>, Vec<String>) = (
        image.records().map(|record| same(&record)).collect(),
        copy.records().map(|record| same(&record)).collect(),
    );
    assert_eq!(one, other, "a snapshot is the image");
}

fn one_record(value: &Bytes, level: i16) {
    let Ok(record) = Record::decode(value) else { return };
    let level = METADATA_VERSION_MINIMUM + level % (METADATA_VERSION_LATEST - METADATA_VERSION_MINIMUM + 1);
    let written = record.encode(level);
    let read = Record::decode(&written).expect("what was written is read");
    assert_eq!(read.encode(level), written, "what was read is written the same");
    if level == METADATA_VERSION_LATEST {
        assert_eq!(same(&read), same(&record), "the latest level loses nothing");
    }
}

/// Records compare by their text: a quota that is no number equals itself.
fn same(record: &Record) -> String {
    format!("{record:?}")
}

/// Keys and values of `__consumer_offsets`, `__transaction_state` and `__share_group_state`, read and applied as a coordinator loads them.
pub(super) fn coordinator(input: &mut Input<'_>) {
    static SETTINGS: LazyLock<Arc<Settings>> = LazyLock::new(|| {
        let config = ServerConfig::new(&BTreeMap::new(), "localhost").expect("the defaults");
        Arc::new(Settings::of(&config))
    });
    static TRANSACTIONS: LazyLock<Arc<txn::settings::Settings>> = LazyLock::new(|| {
        let config = ServerConfig::new(&BTreeMap::new(), "localhost").expect("the defaults");
        Arc::new(txn::settings::Settings::of(&config))
    });
    static SHARES: LazyLock<Arc<share::state::settings::Settings>> = LazyLock::new(|| {
        let config = ServerConfig::new(&BTreeMap::new(), "localhost").expect("the defaults");
        Arc::new(share::state::settings::Settings::of(&config))
    });
    let choice = input.u8();
    let mut entries = Vec::new();
    if choice & 1 != 0 {
        let key = input.piece();
        entries.push(Entry { key, value: Some(input.body()) });
    }
    while !input.is_empty() && entries.len() < 64 {
        let key = input.piece();
        let value = (input.u8() & 1 == 0).then(|| input.piece());
        entries.push(Entry { key, value });
    }
    groups::probe::load(&SETTINGS, entries.iter().cloned());
    txn::probe::load(&TRANSACTIONS, entries.iter().cloned());
    share::state::probe::load(&SHARES, entries.into_iter());
}
