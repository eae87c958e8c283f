//! Makes the table in `docs/operations/metrics.md`. A test fails when it is stale; `DOHLE_BLESS=1` writes it anew.

use crate::metrics::Registry;
use std::fmt::Write;

const BEGIN: &str =
    "<!-- Made from src/metrics by `DOHLE_BLESS=1 cargo test --lib metrics::docs`. Do not edit. -->\n";

/// The table of all measurements.
fn table() -> String {
    let mut table = String::from("\n| name | kind | labels | meaning |\n|---|---|---|---|\n");
    for definition in Registry::new().definitions() {
        let labels: Vec<String> = definition.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind) = (&definition.name, definition.kind.name());
        writeln!(table, "| `{name}` | {kind} | {} | {} |", labels.join(", "), definition.help).unwrap();
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_metrics_is_what_the_code_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/operations/metrics.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (before, shown) = page.split_once(BEGIN).expect("the page has a place for the table");
        if std::env::var_os("DOHLE_BLESS").is_some() {
            std::fs::write(path, format!("{before}{BEGIN}{}", table())).unwrap();
            return;
        }
        assert_eq!(
            shown,
            table(),
            "docs/operations/metrics.md is stale: DOHLE_BLESS=1 cargo test --lib metrics::docs"
        );
    }
}
