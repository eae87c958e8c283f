//! One suite for every arm of [`Disk`]: what holds on the real disk holds on the simulated one.

use crate::io::disk::Disk;
use crate::io::disk::Open;
use crate::io::durable;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use bytes::Bytes;
use std::io::ErrorKind;
use std::path::Path;

/// Runs one case on each arm, each in a fresh folder that exists.
fn on_each_arm(case: impl Fn(&Disk, &Path)) {
    let folder = tempfile::tempdir().unwrap();
    case(&Disk::system(), folder.path());
    for seed in 0..5 {
        let disk = Disk::Sim(SimDisk::new(seed, SimClock::new()));
        let folder = Path::new("/data/folder");
        disk.create_dir_all(folder).unwrap();
        case(&disk, folder);
    }
}

#[test]
fn opening_follows_the_mode() {
    on_each_arm(|disk, folder| {
        let path = folder.join("file");
        assert_eq!(disk.open(&path, Open::Read).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.open(&path, Open::ReadWrite).unwrap_err().kind(), ErrorKind::NotFound);
        disk.open(&path, Open::CreateNew).unwrap().write_at(b"kept", 0).unwrap();
        assert_eq!(disk.open(&path, Open::CreateNew).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(disk.open(&path, Open::Create).unwrap().len().unwrap(), 4, "opening empties nothing");
        let reader = disk.open(&path, Open::Read).unwrap();
        assert!(reader.write_at(b"no", 0).is_err(), "opened for reading only");
        let lost = folder.join("no folder").join("file");
        assert_eq!(disk.open(&lost, Open::Create).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn writes_land_where_they_are_told_and_gaps_read_as_zeros() {
    on_each_arm(|disk, folder| {
        let file = disk.open(&folder.join("file"), Open::Create).unwrap();
        file.write_at(b"tail", 6).unwrap();
        file.write_vectored_at(&[Bytes::from_static(b"a"), Bytes::new(), Bytes::from_static(b"bc")], 1)
            .unwrap();
        let mut content = [9; 10];
        file.read_exact_at(&mut content, 0).unwrap();
        assert_eq!(&content, b"\0abc\0\0tail");
        assert_eq!(file.read_at(&mut content, 8).unwrap(), 2, "ends early at the end of the file");
        assert_eq!(file.read_at(&mut content, 10).unwrap(), 0);
        assert_eq!(file.read_exact_at(&mut content, 1).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        file.set_len(3).unwrap();
        file.set_len(5).unwrap();
        let mut content = [9; 5];
        file.read_exact_at(&mut content, 0).unwrap();
        assert_eq!(&content, b"\0ab\0\0", "what was cut does not come back");
        file.sync_data().unwrap();
        file.sync_all().unwrap();
    });
}

#[test]
fn more_parts_than_one_system_call_takes_are_written_in_order() {
    on_each_arm(|disk, folder| {
        let file = disk.open(&folder.join("file"), Open::Create).unwrap();
        let parts: Vec<Bytes> = (0..5000u16).map(|n| Bytes::copy_from_slice(&n.to_be_bytes())).collect();
        file.write_vectored_at(&parts, 0).unwrap();
        let expected: Vec<u8> = parts.iter().flatten().copied().collect();
        assert_eq!(disk.read(&folder.join("file"), 10_000).unwrap(), expected);
        assert_eq!(disk.read(&folder.join("file"), 9_999).unwrap_err().kind(), ErrorKind::InvalidData);
    });
}

#[test]
fn folders_are_made_listed_renamed_and_removed() {
    on_each_arm(|disk, folder| {
        disk.create_dir_all(&folder.join("b/c")).unwrap();
        disk.create_dir_all(&folder.join("b/c")).unwrap();
        disk.open(&folder.join("a"), Open::Create).unwrap().write_at(b"12345", 0).unwrap();
        let names = |path: &Path| -> Vec<(String, bool, u64)> {
            let entries = disk.list(path).unwrap().into_iter();
            entries.map(|entry| (entry.name.into_string().unwrap(), entry.is_dir, entry.length)).collect()
        };
        assert_eq!(names(folder), [("a".into(), false, 5), ("b".into(), true, 0)]);
        disk.rename(&folder.join("a"), &folder.join("b/d")).unwrap();
        disk.rename(&folder.join("b"), &folder.join("e")).unwrap();
        assert_eq!(names(&folder.join("e")), [("c".into(), true, 0), ("d".into(), false, 5)]);
        assert_eq!(disk.stat(&folder.join("a")).unwrap(), None);
        let stat = disk.stat(&folder.join("e/d")).unwrap().unwrap();
        assert_eq!((stat.length, stat.is_dir), (5, false));
        disk.remove_file(&folder.join("e/d")).unwrap();
        assert_eq!(disk.remove_file(&folder.join("e/d")).unwrap_err().kind(), ErrorKind::NotFound);
        disk.remove_dir_all(&folder.join("e")).unwrap();
        assert_eq!(disk.remove_dir_all(&folder.join("e")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(disk.list(&folder.join("e")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(names(folder), []);
    });
}

#[test]
fn an_open_file_outlives_its_name() {
    on_each_arm(|disk, folder| {
        let file = disk.open(&folder.join("old"), Open::Create).unwrap();
        file.write_at(b"still here", 0).unwrap();
        disk.open(&folder.join("new"), Open::Create).unwrap().write_at(b"new", 0).unwrap();
        disk.rename(&folder.join("new"), &folder.join("old")).unwrap();
        let mut content = [0; 10];
        file.read_exact_at(&mut content, 0).unwrap();
        assert_eq!(&content, b"still here");
        assert_eq!(
            disk.read(&folder.join("old"), 100).unwrap(),
            b"new",
            "the name shows the file renamed over it"
        );
    });
}

#[test]
fn a_folder_has_one_holder_at_a_time() {
    on_each_arm(|disk, folder| {
        let held = disk.lock(folder).unwrap();
        assert!(held.is_some());
        assert!(disk.lock(folder).unwrap().is_none());
        assert!(disk.lock(folder).unwrap().is_none(), "a refused attempt does not loosen the lock");
        drop(held);
        assert!(disk.lock(folder).unwrap().is_some());
    });
}

#[test]
fn durable_acts_leave_what_they_name() {
    on_each_arm(|disk, folder| {
        let deep = folder.join("x/y/z");
        durable::create_dir(disk, &deep).unwrap();
        durable::create_dir(disk, &deep).unwrap();
        let path = deep.join("checkpoint");
        durable::write_atomically(disk, &path, b"a longer first version").unwrap();
        durable::write_atomically(disk, &path, b"second").unwrap();
        assert_eq!(disk.read(&path, 100).unwrap(), b"second");
        durable::rename(disk, &path, &folder.join("moved")).unwrap();
        durable::remove(disk, &folder.join("moved")).unwrap();
        durable::remove(disk, &folder.join("moved")).unwrap();
        assert_eq!(disk.stat(&folder.join("moved")).unwrap(), None);
        assert_eq!(disk.list(&deep).unwrap(), [], "no temporary file is left");
        assert!(disk.space(folder).unwrap().total > 0);
    });
}
