//! The third arm of the enums in this room (feature `sim`): a disk that loses, tears and fails, and a clock that
//! moves only when told, a thread that plays a whole node. Everything is drawn from a seed: same seed and same calls, same outcome.

mod clock;
mod content;
mod disk;
mod names;
pub(in crate::io) mod thread;

pub use clock::SimClock;
pub use disk::Fault;
pub use disk::SimDisk;
pub use disk::SimFile;
pub use disk::SimLock;
pub use disk::Strike;
pub use thread::SimThread;
