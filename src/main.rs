//! The `dohle` program: reads the command line and calls `dohle::cli`.

fn main() {}
