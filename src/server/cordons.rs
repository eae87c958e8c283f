//! Lets the cluster know which log directories get no new partitions: `cordoned.log.dirs` (KIP-1066).

use crate::cluster::ControllerClient;
use crate::cluster::Publisher;
use crate::cluster::effective;
use crate::config::ServerConfig;
use crate::io::Shutdown;
use crate::io::task;
use crate::io::task::Task;
use crate::log::Dirs;
use std::sync::Arc;
use tracing::warn;

/// Follows the setting, which can be changed while the broker runs.
pub(super) fn follow(
    dirs: &Dirs,
    config: &Arc<ServerConfig>,
    publisher: &Publisher,
    controller: &ControllerClient,
    shutdown: Shutdown,
) -> Task<()> {
    let (dirs, config, controller) = (dirs.clone(), Arc::clone(config), controller.clone());
    let mut images = publisher.watch();
    task::spawn("cordoned-directories", async move {
        let mut told: Option<Option<String>> = None;
        loop {
            let image = images.borrow_and_update().clone();
            let changed = image.broker_setting(config.node_id, "cordoned.log.dirs").map(str::to_owned);
            if told.as_ref() != Some(&changed) {
                let settings = effective::server_config(&config, &image);
                let directories = dirs.at(&settings.storage.cordoned_log_dirs);
                match controller.cordon(directories.into_iter().map(|id| id.0).collect()).await {
                    Ok(_) => told = Some(changed),
                    Err(error) => warn!(%error, "the cluster is not told of cordoned log directories"),
                }
            }
            tokio::select! {
                biased;
                () = shutdown.triggered() => return,
                changed = images.changed() => if changed.is_err() { return },
            }
        }
    })
}
