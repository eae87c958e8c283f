//! One source file as the scan sees it: its code without comments and texts, and which lines are tests.

#![allow(clippy::string_slice, reason = "texts are cut at places that a search in them found")]

/// A source file.
pub(super) struct Source {
    /// Its path from the root, with `/`.
    pub(super) path: String,
    raw: Vec<String>,
    code: Vec<String>,
    test_from: usize,
}

impl Source {
    pub(super) fn new(path: String, text: String) -> Source {
        let code: Vec<String> = without_comments_and_texts(&text).lines().map(str::to_owned).collect();
        let in_tests =
            path.ends_with("/tests.rs") || path.contains("/tests/") || path.starts_with("src/tidy");
        let marker = code.windows(2).position(|pair| {
            pair[0].trim() == "#[cfg(test)]"
                && pair[1].trim_start().starts_with("mod ")
                && pair[1].contains('{')
        });
        let test_from = if in_tests { 0 } else { marker.unwrap_or(usize::MAX) };
        Source { path, raw: text.lines().map(str::to_owned).collect(), code, test_from }
    }

    /// The lines of code with their numbers from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = |place: usize| self.code.get(place).map_or("", String::as_str);
        (0..self.raw.len()).map(move |place| (place + 1, code(place)))
    }

    /// A line with its comments and texts.
    pub(super) fn raw_line(&self, number: usize) -> &str {
        self.raw.get(number - 1).map_or("", String::as_str)
    }

    /// Whether the line lies in the tests at the end of the file, or in a file of tests.
    pub(super) fn is_test_line(&self, number: usize) -> bool {
        number > self.test_from
    }

    /// The room the file lies in; `None` for `lib.rs`.
    pub(super) fn room(&self) -> Option<&str> {
        let inside = self.path.strip_prefix("src/")?;
        let room = inside.split_once('/').map_or_else(|| inside.trim_end_matches(".rs"), |(room, _)| room);
        (room != "lib").then_some(room)
    }

    /// Whether the file is its room's own module, so that the crate's root is its parent.
    pub(super) fn is_first_of_room(&self) -> bool {
        let is_first =
            |room| self.path == format!("src/{room}/mod.rs") || self.path == format!("src/{room}.rs");
        self.room().is_some_and(is_first)
    }

    pub(super) fn begins_with_contract(&self) -> bool {
        self.raw.first().is_some_and(|line| line.starts_with("//!"))
    }

    /// The files that may name this one in a `mod`, and the name they give it.
    pub(super) fn parents_and_name(&self) -> (Vec<String>, String) {
        let path = self.path.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parents = if folder == "src" {
            vec!["src/lib.rs".to_owned(), "src/main.rs".to_owned()]
        } else {
            vec![format!("{folder}/mod.rs"), format!("{folder}.rs")]
        };
        (parents, name.to_owned())
    }

    pub(super) fn declares_module(&self, name: &str) -> bool {
        let is_itself = self.path == format!("src/{name}.rs") && name == "main";
        is_itself || self.code.iter().any(|line| line.trim_end().ends_with(&format!("mod {name};")))
    }

    /// Whether a name after `crate::` can be a room: rooms are written in small letters.
    pub(super) fn is_module(&self, name: &str) -> bool {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
    }
}

/// The names that follow this prefix in a line.
pub(super) fn names_after<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(prefix).filter(|(place, _)| starts_word(line, *place)).map(move |(place, _)| {
        let rest = &line[place + prefix.len()..];
        let end = rest.find(|letter: char| !is_name_part(letter)).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// Whether a line uses something of a package or module path.
pub(super) fn uses_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(place, _)| {
        let rest = &line[place + path.len()..];
        let ends = !rest.starts_with(is_name_part);
        let used = path.contains("::") || rest.starts_with("::") || line.trim_start().starts_with("use ");
        starts_path(line, place) && ends && used
    })
}

/// Whether a line has this word.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word)
        .any(|(place, _)| starts_word(line, place) && !line[place + word.len()..].starts_with(is_name_part))
}

fn is_name_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn starts_word(line: &str, place: usize) -> bool {
    !line[..place].ends_with(is_name_part)
}

/// A path begins here: not in the middle of a word and not behind `::`, unless that stands alone.
fn starts_path(line: &str, place: usize) -> bool {
    let before = &line[..place];
    let behind_name = before.strip_suffix("::").is_some_and(|before| before.ends_with(is_name_part));
    starts_word(line, place) && !behind_name
}

/// The code alone: comments, texts and letters are taken out, lines stay where they are.
fn without_comments_and_texts(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut place = 0;
    while place < letters.len() {
        let end = match letters[place] {
            '/' if letters.get(place + 1) == Some(&'/') => end_of_line(&letters, place),
            '/' if letters.get(place + 1) == Some(&'*') => end_of_block(&letters, place),
            '"' => end_of_text(&letters, place),
            'r' if raw_hashes(&letters, place).is_some() => end_of_raw_text(&letters, place),
            '\'' => end_of_letter(&letters, place),
            _ => place,
        };
        if end == place {
            code.push(letters[place]);
            place += 1;
        } else {
            code.extend(letters[place..end].iter().filter(|letter| **letter == '\n'));
            place = end;
        }
    }
    code
}

fn end_of_line(letters: &[char], from: usize) -> usize {
    letters[from..].iter().position(|letter| *letter == '\n').map_or(letters.len(), |length| from + length)
}

fn end_of_block(letters: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut place = from;
    while place + 1 < letters.len() {
        match (letters[place], letters[place + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                place += 1;
                continue;
            }
        }
        place += 2;
        if depth == 0 {
            return place;
        }
    }
    letters.len()
}

fn end_of_text(letters: &[char], from: usize) -> usize {
    let mut place = from + 1;
    while place < letters.len() {
        match letters[place] {
            '\\' => place += 2,
            '"' => return place + 1,
            _ => place += 1,
        }
    }
    letters.len()
}

/// How many `#` a raw text that begins here has; `None` where none begins.
fn raw_hashes(letters: &[char], from: usize) -> Option<usize> {
    if from > 0 && is_name_part(letters[from - 1]) && letters[from - 1] != 'b' {
        return None;
    }
    let hashes = letters[from + 1..].iter().take_while(|letter| **letter == '#').count();
    (letters.get(from + 1 + hashes) == Some(&'"')).then_some(hashes)
}

fn end_of_raw_text(letters: &[char], from: usize) -> usize {
    let hashes = raw_hashes(letters, from).unwrap_or(0);
    let mut place = from + 2 + hashes;
    while place < letters.len() {
        let closes = letters[place] == '"'
            && letters[place + 1..].iter().take(hashes).filter(|letter| **letter == '#').count() == hashes;
        if closes {
            return place + 1 + hashes;
        }
        place += 1;
    }
    letters.len()
}

/// A letter in quotes; a lifetime is left alone.
fn end_of_letter(letters: &[char], from: usize) -> usize {
    match (letters.get(from + 1), letters.get(from + 2)) {
        (Some('\\'), _) => {
            let rest = &letters[from + 3..];
            rest.iter()
                .position(|letter| *letter == '\'')
                .map_or(letters.len(), |length| from + 3 + length + 1)
        }
        (Some(_), Some('\'')) => from + 3,
        _ => from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_taken_out_and_lines_stay() {
        let check = |text: &str, expect: &str| assert_eq!(without_comments_and_texts(text), expect);
        check("a // b\nc", "a \nc");
        check("a /* b /* c\n */ */ d", "a \n d");
        check("f(\"x \\\" // y\") // z", "f() ");
        check("r#\"a \" b\"# c", " c");
        check("'\"' + '\\'' + x::<'a>", " +  + x::<'a>");
    }

    #[test]
    fn words_and_paths_are_found_whole() {
        assert!(has_word("unsafe {", "unsafe") && !has_word("unsafe_code", "unsafe"));
        assert!(uses_path("use snap::raw;", "snap") && !uses_path("use crate::snap::raw;", "snap"));
        assert!(!uses_path("let snap = 1;", "snap") && !uses_path("snapshot::x()", "snap"));
        assert_eq!(names_after("crate::log::X + crate::io", "crate::").collect::<Vec<_>>(), ["log", "io"]);
    }
}
