//! The only room that speaks with the kernel: files, sockets, clocks, randomness, tasks and threads.
//!
//! Promises: every call of the house to the outside goes through this room. Disks and clocks are enums with real and
//! simulated arms, so that logs run in tests on a disk that loses, tears and fails and on a clock that moves only when
//! told; sockets are always real.
//! Never: knows what a batch, a topic or a request is. Called by: every room above `config/` and `metrics/`.

pub mod clock;
pub mod disk;
pub mod durable;
pub mod file_slice;
mod lane;
pub mod log_levels;
pub mod net;
pub mod pool;
pub mod process;
pub mod random;
pub mod residency;
pub mod ring;
mod sendfile;
#[cfg(feature = "sim")]
pub mod sim;
mod std_disk;
mod steady_wall;
pub mod task;
pub mod uring;

pub use clock::Clock;
pub use disk::DirLock;
pub use disk::Disk;
pub use disk::Entry;
pub use disk::File;
pub use disk::Open;
pub use disk::Space;
pub use disk::Stat;
pub use file_slice::FileSlice;
pub use random::Random;
pub use ring::Ring;
pub use ring::WriteOp;
pub use steady_wall::SteadyWall;
pub use task::Shutdown;
