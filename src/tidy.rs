//! Keeps the rooms apart: a plain text scan of the sources that runs with the tests.
//!
//! The tables are those of `docs/architecture.md`. Each rule is a function over one file's text, so that a
//! planted breach proves that it can fail. Sizes of files and functions are aims and are not checked.

mod source;
mod tables;

use source::Source;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tables::{ANYWHERE, ONLY_IN_IO, PACKAGES, UNFINISHED, layer};

/// Everything that is wrong in one source file, one line each.
fn breaches(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in source.lines() {
        let mut report = |what: String| found.push(format!("{}:{number}: {what}", source.path));
        imports(source, line, &mut report);
        roots(source, number, line, &mut report);
        packages(source, number, line, &mut report);
        kernel(source, number, line, &mut report);
        for marker in UNFINISHED {
            // The marker is looked for in comments too.
            if source.raw_line(number).contains(marker) && source.room() != Some("tidy") {
                report(format!("unfinished work: {marker}"));
            }
        }
    }
    if !source.begins_with_contract() {
        found.push(format!("{}:1: does not begin with //!", source.path));
    }
    found
}

/// Rooms look down only, and name what they look at.
fn imports(source: &Source, line: &str, report: &mut impl FnMut(String)) {
    if line.contains("super::super") {
        report("super::super".to_owned());
    }
    if line.contains("use crate::{") {
        report("use crate::{…}: write one `use crate::room::…` a line".to_owned());
    }
    let Some(own) = source.room() else { return };
    for prefix in ["crate::", "dohle::"] {
        for named in source::names_after(line, prefix) {
            let (Some(mine), Some(other)) = (layer(own), layer(named)) else {
                if named != own && layer(named).is_none() && prefix == "crate::" && source.is_module(named) {
                    report(format!("room {named} has no layer in the table"));
                }
                continue;
            };
            if named != own && other >= mine {
                report(format!("{own} (layer {mine}) imports {named} (layer {other})"));
            }
        }
    }
}

/// In the first file of a room `super` is the root of the crate, and a way around the names that [`imports`] reads. In
/// a module of tests there it is the room.
fn roots(source: &Source, number: usize, line: &str, report: &mut impl FnMut(String)) {
    if source.is_first_of_room()
        && !source.is_test_line(number)
        && source::has_word(&line.replace("pub(super)", ""), "super")
    {
        report("super is the crate here: write `crate::room::…`".to_owned());
    }
}

/// Packages stay in their room. Tests may judge with any package.
fn packages(source: &Source, number: usize, line: &str, report: &mut impl FnMut(String)) {
    if source.is_test_line(number) {
        return;
    }
    for (package, homes) in PACKAGES {
        if source::uses_path(line, package) && !homes.iter().any(|home| source.path.starts_with(home)) {
            report(format!("{package} is used outside {}", homes.join(", ")));
        }
    }
}

/// `unsafe` and the kernel's clock, files and threads only in `io/`.
fn kernel(source: &Source, number: usize, line: &str, report: &mut impl FnMut(String)) {
    if source.path.starts_with("src/io/") || source.room() == Some("tidy") {
        return;
    }
    if source::has_word(line, "unsafe") {
        report("unsafe outside io/".to_owned());
    }
    if source.is_test_line(number) {
        return;
    }
    for banned in ONLY_IN_IO {
        if line.contains(banned) {
            report(format!("{banned} outside io/"));
        }
    }
}

/// What is wrong with a tree of sources as a whole: rooms without contract, files that no `mod` names.
fn tree_breaches(sources: &[Source]) -> Vec<String> {
    let paths: BTreeSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    let mut found = Vec::new();
    for source in sources {
        let Some(room) = source.room() else { continue };
        let contract = format!("src/{room}/mod.rs");
        let single = format!("src/{room}.rs");
        if !paths.contains(contract.as_str()) && !paths.contains(single.as_str()) {
            found.push(format!("{}: room {room} has no mod.rs", source.path));
        }
        let (parents, name) = source.parents_and_name();
        let named =
            sources.iter().any(|parent| parents.contains(&parent.path) && parent.declares_module(&name));
        if !named {
            found.push(format!("{}: no `mod {name}` names this file", source.path));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Metric names in a dashboard or a rule file that no measurement has.
fn unknown_metrics(text: &str, known: &BTreeSet<String>) -> Vec<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_part(letter));
    let names = words.filter(|word| word.starts_with("kafka_") || word.starts_with("dohle_"));
    let unknown = names.filter(|name| {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
        !known.contains(*name) && !base.is_some_and(|base| known.contains(base))
    });
    unknown.map(str::to_owned).collect()
}

/// Packages of the manifest that the tables do not name.
fn homeless_packages(manifest: &str) -> Vec<String> {
    let section = manifest.split("\n[").find(|section| section.starts_with("dependencies]"));
    let names = section.unwrap_or_default().lines().filter_map(|line| line.split_once(" = "));
    names
        .map(|(name, _)| name.trim().replace('-', "_"))
        .filter(|name| !ANYWHERE.contains(&name.as_str()) && !PACKAGES.iter().any(|(known, _)| known == name))
        .collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, found) } else { found.push(path) }
    }
}

fn sources_of(root: &Path) -> Vec<Source> {
    let mut paths = Vec::new();
    files_below(&root.join("src"), &mut paths);
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.sort();
    let relative = |path: &Path| path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
    paths.iter().map(|path| Source::new(relative(path), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn the_rooms_are_tidy() {
    let sources = sources_of(&root());
    assert!(sources.len() > 10, "the scan found the sources");
    let mut found: Vec<String> = sources.iter().flat_map(breaches).collect();
    found.extend(tree_breaches(&sources));
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn every_package_has_its_room() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert_eq!(homeless_packages(&manifest), Vec::<String>::new());
    assert_eq!(homeless_packages("\n[dependencies]\nleft-pad = \"1\"\nbytes = \"1\"\n\n[x]\n"), ["left_pad"]);
}

#[test]
fn dashboards_ask_for_metrics_that_exist() {
    let known = crate::metrics::Registry::new().names();
    assert!(!known.is_empty());
    let mut files = Vec::new();
    files_below(&root().join("grafana"), &mut files);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(unknown_metrics(&text, &known), Vec::<String>::new(), "{}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expect: &[&str]) {
        let source = Source::new(path.to_owned(), format!("//! Contract.\n{text}"));
        let found = breaches(&source);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        for (found, part) in found.iter().zip(expect) {
            assert!(found.contains(part), "{found} does not contain {part}");
        }
    }

    #[test]
    fn an_upward_or_sideways_import_is_a_breach() {
        check("src/log/append.rs", "use crate::replica::Partition;", &["log (layer 4) imports replica"]);
        check("src/log/append.rs", "use crate::peer::Pool;", &["log (layer 4) imports peer"]);
        check("src/log/append.rs", "fn f() { crate::broker::go() }", &["imports broker"]);
        check("src/log/append.rs", "use crate::record::Header;\nuse crate::log::Log;", &[]);
        check("src/log/append.rs", "// use crate::replica::Partition;", &[]);
        check("src/log/append.rs", "const S: &str = \"crate::replica\";", &[]);
        check("src/log/append.rs", "#[cfg(test)]\nmod tests { use crate::broker::X; }", &["imports broker"]);
        check("src/main.rs", "use dohle::cli;", &[]);
    }

    #[test]
    fn shortened_imports_are_breaches() {
        check("src/log/append.rs", "use crate::{record, io};", &["one `use crate::room::…` a line"]);
        check("src/log/append.rs", "use super::super::record::Header;", &["super::super"]);
    }

    #[test]
    fn the_crate_is_not_reached_as_the_parent_of_a_room() {
        let breach = &["super is the crate here"];
        check("src/log/mod.rs", "use super::broker::Broker;", breach);
        check("src/log/mod.rs", "use super::{broker::Broker};", breach);
        check("src/log/mod.rs", "use super::*;", breach);
        check("src/log/mod.rs", "use super as root;", breach);
        check("src/log/mod.rs", "fn f() { super::broker::go() }", breach);
        check("src/log.rs", "use super::broker::Broker;", breach);
        check("src/log/mod.rs", "pub(super) fn f() {}", &[]);
        check("src/log/mod.rs", "#[cfg(test)]\nmod tests {\n    use super::*;\n}", &[]);
        check("src/log/append.rs", "use super::segment::Segment;", &[]);
        check("src/log/tests/mod.rs", "use super::segment::Segment;", &[]);
    }

    #[test]
    fn a_package_outside_its_room_is_a_breach_but_not_in_tests() {
        check("src/log/append.rs", "use zstd::bulk;", &["zstd is used outside"]);
        check("src/record/codec.rs", "use zstd::bulk;", &[]);
        check("src/log/append.rs", "use kafka_protocol::messages::X;", &["kafka_protocol is used outside"]);
        check("src/log/append.rs", "#[cfg(test)]\nmod tests {\n    use kafka_protocol::messages::X;\n}", &[]);
        check("src/net/listener.rs", "use tokio::net::TcpListener;", &["tokio::net is used outside"]);
        check("src/net/listener.rs", "use tokio::sync::mpsc;", &[]);
    }

    #[test]
    fn the_kernel_is_reached_through_io_only() {
        check("src/log/append.rs", "fn f() { unsafe { g() } }", &["unsafe outside io/"]);
        check("src/log/append.rs", "use std::fs::File;", &["std::fs outside io/"]);
        check("src/log/append.rs", "let now = SystemTime::now();", &["SystemTime::now outside io/"]);
        check("src/io/disk.rs", "use std::fs::File;\nfn f() { unsafe { g() } }", &[]);
        check("src/log/append.rs", "#[cfg(test)]\nmod tests {\n    use std::fs;\n}", &[]);
    }

    #[test]
    fn unfinished_work_is_a_breach() {
        let marker = ["FIX", "ME"].concat();
        check("src/log/append.rs", &format!("// {marker}: later"), &["unfinished work"]);
    }

    #[test]
    fn a_file_without_contract_is_a_breach() {
        let source = Source::new("src/log/append.rs".to_owned(), "use std::fmt;\n".to_owned());
        assert_eq!(breaches(&source), ["src/log/append.rs:1: does not begin with //!"]);
    }

    #[test]
    fn orphans_and_rooms_without_contract_are_found_in_a_tree() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("src/lib.rs", "//! House.\npub mod log;\n");
        write("src/log/mod.rs", "//! Contract.\nmod append;\n");
        write("src/log/append.rs", "//! Append.\n#[cfg(test)]\nmod tests;\n");
        write("src/log/append/tests.rs", "//! Tests.\n");
        assert_eq!(tree_breaches(&sources_of(folder.path())), Vec::<String>::new());
        write("src/log/orphan.rs", "//! Nobody's.\n");
        write("src/peer/call.rs", "//! A room without mod.rs.\n");
        let found = tree_breaches(&sources_of(folder.path()));
        assert_eq!(
            found,
            [
                "src/log/orphan.rs: no `mod orphan` names this file",
                "src/peer/call.rs: no `mod call` names this file",
                "src/peer/call.rs: room peer has no mod.rs",
            ]
        );
    }

    #[test]
    fn a_dashboard_that_asks_for_an_unknown_metric_is_found() {
        let known = BTreeSet::from(["kafka_requests_total".to_owned(), "dohle_wait_seconds".to_owned()]);
        let text = "{\"expr\": \"rate(kafka_requests_total[5m]) + dohle_wait_seconds_bucket + kafka_x\"}";
        assert_eq!(unknown_metrics(text, &known), ["kafka_x"]);
    }
}
