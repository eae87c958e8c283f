//! `dohle` itself: reads the settings, starts the broker, waits for the end.

use crate::cli::Arguments;
use crate::cli::announce::Announcement;
use crate::cli::logs;
use crate::config;
use crate::config::ServerConfig;
use crate::config::Sources;
use crate::io::Disk;
use crate::io::process;
use crate::io::task;
use crate::io::task::Runtime;
use crate::server::Platform;
use crate::server::Server;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;
use tracing::debug;
use tracing::error;
use tracing::info;
use tracing::warn;

/// No settings file is larger.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// How long work that hangs may hold up the end of the process.
const END: Duration = Duration::from_millis(200);

/// Serves until the system or a person asks for the end.
pub(super) fn serve(arguments: &Arguments) -> ExitCode {
    let environment = environment();
    let levels = logs::start(&environment);
    match try_serve(arguments, &environment, levels) {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            // Nobody is left to tell when standard error is closed.
            writeln!(std::io::stderr(), "dohle: {line}").unwrap_or(());
            ExitCode::FAILURE
        }
    }
}

fn try_serve(
    arguments: &Arguments,
    environment: &[(String, String)],
    levels: logs::Levels,
) -> Result<(), String> {
    let mut config = settings(arguments, environment)?;
    if let Some(files) = process::raise_open_files() {
        debug!(files, "files that may be open");
        config.fit_open_files(files);
    }
    let runtime =
        Runtime::start(task::cores()).map_err(|error| format!("no threads to work with: {error}"))?;
    let outcome = runtime.block_on(run(config, levels));
    runtime.end(END);
    outcome
}

async fn run(config: ServerConfig, levels: logs::Levels) -> Result<(), String> {
    let following = task::spawn("log-levels", levels.follow());
    let mut end = pin!(process::end_requested());
    let platform = Platform::system();
    let (node_id, folders) = (config.node_id.0, config.storage.log_dirs.clone());
    let server = tokio::select! {
        biased;
        _ = &mut end => return Ok(()),
        started = Server::start(config, platform) => started.map_err(|error| error.to_string())?,
    };
    let text = announcement(&server, node_id, &folders).text();
    // A closed standard output is no reason to stop serving.
    std::io::stdout().write_all(text.as_bytes()).unwrap_or(());
    let failed = tokio::select! {
        asked = &mut end => {
            match asked {
                Ok(signal) => info!(signal, "asked to stop"),
                Err(error) => warn!(%error, "signals cannot be waited for"),
            }
            None
        }
        reason = server.failed() => Some(reason),
    };
    if let Some(reason) = &failed {
        error!("cannot go on: {reason}");
    }
    server.stop().await;
    following.abort();
    failed.map_or(Ok(()), |reason| Err(format!("stopped: {reason}")))
}

/// The settings of all sources, with a log line for each that means nothing here.
fn settings(arguments: &Arguments, environment: &[(String, String)]) -> Result<ServerConfig, String> {
    let file = match &arguments.config {
        Some(path) => Some(read(path)?),
        None => None,
    };
    let loaded = config::load(&Sources {
        file: file.as_deref(),
        environment,
        overrides: &arguments.overrides,
        host_name: &process::host_name(),
    });
    let loaded = loaded.map_err(|error| error.to_string())?;
    for warning in &loaded.warnings {
        warn!("{warning}");
    }
    Ok(loaded.config)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = Disk::system().read(path, FILE_BYTES_MAX);
    bytes.map_err(|error| format!("the settings file {} cannot be read: {error}", path.display()))
}

/// The environment's variables that are text; the others cannot be settings.
fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn announcement(server: &Server, node_id: i32, folders: &[PathBuf]) -> Announcement {
    let listeners = server.listening().iter();
    Announcement {
        node_id,
        cluster_id: server.cluster_id().to_owned(),
        listeners: listeners
            .map(|listening| {
                (listening.name.clone(), listening.advertised.clone(), listening.addresses.clone())
            })
            .collect(),
        folders: folders
            .iter()
            .map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.clone()))
            .collect(),
        admin: server.admin().to_vec(),
    }
}
