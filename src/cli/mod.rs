//! The command line of `dohle`.
//!
//! Promises: what the user gave is understood or refused with one line and exit code 1; results go to standard
//! output, logs to standard error. Never: serves anything itself; it builds the settings, starts `server/` and waits.
//! Called by: `main.rs`.

mod announce;
mod logs;
mod serve;

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// A broker that speaks the Apache Kafka protocol.
///
/// Without arguments it serves localhost:9092 and keeps its data in ./dohle-data.
#[derive(Debug, Parser)]
#[command(name = "dohle", version)]
struct Arguments {
    /// Reads settings from a properties file, as Kafka's `server.properties`.
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Sets one setting; counts over the file and the environment. May be given several times.
    #[arg(long = "override", short = 'o', value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Understands the arguments of this process and does what they ask for.
pub fn run() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => serve::serve(&arguments),
        // Help and version are "errors" too, with exit code 0.
        Err(error) => {
            let wrote = error.print();
            if error.use_stderr() || wrote.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn overrides_may_be_given_several_times() {
        let arguments =
            Arguments::try_parse_from(["dohle", "-c", "f", "--override", "a=1", "-o", "b=2"]).unwrap();
        assert_eq!(arguments.config, Some(PathBuf::from("f")));
        assert_eq!(arguments.overrides, ["a=1", "b=2"]);
        assert!(Arguments::try_parse_from(["dohle", "--nonsense"]).is_err());
    }
}
