//! One suite for every arm of [`Ring`].

use crate::io::disk::Disk;
use crate::io::disk::Open;
use crate::io::ring::Ring;
use crate::io::ring::WriteOp;
use bytes::Bytes;
use std::io::ErrorKind;
use std::path::Path;

fn on_each_arm(case: impl Fn(&mut Ring, &Disk, &Path)) {
    for allow_uring in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::system();
        case(&mut Ring::probe(&disk, allow_uring), &disk, folder.path());
    }
}

fn op(disk: &Disk, path: &Path, position: u64, parts: &[&'static [u8]], sync: bool) -> WriteOp {
    let file = disk.open(path, Open::Create).unwrap();
    WriteOp { file, position, parts: parts.iter().map(|part| Bytes::from_static(part)).collect(), sync }
}

#[test]
fn the_switch_and_only_the_switch_turns_io_uring_off() {
    let disk = Disk::system();
    assert_eq!(Ring::probe(&disk, false).name(), "pool");
    let forbidden = crate::io::uring::Uring::probe().is_err();
    assert_eq!(Ring::probe(&disk, true).name(), if forbidden { "pool" } else { "io_uring" });
}

#[test]
fn a_batch_writes_every_part_of_every_operation() {
    on_each_arm(|ring, disk, folder| {
        // More operations than the ring has entries, synced ones between others.
        let path = |number: usize| folder.join(number.to_string());
        let ops: Vec<WriteOp> = (0..700)
            .map(|number| {
                op(
                    disk,
                    &path(number % 350),
                    8 * u64::from(number >= 350),
                    &[b"head", b"", b"rest"],
                    number % 3 == 0,
                )
            })
            .collect();
        let outcomes = ring.run(ops);
        assert_eq!(outcomes.len(), 700);
        assert!(outcomes.iter().all(Result::is_ok), "{}: {outcomes:?}", ring.name());
        for number in 0..350 {
            assert_eq!(disk.read(&path(number), 100).unwrap(), b"headrestheadrest");
        }
        assert!(ring.run(Vec::new()).is_empty());
    });
}

#[test]
fn more_parts_than_one_call_takes_end_up_in_order() {
    on_each_arm(|ring, disk, folder| {
        let path = folder.join("file");
        let parts: Vec<Bytes> = (0..5000u16).map(|n| Bytes::copy_from_slice(&n.to_be_bytes())).collect();
        let expected: Vec<u8> = parts.iter().flatten().copied().collect();
        let file = disk.open(&path, Open::Create).unwrap();
        let outcomes = ring.run(vec![WriteOp { file, position: 3, parts, sync: true }]);
        assert!(outcomes[0].is_ok());
        assert_eq!(disk.read(&path, 20_000).unwrap()[3..], expected[..]);
    });
}

#[test]
fn a_sync_alone_and_nothing_at_all_are_operations_too() {
    on_each_arm(|ring, disk, folder| {
        let path = folder.join("file");
        let ops = vec![
            op(disk, &path, 0, &[], true),
            op(disk, &path, 0, &[], false),
            op(disk, &path, 0, &[b""], true),
        ];
        assert!(ring.run(ops).iter().all(Result::is_ok));
    });
}

#[test]
fn one_operation_that_fails_does_not_touch_the_others() {
    on_each_arm(|ring, disk, folder| {
        let full = |sync| op(disk, Path::new("/dev/full"), 0, &[b"lost"], sync);
        let good = folder.join("good");
        let read_only = WriteOp {
            file: {
                disk.open(&folder.join("read only"), Open::Create).unwrap();
                disk.open(&folder.join("read only"), Open::Read).unwrap()
            },
            position: 0,
            parts: vec![Bytes::from_static(b"no")],
            sync: true,
        };
        let outcomes =
            ring.run(vec![full(true), op(disk, &good, 0, &[b"kept"], true), full(false), read_only]);
        assert_eq!(
            outcomes[0].as_ref().unwrap_err().kind(),
            ErrorKind::StorageFull,
            "the write's error, not the sync's"
        );
        assert!(outcomes[1].is_ok());
        assert_eq!(outcomes[2].as_ref().unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(outcomes[3].is_err());
        assert_eq!(disk.read(&good, 10).unwrap(), b"kept");
        assert!(ring.run(vec![op(disk, &good, 4, &[b"!"], true)])[0].is_ok(), "the engine goes on");
    });
}
