//! What a setting is: name, type, default, valid values, how it may change, what it means.
//!
//! The rules of parsing and the wording of refusals follow Kafka's `ConfigDef`, because clients show them.

use crate::config::OffsetReset;
use std::fmt;

/// The type of a setting's value, named as `DescribeConfigs` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`, in any case.
    Boolean,
    /// Text.
    String,
    /// A 32-bit number.
    Int,
    /// A 16-bit number.
    Short,
    /// A 64-bit number.
    Long,
    /// A floating point number.
    Double,
    /// Values separated by commas.
    List,
    /// The name of a Java class; we keep it and load nothing.
    Class,
    /// Text that is never shown.
    Password,
}

impl Kind {
    /// Kafka's name of the type, as its documentation writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "BOOLEAN",
            Kind::String => "STRING",
            Kind::Int => "INT",
            Kind::Short => "SHORT",
            Kind::Long => "LONG",
            Kind::Double => "DOUBLE",
            Kind::List => "LIST",
            Kind::Class => "CLASS",
            Kind::Password => "PASSWORD",
        }
    }

    /// The number of the type in a `DescribeConfigs` answer (KIP-569).
    pub const fn code(self) -> i8 {
        match self {
            Kind::Boolean => 1,
            Kind::String => 2,
            Kind::Int => 3,
            Kind::Short => 4,
            Kind::Long => 5,
            Kind::Double => 6,
            Kind::List => 7,
            Kind::Class => 8,
            Kind::Password => 9,
        }
    }
}

/// Which values are valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// All that parse.
    Any,
    /// This number or more.
    AtLeast(i64),
    /// From the first number to the second, both valid.
    Between(i64, i64),
    /// From the first number to the second, for floating point values.
    Fraction(f64, f64),
    /// From 1 to 9, or -1 for the codec's own default.
    GzipLevel,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words, in any case.
    OneOfIgnoringCase(&'static [&'static str]),
    /// A list of these words.
    ListOf(&'static [&'static str]),
    /// Not empty: a text, or a list with at least one entry.
    NotEmpty,
    /// What [`OffsetReset`] reads.
    OffsetReset,
    /// Pairs of partition and broker, or `*`.
    ThrottledReplicas,
}

/// When a change of the setting counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// At the next start.
    ReadOnly,
    /// At once, for one broker.
    PerBroker,
    /// At once, for one broker or for all.
    ClusterWide,
    /// At once; set for one topic, group or subscription.
    Resource,
}

impl Mode {
    /// Kafka's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::ReadOnly => "read-only",
            Mode::PerBroker => "per-broker",
            Mode::ClusterWide => "cluster-wide",
            Mode::Resource => "per-resource",
        }
    }
}

/// A broker setting that gives a topic's setting its default, in a unit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synonym {
    /// The broker setting.
    pub name: &'static str,
    /// What a value is multiplied with to reach the topic setting's unit; 1 where nothing is converted.
    pub factor: i64,
}

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Definition {
    /// Kafka's name.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// The default as text; `None` where there is none (Kafka's null).
    pub default: Option<&'static str>,
    /// Which values are valid.
    pub range: Range,
    /// When a change counts.
    pub mode: Mode,
    /// The broker settings that give a default, the strongest first. Empty for broker settings.
    pub synonyms: &'static [Synonym],
    /// Whether Kafka keeps the setting out of `DescribeConfigs`.
    pub internal: bool,
    /// Whether the setting has an effect here; the others are accepted and kept.
    pub used: bool,
    /// What it means, in one or two sentences.
    pub doc: &'static str,
}

impl Definition {
    /// A broker setting that only counts at the next start, with every value valid and not used yet.
    pub(super) const fn new(kind: Kind, name: &'static str, default: Option<&'static str>) -> Definition {
        Definition {
            name,
            kind,
            default,
            range: Range::Any,
            mode: Mode::ReadOnly,
            synonyms: &[],
            internal: false,
            used: false,
            doc: "",
        }
    }

    pub(super) const fn range(mut self, range: Range) -> Definition {
        self.range = range;
        self
    }

    pub(super) const fn at_least(self, least: i64) -> Definition {
        self.range(Range::AtLeast(least))
    }

    pub(super) const fn between(self, least: i64, most: i64) -> Definition {
        self.range(Range::Between(least, most))
    }

    pub(super) const fn mode(mut self, mode: Mode) -> Definition {
        self.mode = mode;
        self
    }

    pub(super) const fn synonyms(mut self, synonyms: &'static [Synonym]) -> Definition {
        self.synonyms = synonyms;
        self
    }

    pub(super) const fn internal(mut self) -> Definition {
        self.internal = true;
        self
    }

    pub(super) const fn used(mut self) -> Definition {
        self.used = true;
        self
    }

    pub(super) const fn doc(mut self, doc: &'static str) -> Definition {
        self.doc = doc;
        self
    }

    /// Whether its value is never shown.
    pub const fn sensitive(&self) -> bool {
        matches!(self.kind, Kind::Password)
    }

    /// Checks a value and gives it back in the form in which Kafka shows it (trimmed, lists without
    /// spaces, numbers in their plain form).
    ///
    /// # Errors
    /// [`Invalid`] with Kafka's wording when the value does not parse or is out of range.
    pub fn check(&self, value: &str) -> Result<String, Invalid> {
        let shown = self.parse(value)?;
        self.check_range(&shown)?;
        Ok(shown)
    }

    fn parse(&self, value: &str) -> Result<String, Invalid> {
        let trimmed = value.trim();
        match self.kind {
            Kind::Boolean if trimmed.eq_ignore_ascii_case("true") => Ok("true".to_owned()),
            Kind::Boolean if trimmed.eq_ignore_ascii_case("false") => Ok("false".to_owned()),
            Kind::Boolean => Err(self.invalid(value, "Expected value to be either true or false".to_owned())),
            Kind::String | Kind::Class => Ok(trimmed.to_owned()),
            Kind::Password => Ok(value.to_owned()),
            Kind::Int => self.number(value, trimmed.parse::<i32>().ok()),
            Kind::Short => self.number(value, trimmed.parse::<i16>().ok()),
            Kind::Long => self.number(value, trimmed.parse::<i64>().ok()),
            Kind::Double => {
                let number = trimmed.parse::<f64>().ok().filter(|number| number.is_finite());
                self.number(value, number.map(double))
            }
            Kind::List => self.parse_list(trimmed),
        }
    }

    fn number<N: fmt::Display>(&self, value: &str, number: Option<N>) -> Result<String, Invalid> {
        match number {
            Some(number) => Ok(number.to_string()),
            None => Err(self.invalid(value, format!("Not a number of type {}", self.kind.name()))),
        }
    }

    fn parse_list(&self, value: &str) -> Result<String, Invalid> {
        let entries = list(value);
        // Those of replicas are all shown in their refusal.
        let empty = entries.iter().position(|entry| entry.is_empty());
        if let Some(empty) = empty.filter(|_| self.range != Range::ThrottledReplicas) {
            let before = entries.get(..empty).unwrap_or_default();
            self.check_words(before)?;
            return Err(Invalid::sentence(
                self.name,
                value,
                format!("Configuration '{}' values must not be empty.", self.name),
            ));
        }
        let mut kept: Vec<&str> = Vec::new();
        for entry in entries {
            if self.range == Range::ThrottledReplicas || !kept.contains(&entry) {
                kept.push(entry);
            }
        }
        Ok(kept.join(","))
    }

    fn check_range(&self, shown: &str) -> Result<(), Invalid> {
        let message = match self.range {
            Range::Any => None,
            Range::AtLeast(least) => below(shown, least),
            Range::Between(least, most) => below(shown, least).or_else(|| above(shown, most)),
            Range::Fraction(least, most) => outside(shown, least, most),
            Range::GzipLevel => match shown.parse::<i64>() {
                Ok(-1 | 1..=9) => None,
                _ => Some("Value must be between 1 and 9 or equal to -1".to_owned()),
            },
            Range::OneOf(words) if words.contains(&shown) => None,
            Range::OneOf(words) => Some(format!("String must be one of: {}", words.join(", "))),
            Range::OneOfIgnoringCase(words) => (!words.iter().any(|word| word.eq_ignore_ascii_case(shown)))
                .then(|| format!("String must be one of (case insensitive): {}", words.join(", "))),
            Range::ListOf(_) => return self.check_words(&list(shown)),
            Range::NotEmpty if shown.is_empty() && self.kind == Kind::List => {
                return Err(Invalid::sentence(
                    self.name,
                    shown,
                    format!(
                        "Configuration '{}' must not be empty. Valid values include: any non-empty value",
                        self.name
                    ),
                ));
            }
            Range::NotEmpty => shown.is_empty().then(|| "String must be non-empty".to_owned()),
            Range::OffsetReset if OffsetReset::parse(shown).is_some() => None,
            Range::OffsetReset => Some(format!(
                "Invalid value `{shown}` for configuration {}. The value must be either 'earliest', 'latest' or of the \
                 format 'by_duration:<PnDTnHnMn.nS>'.",
                self.name
            )),
            Range::ThrottledReplicas => return self.check_throttled(shown),
        };
        message.map_or(Ok(()), |message| Err(self.invalid(shown, message)))
    }

    /// Checks the entries of a list of given words, the first first.
    fn check_words(&self, entries: &[&str]) -> Result<(), Invalid> {
        let Range::ListOf(words) = self.range else { return Ok(()) };
        match entries.iter().find(|entry| !words.contains(entry)) {
            Some(entry) => Err(self.invalid(entry, format!("String must be one of: {}", words.join(", ")))),
            None => Ok(()),
        }
    }

    fn check_throttled(&self, shown: &str) -> Result<(), Invalid> {
        let valid = shown == "*" || list(shown).iter().all(|entry| is_partition_and_broker(entry));
        if valid {
            return Ok(());
        }
        let message = format!(
            "{} must be the literal '*' or a list of replicas in the following format: \
             [partitionId]:[brokerId],[partitionId]:[brokerId],...",
            self.name
        );
        Err(self.invalid(&format!("[{}]", list(shown).join(", ")), message))
    }

    fn invalid(&self, value: &str, message: String) -> Invalid {
        let value = if self.sensitive() { "[hidden]" } else { value };
        Invalid { key: self.name.to_owned(), value: value.to_owned(), message, form: Form::Reason }
    }
}

/// A floating point number as Java writes it: with an exponent from ten millions on, and below a thousandth.
fn double(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{number:?}");
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

/// The entries of a list value; none for an empty text.
pub(super) fn list(value: &str) -> Vec<&str> {
    let value = value.trim();
    if value.is_empty() { Vec::new() } else { value.split(',').map(str::trim).collect() }
}

fn is_partition_and_broker(entry: &str) -> bool {
    entry.split_once(':').is_some_and(|(partition, broker)| {
        [partition, broker]
            .iter()
            .all(|side| !side.is_empty() && side.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn below(shown: &str, least: i64) -> Option<String> {
    let number = shown.parse::<i64>().unwrap_or(i64::MIN);
    (number < least).then(|| format!("Value must be at least {least}"))
}

fn above(shown: &str, most: i64) -> Option<String> {
    let number = shown.parse::<i64>().unwrap_or(i64::MAX);
    (number > most).then(|| format!("Value must be no more than {most}"))
}

fn outside(shown: &str, least: f64, most: f64) -> Option<String> {
    let number = shown.parse::<f64>().unwrap_or(f64::NAN);
    if number < least {
        Some(format!("Value must be at least {least}"))
    } else if number > most {
        Some(format!("Value must be no more than {most}"))
    } else {
        None
    }
}

/// A value that a setting does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The setting.
    pub key: String,
    /// The value as given, or a mark where it must not be shown.
    pub value: String,
    /// Why not.
    pub message: String,
    /// What goes before the message.
    form: Form,
}

/// How a refusal is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The setting and the value go before the message.
    Reason,
    /// The message is complete.
    Sentence,
    /// The message is complete, and clients of Kafka see `requirement failed: ` before it.
    Requirement,
}

impl Invalid {
    /// A refusal that is shown as `Invalid value V for configuration K: message`.
    pub fn new(key: &str, value: &str, message: impl Into<String>) -> Invalid {
        Invalid { key: key.to_owned(), value: value.to_owned(), message: message.into(), form: Form::Reason }
    }

    /// A refusal whose message is shown alone.
    pub fn sentence(key: &str, value: &str, message: impl Into<String>) -> Invalid {
        Invalid {
            key: key.to_owned(),
            value: value.to_owned(),
            message: message.into(),
            form: Form::Sentence,
        }
    }

    /// A refusal of what does not fit together (`KafkaConfig.validateValues`): its message is shown alone, and clients of
    /// Kafka see two words before it.
    pub fn requirement(key: &str, value: &str, message: impl Into<String>) -> Invalid {
        Invalid { form: Form::Requirement, ..Invalid::sentence(key, value, message) }
    }

    /// What a client is told.
    pub fn for_clients(&self) -> String {
        match self.form {
            Form::Requirement => format!("requirement failed: {self}"),
            Form::Reason | Form::Sentence => self.to_string(),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Sentence | Form::Requirement => f.write_str(&self.message),
            Form::Reason => {
                write!(f, "Invalid value {} for configuration {}: {}", self.value, self.key, self.message)
            }
        }
    }
}

impl std::error::Error for Invalid {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(definition: Definition, value: &str, expect: Result<&str, &str>) {
        let found = definition.check(value).map_err(|invalid| invalid.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expect, "{} = {value}", definition.name);
    }

    #[test]
    fn values_are_shown_in_their_plain_form() {
        let int = Definition::new(Kind::Int, "n", None);
        check(int, " 5 ", Ok("5"));
        check(int, "+5", Ok("5"));
        check(Definition::new(Kind::Boolean, "b", None), " TRUE ", Ok("true"));
        let policy = Definition::new(Kind::List, "p", None).range(Range::ListOf(&["compact", "delete"]));
        check(policy, "delete, compact", Ok("delete,compact"));
        check(policy, "delete,delete", Ok("delete"));
        check(policy, "", Ok(""));
        let number = Definition::new(Kind::Double, "d", None);
        let numbers = [(".50", "0.5"), ("3000000000", "3.0E9"), ("0", "0.0"), ("9999999", "9999999.0")];
        for (given, shown) in numbers.into_iter().chain([("0.0001234", "1.234E-4"), ("-2", "-2.0")]) {
            check(number, given, Ok(shown));
        }
    }

    /// The wording was taken from a running Kafka 4.4.
    #[test]
    fn refusals_are_worded_as_kafka_words_them() {
        let long = Definition::new(Kind::Long, "retention.ms", None).at_least(-1);
        check(
            long,
            "abc",
            Err("Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        );
        check(long, "-2", Err("Invalid value -2 for configuration retention.ms: Value must be at least -1"));
        let lz4 = Definition::new(Kind::Int, "l", None).between(1, 17);
        check(lz4, "18", Err("Invalid value 18 for configuration l: Value must be no more than 17"));
        let policy = Definition::new(Kind::List, "p", None).range(Range::ListOf(&["compact", "delete"]));
        check(
            policy,
            "foo",
            Err("Invalid value foo for configuration p: String must be one of: compact, delete"),
        );
        check(policy, "delete,,compact", Err("Configuration 'p' values must not be empty."));
        check(
            policy,
            "foo,,compact",
            Err("Invalid value foo for configuration p: String must be one of: compact, delete"),
        );
        let throttled = Definition::new(Kind::List, "t", None).range(Range::ThrottledReplicas);
        check(throttled, "0:1,1:2", Ok("0:1,1:2"));
        check(throttled, "*", Ok("*"));
        let long_message = "Invalid value [x] for configuration t: t must be the literal '*' or a list of \
             replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...";
        check(throttled, "x", Err(long_message));
        let ratio = Definition::new(Kind::Double, "r", None).range(Range::Fraction(0.0, 1.0));
        check(ratio, "1.5", Err("Invalid value 1.5 for configuration r: Value must be no more than 1"));
        let preallocate = Definition::new(Kind::Boolean, "b", None);
        let message = "Invalid value maybe for configuration b: Expected value to be either true or false";
        check(preallocate, "maybe", Err(message));
    }

    #[test]
    fn a_refused_secret_is_not_repeated() {
        let secret = Definition::new(Kind::Password, "s", None).range(Range::OneOf(&["x"]));
        let message = secret.check("hunter2").unwrap_err().to_string();
        assert!(!message.contains("hunter2"), "{message}");
    }
}
