//! The `dohle` program: reads the command line and calls `dohle::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    dohle::cli::run()
}
