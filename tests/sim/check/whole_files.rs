//! After a clean close every file is what Kafka's tools expect: segments hold whole batches and nothing else, index
//! entries ascend and point at batch starts, names chain up.

use dohle::io::Disk;
use dohle::record::is_intact;
use dohle::record::walk;
use std::collections::BTreeMap;
use std::path::Path;

/// Checks all partitions in these folders; a folder that was not closed in good order is left out.
pub(crate) fn files(disk: &Disk, folders: &[&str]) {
    for folder in folders {
        let folder = Path::new(folder);
        if disk.stat(&folder.join(".kafka_cleanshutdown")).unwrap().is_none() {
            continue;
        }
        for entry in disk.list(folder).unwrap() {
            if entry.is_dir {
                partition(disk, &folder.join(&entry.name));
            }
        }
    }
}

fn partition(disk: &Disk, folder: &Path) {
    let mut next = None;
    for entry in disk.list(folder).unwrap() {
        let name = entry.name.to_str().unwrap();
        let Some(base) = name.strip_suffix(".log") else { continue };
        let base_offset: i64 = base.parse().unwrap();
        let bytes = disk.read(&folder.join(name), 1 << 30).unwrap();
        let mut starts = BTreeMap::new();
        let mut end = base_offset;
        for walked in walk(&bytes) {
            let (position, header) = walked.unwrap_or_else(|error| panic!("{folder:?}/{name}: {error}"));
            assert!(
                is_intact(&bytes[position..position + header.total_size()]),
                "{folder:?}/{name} at {position}"
            );
            assert!(header.base_offset >= end);
            end = header.last_offset() + 1;
            starts.insert(position, (header.last_offset(), header.max_timestamp));
        }
        if let Some(next) = next {
            assert_eq!(base_offset, next, "{folder:?}: a hole before {name}");
        }
        next = Some(end);
        offset_index(disk, &folder.join(format!("{base}.index")), base_offset, &starts);
        time_index(disk, &folder.join(format!("{base}.timeindex")), base_offset, &starts);
    }
}

type Starts = BTreeMap<usize, (i64, i64)>;

fn offset_index(disk: &Disk, path: &Path, base: i64, starts: &Starts) {
    let Ok(bytes) = disk.read(path, 1 << 30) else { return };
    assert_eq!(bytes.len() % 8, 0, "{path:?}");
    let mut last = -1;
    for entry in bytes.chunks(8) {
        let offset = base + i64::from(i32::from_be_bytes(entry[..4].try_into().unwrap()));
        let position = usize::try_from(i32::from_be_bytes(entry[4..].try_into().unwrap())).unwrap();
        let batch = starts.get(&position).unwrap_or_else(|| panic!("{path:?}: no batch at {position}"));
        assert_eq!(batch.0, offset, "{path:?}");
        assert!(offset > last, "{path:?}");
        last = offset;
    }
}

fn time_index(disk: &Disk, path: &Path, base: i64, starts: &Starts) {
    let Ok(bytes) = disk.read(path, 1 << 30) else { return };
    assert_eq!(bytes.len() % 12, 0, "{path:?}");
    let mut last = (-1, -1);
    for entry in bytes.chunks(12) {
        let timestamp = i64::from_be_bytes(entry[..8].try_into().unwrap());
        let offset = base + i64::from(i32::from_be_bytes(entry[8..].try_into().unwrap()));
        assert!(timestamp > last.0 && offset > last.1, "{path:?}");
        let largest = starts.values().filter(|batch| batch.0 <= offset).map(|batch| batch.1).max();
        assert_eq!(largest, Some(timestamp), "{path:?}");
        last = (timestamp, offset);
    }
    if let Some(largest) = starts.values().map(|batch| batch.1).max() {
        assert_eq!(last.0, largest, "{path:?} ends with the largest timestamp");
    }
}
