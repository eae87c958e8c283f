//! A disk in memory with all the faults of a real one, drawn from a seed or set by the number of the operation.

use crate::base::Timestamp;
use crate::io::disk::Entry;
use crate::io::disk::LOCK_FILE;
use crate::io::disk::Open;
use crate::io::disk::Space;
use crate::io::disk::Stat;
use crate::io::random::Random;
use crate::io::sim::clock::SimClock;
use crate::io::sim::content::Content;
use crate::io::sim::names::Id;
use crate::io::sim::names::Names;
use crate::io::sim::names::Node;
use parking_lot::Mutex;
use parking_lot::MutexGuard;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A simulated disk. Clones share it. It outlives crashes: what is lost is lost inside.
#[derive(Clone, Debug)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
}

/// What goes wrong with one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The device fails (EIO); nothing is done.
    Device,
    /// No space is left (ENOSPC): of a write a part is done; an operation that needs no space fails as `Device`.
    NoSpace,
    /// A part of a write is done, then the device fails; other operations fail as `Device`.
    ShortWrite,
    /// A sync fails and what it should have saved counts as clean but is (partly) lost; other operations fail as
    /// `Device`.
    FailedSync,
    /// The power goes: of a write a part is done, and everything fails until [`SimDisk::crash`].
    PowerCut,
    /// The device hangs: the operation is done as asked, a minute of the simulated clock later.
    Hang,
}

/// How long an operation takes that hangs.
const HANG: Duration = Duration::from_secs(60);

/// A fault that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// The number of the operation.
    pub operation: u64,
    /// What was asked: `open`, `write`, `sync`, ...
    pub verb: &'static str,
    /// The file or folder, by the name it had.
    pub path: PathBuf,
    /// What went wrong.
    pub fault: Fault,
}

/// A simulated open file.
#[derive(Clone, Debug)]
pub struct SimFile {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    disk: SimDisk,
    id: Id,
    writable: bool,
    /// Which life of the process opened it.
    life: u64,
}

/// A held folder of a simulated disk.
#[derive(Debug)]
pub struct SimLock {
    disk: SimDisk,
    folder: Id,
    life: u64,
}

#[derive(Debug)]
struct World {
    names: Names,
    contents: BTreeMap<Id, Content>,
    open: BTreeMap<Id, usize>,
    locked: BTreeSet<Id>,
    ids_used: Id,
    life: u64,
    power: bool,
    capacity: u64,
    sector: usize,
    operations: u64,
    faults: BTreeMap<u64, Fault>,
    strikes: Vec<Strike>,
    random: Random,
    trace: DefaultHasher,
    clock: SimClock,
}

/// Room on a disk nobody limited.
const CAPACITY: u64 = 1 << 30;
/// The second path of operations that have only one.
const NO_TARGET: &str = "";
/// A disk writes whole sectors; a power cut tears a write only between two of them.
const SECTOR: usize = 512;

impl SimDisk {
    /// An empty disk. All chance comes from the seed; the clock dates the files.
    pub fn new(seed: u64, clock: SimClock) -> SimDisk {
        let world = World {
            names: Names::new(),
            contents: BTreeMap::new(),
            open: BTreeMap::new(),
            locked: BTreeSet::new(),
            ids_used: 0,
            life: 0,
            power: true,
            capacity: CAPACITY,
            sector: SECTOR,
            operations: 0,
            faults: BTreeMap::new(),
            strikes: Vec::new(),
            random: Random::seeded(seed),
            trace: DefaultHasher::new(),
            clock,
        };
        SimDisk { world: Arc::new(Mutex::new(world)) }
    }

    /// The machine loses its power and comes back: what was not synced is lost, torn or kept as the seed has it,
    /// names in folders that were not synced included. Open files and locks of before are dead.
    pub fn crash(&self) {
        let world = &mut *self.world.lock();
        world.names.cut(&mut world.random);
        let named: BTreeSet<Id> = world.names.live_files().collect();
        world.contents.retain(|id, _| named.contains(id));
        for content in world.contents.values_mut() {
            content.cut(&mut world.random, world.sector);
        }
        world.open.clear();
        world.locked.clear();
        world.life += 1;
        world.power = true;
    }

    /// The process is killed (`kill -9`) and the machine goes on: nothing written is lost, open files and locks of
    /// before are dead.
    pub fn kill_process(&self) {
        let world = &mut *self.world.lock();
        world.open.clear();
        world.locked.clear();
        world.life += 1;
    }

    /// Whether the machine has power: `false` from [`Fault::PowerCut`] to [`SimDisk::crash`].
    pub fn has_power(&self) -> bool {
        self.world.lock().power
    }

    /// How many operations have been asked for so far; the next one has this number.
    pub fn operations(&self) -> u64 {
        self.world.lock().operations
    }

    /// Lets the operation with this number (from 0, see [`SimDisk::operations`]) go wrong.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.world.lock().faults.insert(operation, fault);
    }

    /// The faults that happened, in order.
    pub fn strikes(&self) -> Vec<Strike> {
        self.world.lock().strikes.clone()
    }

    /// Another disk with what programs see on this one, all of it on the platters; nothing is open or locked there,
    /// and no fault is planned.
    pub fn copy(&self, seed: u64, clock: SimClock) -> SimDisk {
        let copy = SimDisk::new(seed, clock);
        {
            let (from, to) = (&*self.world.lock(), &mut *copy.world.lock());
            to.names = from.names.settled();
            to.ids_used = from.ids_used;
            let live = from.names.live_files().filter_map(|id| from.contents.get(&id).map(|file| (id, file)));
            to.contents = live.map(|(id, file)| (id, file.settled())).collect();
            to.capacity = from.capacity;
            to.sector = from.sector;
        }
        copy
    }

    /// A power cut tears writes between pieces of this many bytes; 512 unless set.
    pub fn set_sector(&self, bytes: usize) {
        self.world.lock().sector = bytes.max(1);
    }

    /// Every file with its bytes, in the order of their paths: looked at from outside, not by an operation.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let world = self.world.lock();
        let bytes = |id| world.contents.get(&id).map(|content| content.bytes().to_vec()).unwrap_or_default();
        world.names.live_paths().into_iter().map(|(path, id)| (path, bytes(id))).collect()
    }

    /// Changes a file's bytes on the platters behind everybody's back; nothing happens where there is no file.
    pub fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let world = &mut *self.world.lock();
        if let Ok(Node::File(id)) = world.names.find(path)
            && let Some(content) = world.contents.get_mut(&id)
        {
            content.damage(change);
        }
    }

    /// Takes a file away behind everybody's back.
    pub fn lose(&self, path: &Path) {
        let world = &mut *self.world.lock();
        if let Ok((folder, name)) = world.names.place(path) {
            world.names.unlink(folder, name);
            world.names.sync(folder);
        }
    }

    /// Takes back all faults that have not struck.
    pub fn clear_faults(&self) {
        self.world.lock().faults.clear();
    }

    /// Limits the bytes that files may hold together.
    pub fn set_capacity(&self, bytes: u64) {
        self.world.lock().capacity = bytes;
    }

    /// A number that stands for everything that was asked of this disk, in order: equal for equal runs.
    pub fn trace(&self) -> u64 {
        self.world.lock().trace.finish()
    }

    /// The numbers from 0 to `count` in an order drawn from the seed.
    pub(in crate::io) fn shuffled(&self, count: usize) -> Vec<usize> {
        let random = &mut self.world.lock().random;
        let mut order: Vec<(u64, usize)> = (0..count).map(|index| (random.next_u64(), index)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, index)| index).collect()
    }

    pub(in crate::io) fn open(&self, path: &Path, how: Open) -> io::Result<SimFile> {
        let mut world = self.step("open", path, Path::new(NO_TARGET))?;
        let found = world.names.place(path).map(|(folder, name)| {
            let node = world.names.child(folder, &name);
            (folder, name, node)
        })?;
        let id = match (found, how) {
            ((_, _, Some(Node::Folder(_))), _) => return Err(io::ErrorKind::IsADirectory.into()),
            ((_, _, Some(Node::File(_))), Open::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            ((_, _, Some(Node::File(id))), Open::Read | Open::ReadWrite | Open::Create) => id,
            ((_, _, None), Open::Read | Open::ReadWrite) => return Err(io::ErrorKind::NotFound.into()),
            ((folder, name, None), Open::Create | Open::CreateNew) => {
                let id = world.new_id();
                let modified = world.clock.wall();
                world.contents.insert(id, Content::new(modified));
                world.names.link(folder, name, Node::File(id));
                id
            }
        };
        *world.open.entry(id).or_default() += 1;
        let handle = Handle { disk: self.clone(), id, writable: how != Open::Read, life: world.life };
        Ok(SimFile { handle: Arc::new(handle) })
    }

    pub(in crate::io) fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut made = PathBuf::new();
        for name in crate::io::sim::names::parts(path)? {
            made.push(name);
            let mut world = self.step("create_dir", &made, Path::new(NO_TARGET))?;
            let (folder, name) = world.names.place(&made)?;
            match world.names.child(folder, &name) {
                Some(Node::Folder(_)) => {}
                Some(Node::File(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
                None => {
                    let id = world.new_id();
                    world.names.link(folder, name, Node::Folder(id));
                }
            }
        }
        Ok(())
    }

    pub(in crate::io) fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let world = self.step("list", path, Path::new(NO_TARGET))?;
        let folder = world.names.folder(path)?;
        let entries = world.names.children(folder).map(|(name, node)| Entry {
            name: name.clone(),
            is_dir: matches!(node, Node::Folder(_)),
            length: world.length(node),
        });
        Ok(entries.collect())
    }

    pub(in crate::io) fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        let world = self.step("stat", path, Path::new(NO_TARGET))?;
        let node = match world.names.find(path) {
            Ok(node) => node,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let (is_dir, modified) = match node {
            Node::Folder(_) => (true, Timestamp(0)),
            Node::File(id) => {
                (false, world.contents.get(&id).map_or(Timestamp(0), |content| content.modified))
            }
        };
        Ok(Some(Stat { length: world.length(node), is_dir, modified }))
    }

    pub(in crate::io) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.step("rename", from, to)?;
        let node = world.names.find(from)?;
        let source = world.names.place(from)?;
        let target = world.names.place(to)?;
        match (node, world.names.child(target.0, &target.1)) {
            (_, None) | (Node::File(_), Some(Node::File(_))) => {}
            (Node::File(_), Some(Node::Folder(_))) => return Err(io::ErrorKind::IsADirectory.into()),
            (Node::Folder(_), Some(Node::File(_))) => return Err(io::ErrorKind::NotADirectory.into()),
            (Node::Folder(_), Some(Node::Folder(id))) => {
                if world.names.children(id).next().is_some() {
                    return Err(io::ErrorKind::DirectoryNotEmpty.into());
                }
            }
        }
        world.names.rename(source, target, node);
        world.drop_unreachable();
        Ok(())
    }

    pub(in crate::io) fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut world = self.step("remove_file", path, Path::new(NO_TARGET))?;
        let (folder, name) = world.names.place(path)?;
        match world.names.child(folder, &name).ok_or(io::ErrorKind::NotFound)? {
            Node::Folder(_) => Err(io::ErrorKind::IsADirectory.into()),
            Node::File(_) => {
                world.names.unlink(folder, name);
                world.drop_unreachable();
                Ok(())
            }
        }
    }

    pub(in crate::io) fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        for entry in self.list(path)? {
            let below = path.join(&entry.name);
            if entry.is_dir { self.remove_dir_all(&below)? } else { self.remove_file(&below)? }
        }
        let mut world = self.step("remove_dir", path, Path::new(NO_TARGET))?;
        let (folder, name) = world.names.place(path)?;
        world.names.unlink(folder, name);
        Ok(())
    }

    pub(in crate::io) fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        let fault = world.begin("sync_dir", Whose::Path(path), path)?;
        let folder = world.names.folder(path)?;
        match fault {
            None => {
                world.names.sync(folder);
                world.drop_unreachable();
                Ok(())
            }
            Some(fault) => {
                if fault == Fault::FailedSync {
                    world.names.sync_and_fail(folder);
                }
                Err(fault.error())
            }
        }
    }

    pub(in crate::io) fn space(&self) -> io::Result<Space> {
        let world = self.step("space", Path::new(NO_TARGET), Path::new(NO_TARGET))?;
        Ok(Space { total: world.capacity, usable: world.capacity.saturating_sub(world.used()) })
    }

    pub(in crate::io) fn lock(&self, folder: &Path) -> io::Result<Option<SimLock>> {
        let file = self.open(&folder.join(LOCK_FILE), Open::Create)?;
        drop(file);
        let mut world = self.world.lock();
        let id = world.names.folder(folder)?;
        let life = world.life;
        Ok(world.locked.insert(id).then(|| SimLock { disk: self.clone(), folder: id, life }))
    }

    /// Begins an operation that a fault leaves undone.
    fn step(&self, verb: &'static str, path: &Path, to: &Path) -> io::Result<MutexGuard<'_, World>> {
        let mut world = self.world.lock();
        match world.begin(verb, Whose::Path(path), (path, to))? {
            None => Ok(world),
            Some(fault) => Err(fault.error()),
        }
    }
}

/// Whom an operation is for.
enum Whose<'a> {
    Path(&'a Path),
    File(Id),
}

impl World {
    /// Counts and traces an operation; the fault that strikes it, if any.
    fn begin(
        &mut self,
        verb: &'static str,
        whose: Whose<'_>,
        subject: impl Hash,
    ) -> io::Result<Option<Fault>> {
        if !self.power {
            return Err(Fault::PowerCut.error());
        }
        let operation = self.operations;
        self.operations += 1;
        let fault = self.faults.remove(&operation);
        (verb, subject, fault).hash(&mut self.trace);
        let Some(fault) = fault else { return Ok(None) };
        self.strikes.push(Strike { operation, verb, path: self.path_of(whose), fault });
        match fault {
            Fault::PowerCut => self.power = false,
            Fault::Hang => {
                self.clock.advance(HANG);
                return Ok(None);
            }
            Fault::Device | Fault::NoSpace | Fault::ShortWrite | Fault::FailedSync => {}
        }
        Ok(Some(fault))
    }

    fn path_of(&self, whose: Whose<'_>) -> PathBuf {
        match whose {
            Whose::Path(path) => path.to_owned(),
            Whose::File(id) => {
                let mut paths = self.names.live_paths().into_iter();
                paths.find(|known| known.1 == id).map(|known| known.0).unwrap_or_default()
            }
        }
    }

    fn new_id(&mut self) -> Id {
        self.ids_used += 1;
        self.ids_used
    }

    fn length(&self, node: Node) -> u64 {
        match node {
            Node::Folder(_) => 0,
            Node::File(id) => self.contents.get(&id).map_or(0, |content| wide(content.bytes().len())),
        }
    }

    fn used(&self) -> u64 {
        self.names.live_files().map(|id| self.length(Node::File(id))).sum()
    }

    /// Forgets files that no name leads to, not even after a crash, and nobody has open.
    fn drop_unreachable(&mut self) {
        let reachable = self.names.reachable_files();
        let open = &self.open;
        self.contents.retain(|id, _| reachable.contains(id) || open.contains_key(id));
    }

    /// How many more bytes a file may grow by.
    fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.used())
    }
}

impl Fault {
    fn error(self) -> io::Error {
        match self {
            Fault::Device | Fault::ShortWrite | Fault::FailedSync | Fault::NoSpace | Fault::Hang => {
                io::Error::from_raw_os_error(libc::EIO)
            }
            Fault::PowerCut => io::Error::other("the simulated machine has no power"),
        }
    }
}

impl SimFile {
    pub(in crate::io) fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let (world, fault) = self.begin("read", (position, buffer.len()))?;
        if let Some(fault) = fault {
            return Err(fault.error());
        }
        let content = world.contents.get(&self.handle.id).ok_or_else(dead)?;
        let there = usize::try_from(position).ok().and_then(|position| content.bytes().get(position..));
        let there = there.unwrap_or_default();
        let count = there.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(there) {
            *to = *from;
        }
        Ok(count)
    }

    pub(in crate::io) fn write_at(&self, parts: &[&[u8]], position: u64) -> io::Result<()> {
        let mut bytes = parts.concat();
        let (mut world, fault) = self.begin("write", (position, &bytes))?;
        if !self.handle.writable {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        let world = &mut *world;
        let mut outcome = Ok(());
        let kept = match fault {
            None => wide(bytes.len()),
            Some(fault) => {
                outcome = Err(if fault == Fault::NoSpace { full() } else { fault.error() });
                match fault {
                    Fault::Device | Fault::FailedSync | Fault::Hang => return outcome,
                    Fault::NoSpace | Fault::ShortWrite | Fault::PowerCut => {
                        world.random.below(wide(bytes.len()) + 1)
                    }
                }
            }
        };
        let room = world.room();
        let content = world.contents.get_mut(&self.handle.id).ok_or_else(dead)?;
        // What fits: up to the present end for free, then as far as there is room.
        let end_max = wide(content.bytes().len()).max(position).saturating_add(room);
        let fits = end_max.saturating_sub(position);
        if position > wide(content.bytes().len()).saturating_add(room) {
            return Err(full());
        }
        if fits < kept {
            outcome = Err(full());
        }
        bytes.truncate(usize::try_from(kept.min(fits)).map_err(io::Error::other)?);
        let position = usize::try_from(position).map_err(io::Error::other)?;
        content.modified = world.clock.wall();
        if !bytes.is_empty() {
            content.write(position, bytes);
        }
        outcome
    }

    pub(in crate::io) fn sync(&self) -> io::Result<()> {
        let (mut world, fault) = self.begin("sync", ())?;
        let world = &mut *world;
        let content = world.contents.get_mut(&self.handle.id).ok_or_else(dead)?;
        match fault {
            None => {
                content.sync();
                Ok(())
            }
            Some(fault) => {
                if fault == Fault::FailedSync {
                    content.sync_and_fail(&mut world.random, world.sector);
                }
                Err(fault.error())
            }
        }
    }

    pub(in crate::io) fn len(&self) -> io::Result<u64> {
        let (world, fault) = self.begin("len", ())?;
        match fault {
            Some(fault) => Err(fault.error()),
            None => Ok(wide(world.contents.get(&self.handle.id).ok_or_else(dead)?.bytes().len())),
        }
    }

    pub(in crate::io) fn set_len(&self, length: u64) -> io::Result<()> {
        let (mut world, fault) = self.begin("set_len", length)?;
        if !self.handle.writable {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if let Some(fault) = fault {
            return Err(if fault == Fault::NoSpace { full() } else { fault.error() });
        }
        let world = &mut *world;
        let room = world.room();
        let content = world.contents.get_mut(&self.handle.id).ok_or_else(dead)?;
        if length > wide(content.bytes().len()).saturating_add(room) {
            return Err(full());
        }
        content.modified = world.clock.wall();
        content.set_len(usize::try_from(length).map_err(io::Error::other)?);
        Ok(())
    }

    fn begin(
        &self,
        verb: &'static str,
        detail: impl Hash,
    ) -> io::Result<(MutexGuard<'_, World>, Option<Fault>)> {
        let mut world = self.handle.disk.world.lock();
        if world.life != self.handle.life {
            return Err(dead());
        }
        let fault = world.begin(verb, Whose::File(self.handle.id), (self.handle.id, detail))?;
        Ok((world, fault))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let world = &mut *self.disk.world.lock();
        if world.life == self.life
            && let Some(count) = world.open.get_mut(&self.id)
        {
            *count -= 1;
            if *count == 0 {
                world.open.remove(&self.id);
            }
        }
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut world = self.disk.world.lock();
        if world.life == self.life {
            world.locked.remove(&self.folder);
        }
    }
}

fn full() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOSPC)
}

fn dead() -> io::Error {
    io::Error::other("this file was opened by a process that is gone")
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).expect("a length in memory fits u64")
}

#[cfg(test)]
mod tests;
