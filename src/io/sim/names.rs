//! The names of a simulated disk: folders as programs see them, and as a power cut would leave them.

use crate::io::random::Random;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// Number of a file or folder; never used twice.
pub(super) type Id = u64;

/// The folder everything is in.
const ROOT: Id = 0;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Folder(Id),
    File(Id),
}

/// All folders, by number.
type Tree = BTreeMap<Id, BTreeMap<OsString, Node>>;

/// Folders with their names, live and durable.
#[derive(Debug)]
pub(super) struct Names {
    live: Tree,
    durable: Tree,
    /// Changes of `live` whose folder was not synced since, in order.
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Link { folder: Id, name: OsString, node: Node },
    Unlink { folder: Id, name: OsString },
    Move { from: (Id, OsString), to: (Id, OsString), node: Node },
}

impl Names {
    pub(super) fn new() -> Names {
        let root = Tree::from([(ROOT, BTreeMap::new())]);
        Names { live: root.clone(), durable: root, pending: Vec::new() }
    }

    /// What a path stands for; `NotFound`, or `NotADirectory` when it leads through a file.
    pub(super) fn find(&self, path: &Path) -> io::Result<Node> {
        let mut node = Node::Folder(ROOT);
        for name in parts(path)? {
            let Node::Folder(folder) = node else { return Err(io::ErrorKind::NotADirectory.into()) };
            node = self.child(folder, name).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(node)
    }

    pub(super) fn folder(&self, path: &Path) -> io::Result<Id> {
        match self.find(path)? {
            Node::Folder(id) => Ok(id),
            Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The folder a path is in, and its last name.
    pub(super) fn place(&self, path: &Path) -> io::Result<(Id, OsString)> {
        let mut names = parts(path)?;
        let last = names.pop().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        Ok((self.folder(&names.iter().collect::<std::path::PathBuf>())?, last))
    }

    pub(super) fn child(&self, folder: Id, name: &OsStr) -> Option<Node> {
        self.live.get(&folder)?.get(name).copied()
    }

    pub(super) fn children(&self, folder: Id) -> impl Iterator<Item = (&OsString, Node)> {
        self.live.get(&folder).into_iter().flatten().map(|(name, node)| (name, *node))
    }

    pub(super) fn link(&mut self, folder: Id, name: OsString, node: Node) {
        self.change(Change::Link { folder, name, node });
    }

    pub(super) fn unlink(&mut self, folder: Id, name: OsString) {
        self.change(Change::Unlink { folder, name });
    }

    pub(super) fn rename(&mut self, from: (Id, OsString), to: (Id, OsString), node: Node) {
        self.change(Change::Move { from, to, node });
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.live);
        self.pending.push(change);
    }

    /// The names in a folder reach the platters.
    pub(super) fn sync(&mut self, folder: Id) {
        let (now, later) =
            std::mem::take(&mut self.pending).into_iter().partition(|change| change.touches(folder));
        self.pending = later;
        let now: Vec<Change> = now;
        now.iter().for_each(|change| change.apply(&mut self.durable));
    }

    /// A sync of a folder that fails: its changes never reach the platters.
    pub(super) fn sync_and_fail(&mut self, folder: Id) {
        self.pending.retain(|change| !change.touches(folder));
    }

    /// A power cut: of the changes not synced, a prefix survives, as with a journal.
    pub(super) fn cut(&mut self, random: &mut Random) {
        let pending = std::mem::take(&mut self.pending);
        let count = u64::try_from(pending.len()).expect("a count fits u64");
        let kept = usize::try_from(random.below(count + 1)).expect("below a count of changes");
        pending.iter().take(kept).for_each(|change| change.apply(&mut self.durable));
        let reached = reached(&self.durable);
        self.durable.retain(|id, _| reached.contains(id));
        self.live.clone_from(&self.durable);
    }

    /// Files that a name leads to now.
    pub(super) fn live_files(&self) -> impl Iterator<Item = Id> {
        files(&self.live)
    }

    /// The live names, all of them on the platters.
    pub(super) fn settled(&self) -> Names {
        let reached = reached(&self.live);
        let live: Tree = self
            .live
            .iter()
            .filter(|(id, _)| reached.contains(id))
            .map(|(id, names)| (*id, names.clone()))
            .collect();
        Names { live: live.clone(), durable: live, pending: Vec::new() }
    }

    /// Every file by its path, in the order of paths.
    pub(super) fn live_paths(&self) -> Vec<(PathBuf, Id)> {
        let mut found = Vec::new();
        let mut ahead = vec![(PathBuf::from("/"), ROOT)];
        while let Some((path, folder)) = ahead.pop() {
            for (name, node) in self.children(folder) {
                let path = path.join(name);
                match node {
                    Node::Folder(id) => ahead.push((path, id)),
                    Node::File(id) => found.push((path, id)),
                }
            }
        }
        found.sort();
        found
    }

    /// Files that a name leads to now or might after a power cut.
    pub(super) fn reachable_files(&self) -> BTreeSet<Id> {
        let pending = self.pending.iter().filter_map(|change| match change {
            Change::Link { node: Node::File(id), .. } | Change::Move { node: Node::File(id), .. } => {
                Some(*id)
            }
            Change::Link { .. } | Change::Move { .. } | Change::Unlink { .. } => None,
        });
        files(&self.live).chain(files(&self.durable)).chain(pending).collect()
    }
}

impl Change {
    fn apply(&self, tree: &mut Tree) {
        match self {
            Change::Link { folder, name, node } => put(tree, *folder, name, *node),
            Change::Unlink { folder, name } => take(tree, *folder, name),
            Change::Move { from, to, node } => {
                take(tree, from.0, &from.1);
                put(tree, to.0, &to.1, *node);
            }
        }
    }

    fn touches(&self, id: Id) -> bool {
        match self {
            Change::Link { folder, .. } | Change::Unlink { folder, .. } => *folder == id,
            Change::Move { from, to, .. } => from.0 == id || to.0 == id,
        }
    }
}

fn put(tree: &mut Tree, folder: Id, name: &OsStr, node: Node) {
    if let Node::Folder(id) = node {
        tree.entry(id).or_default();
    }
    tree.entry(folder).or_default().insert(name.to_owned(), node);
}

fn take(tree: &mut Tree, folder: Id, name: &OsStr) {
    if let Some(names) = tree.get_mut(&folder) {
        names.remove(name);
    }
}

fn files(tree: &Tree) -> impl Iterator<Item = Id> {
    tree.values().flat_map(BTreeMap::values).filter_map(|node| match node {
        Node::File(id) => Some(*id),
        Node::Folder(_) => None,
    })
}

/// Folders that a path leads to.
fn reached(tree: &Tree) -> BTreeSet<Id> {
    let mut reached = BTreeSet::from([ROOT]);
    let mut ahead = vec![ROOT];
    while let Some(folder) = ahead.pop() {
        for node in tree.get(&folder).into_iter().flat_map(BTreeMap::values) {
            if let Node::Folder(id) = node
                && reached.insert(*id)
            {
                ahead.push(*id);
            }
        }
    }
    reached
}

/// A path's names from the root on; relative paths begin there too. `..` is refused.
pub(super) fn parts(path: &Path) -> io::Result<Vec<&OsStr>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    Ok(names)
}
