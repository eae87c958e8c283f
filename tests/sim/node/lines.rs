//! The log lines of a run: what an operator is told.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use tracing::Level;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

/// Gathers the warnings and errors of the current thread until it is dropped.
pub(crate) struct Lines {
    text: Shared,
    _guard: DefaultGuard,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub(crate) fn begin() -> Lines {
        let text = Shared::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::WARN)
            .with_ansi(false)
            .without_time()
            .with_writer(text.clone())
            .finish();
        Lines { text, _guard: tracing::subscriber::set_default(subscriber) }
    }

    /// The lines so far.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.text.0.lock().unwrap()).into_owned();
        if crate::number("SIM_DAMAGE").is_some() {
            println!("{text}");
        }
        text.lines().map(str::to_owned).collect()
    }
}

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Shared {
    type Writer = Shared;

    fn make_writer(&'a self) -> Shared {
        self.clone()
    }
}
