//! One property a file.

mod acknowledged;
mod order;
mod whole_files;

pub(crate) use acknowledged::recovered;
pub(crate) use order::reads;
pub(crate) use whole_files::files;
