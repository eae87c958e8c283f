//! The settings that were set, checked against the tables, with typed reading.

use crate::config::define::Definition;
use crate::config::define::Invalid;
use crate::config::define::list;
use std::collections::BTreeMap;

/// Checked values of one table of settings: what was set, with the table's defaults below.
#[derive(Clone, Debug)]
pub(super) struct Values {
    keys: &'static [Definition],
    set: BTreeMap<String, String>,
}

impl Values {
    /// Checks what was set against the table. Names that the table does not have are kept and mean nothing.
    ///
    /// # Errors
    /// [`Invalid`] for the first value that its setting does not take.
    pub(super) fn new(
        keys: &'static [Definition],
        set: &BTreeMap<String, String>,
    ) -> Result<Values, Invalid> {
        let mut values = Values { keys, set: BTreeMap::new() };
        for (name, value) in set {
            let value = match values.definition(name) {
                Some(definition) => definition.check(value)?,
                None => value.clone(),
            };
            values.set.insert(name.clone(), value);
        }
        Ok(values)
    }

    /// What was set for this name, in its plain form.
    pub(super) fn set(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(String::as_str)
    }

    /// All that was set.
    pub(super) fn all_set(&self) -> &BTreeMap<String, String> {
        &self.set
    }

    /// What counts for this name: what was set, else the default.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.set(name).or_else(|| self.definition(name).and_then(|definition| definition.default))
    }

    /// A number; 0 where the setting has no value.
    pub(super) fn long(&self, name: &str) -> i64 {
        self.optional_long(name).unwrap_or(0)
    }

    /// A number, or `None` where the setting has no value.
    pub(super) fn optional_long(&self, name: &str) -> Option<i64> {
        self.get(name).map(|value| value.parse().expect("a checked number parses"))
    }

    /// A number of a setting of type INT.
    pub(super) fn int(&self, name: &str) -> i32 {
        i32::try_from(self.long(name)).expect("a checked INT fits 32 bits")
    }

    /// A number of a setting of type SHORT.
    pub(super) fn short(&self, name: &str) -> i16 {
        i16::try_from(self.long(name)).expect("a checked SHORT fits 16 bits")
    }

    /// A floating point number.
    pub(super) fn double(&self, name: &str) -> f64 {
        self.get(name).map_or(0.0, |value| value.parse().expect("a checked number parses"))
    }

    /// Whether the setting is `true`.
    pub(super) fn boolean(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// The entries of a list.
    pub(super) fn list(&self, name: &str) -> Vec<&str> {
        self.get(name).map_or_else(Vec::new, list)
    }

    /// A text that counts as absent when empty.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn definition(&self, name: &str) -> Option<&'static Definition> {
        let place = self.keys.binary_search_by_key(&name, |definition| definition.name).ok()?;
        self.keys.get(place)
    }
}
