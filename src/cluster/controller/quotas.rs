//! Sets and removes the quotas of clients (`ClientQuotaControlManager` of Kafka).

use super::Outcome;
use super::Records;
use super::Refusal;
use super::command::AlterQuotas;
use super::command::QuotaAlteration;
use super::command::QuotaEntityName;
use super::configs::invalid;
use crate::cluster::image::Image;
use crate::cluster::records::ClientQuotaRecord;
use crate::cluster::records::QuotaEntity;
use crate::cluster::records::Record;
use std::collections::BTreeMap;

const USER: &str = "user";
const CLIENT_ID: &str = "client-id";
const IP: &str = "ip";

/// What became of each entity.
pub type Results = Vec<(QuotaEntityName, Result<(), Refusal>)>;

/// Changes quotas; one that is refused refuses its whole entity. An entity named again is refused, and what it was
/// given first counts.
pub fn alter_quotas(image: &Image, command: &AlterQuotas) -> Outcome<Results> {
    let mut records = Records::default();
    let mut results: BTreeMap<&QuotaEntityName, Result<(), Refusal>> = BTreeMap::new();
    for alteration in &command.alterations {
        let entity = &alteration.entity;
        if results.contains_key(entity) || has_duplicates(alteration) {
            results.insert(entity, Err(invalid(format!("Ignoring duplicate entity {}", shown(entity)))));
            continue;
        }
        let result = alter(image, alteration).and_then(|changes| records.add(changes));
        results.insert(entity, result);
    }
    let results = results.into_iter().map(|(entity, result)| (entity.clone(), result)).collect();
    records.into_outcome(command.validate_only, results)
}

fn has_duplicates(alteration: &QuotaAlteration) -> bool {
    let mut keys: Vec<&str> = alteration.changes.iter().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| matches!(pair, [one, other] if one == other))
}

fn shown(entity: &QuotaEntityName) -> String {
    let part =
        |(kind, name): (&String, &Option<String>)| format!("{kind}={}", name.as_deref().unwrap_or("null"));
    let parts: Vec<String> = entity.iter().map(part).collect();
    format!("ClientQuotaEntity(entries={{{}}})", parts.join(", "))
}

fn alter(image: &Image, alteration: &QuotaAlteration) -> Result<Vec<Record>, Refusal> {
    check_entity(&alteration.entity)?;
    let of_address = alteration.entity.contains_key(IP);
    let parts: Vec<(String, Option<String>)> =
        alteration.entity.iter().map(|(kind, name)| (kind.clone(), name.clone())).collect();
    let mut records = Vec::new();
    for (key, value) in &alteration.changes {
        let current = image.security().quotas.get(&(parts.clone(), key.clone())).map(|record| record.value);
        if let Some(value) = value {
            check_value(of_address, key, *value)?;
        }
        if current == *value {
            continue;
        }
        let part = |(kind, name): &(String, Option<String>)| QuotaEntity {
            entity_type: kind.clone(),
            entity_name: name.clone(),
        };
        let record = ClientQuotaRecord {
            entity: parts.iter().map(part).collect(),
            key: key.clone(),
            value: value.unwrap_or(0.0),
            remove: value.is_none(),
        };
        records.push(record.into());
    }
    Ok(records)
}

fn check_entity(entity: &QuotaEntityName) -> Result<(), Refusal> {
    for (kind, name) in entity {
        if ![USER, CLIENT_ID, IP].contains(&kind.as_str()) {
            return Err(invalid(format!("Unhandled client quota entity type: {kind}")));
        }
        if name.as_deref() == Some("") {
            return Err(invalid(format!("Empty {kind} not supported")));
        }
    }
    if entity.is_empty() {
        return Err(invalid("Invalid empty client quota entity"));
    }
    if entity.contains_key(IP) && entity.len() > 1 {
        return Err(invalid(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ));
    }
    Ok(())
}

/// Checks a quota's key and value; those of bytes and connections are whole numbers.
fn check_value(of_address: bool, key: &str, value: f64) -> Result<(), Refusal> {
    let (most, kind) = match (of_address, key) {
        (true, "connection_creation_rate") => (f64::from(i32::MAX), "an INT"),
        (false, "producer_byte_rate" | "consumer_byte_rate") => (9_223_372_036_854_775_807.0, "a LONG"),
        (false, "request_percentage" | "controller_mutation_rate") => (f64::INFINITY, ""),
        _ => return Err(invalid(format!("Invalid configuration key {key}"))),
    };
    if !value.is_finite() {
        return Err(invalid(format!("Quota {key} must be a finite number")));
    }
    if value <= 0.0 {
        return Err(invalid(format!("Quota {key} must be greater than 0")));
    }
    if value > most {
        return Err(invalid(format!("Proposed value for {key} is too large for {kind}.")));
    }
    if most.is_finite() && value.fract() > 1e-6 {
        return Err(invalid(format!("{key} cannot be a fractional value.")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ErrorCode;

    fn entity(parts: &[(&str, Option<&str>)]) -> QuotaEntityName {
        parts.iter().map(|(kind, name)| ((*kind).to_owned(), name.map(str::to_owned))).collect()
    }

    fn alteration(parts: &[(&str, Option<&str>)], key: &str, value: Option<f64>) -> QuotaAlteration {
        QuotaAlteration { entity: entity(parts), changes: vec![(key.to_owned(), value)] }
    }

    /// The first result's message and how many records were made.
    fn decide(image: &Image, alterations: Vec<QuotaAlteration>) -> (Option<String>, usize) {
        let outcome = alter_quotas(image, &AlterQuotas { alterations, validate_only: false });
        let refusal = outcome.response.into_iter().next().and_then(|(_, result)| result.err());
        assert!(refusal.iter().all(|refusal| refusal.code == ErrorCode::InvalidRequest));
        (refusal.and_then(|refusal| refusal.message), outcome.records.len())
    }

    #[test]
    fn what_kafka_refuses_is_refused_in_its_words() {
        let image = Image::empty("c");
        let check = |parts: &[(&str, Option<&str>)], key: &str, value: f64, expect: &str| {
            let found = decide(&image, vec![alteration(parts, key, Some(value))]);
            assert_eq!(found, (Some(expect.to_owned()), 0));
        };
        let user: &[_] = &[("user", Some("u"))];
        check(&[], "producer_byte_rate", 1.0, "Invalid empty client quota entity");
        check(&[("user", Some(""))], "producer_byte_rate", 1.0, "Empty user not supported");
        check(&[("x", None)], "producer_byte_rate", 1.0, "Unhandled client quota entity type: x");
        check(user, "x", 1.0, "Invalid configuration key x");
        check(user, "connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate");
        check(user, "producer_byte_rate", 0.0, "Quota producer_byte_rate must be greater than 0");
        for endless in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            check(user, "request_percentage", endless, "Quota request_percentage must be a finite number");
        }
        check(user, "producer_byte_rate", 1.5, "producer_byte_rate cannot be a fractional value.");
        let large = "Proposed value for connection_creation_rate is too large for an INT.";
        check(&[("ip", None)], "connection_creation_rate", 3e9, large);
        let mixed = "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId";
        check(&[("ip", None), ("user", None)], "connection_creation_rate", 3.0, mixed);
    }

    #[test]
    fn only_what_differs_is_written_and_an_entity_counts_once() {
        let mut image = Image::empty("c");
        let user: &[_] = &[("user", Some("u"))];
        let set = || alteration(user, "request_percentage", Some(1.5));
        let outcome = alter_quotas(&image, &AlterQuotas { alterations: vec![set()], validate_only: false });
        image.apply(&outcome.records[0]).unwrap();
        assert_eq!(decide(&image, vec![set()]), (None, 0));
        let remove = || alteration(user, "request_percentage", None);
        assert_eq!(decide(&image, vec![remove()]), (None, 1));
        let (message, records) = decide(&image, vec![remove(), set()]);
        assert_eq!(message.unwrap(), "Ignoring duplicate entity ClientQuotaEntity(entries={user=u})");
        assert_eq!(records, 1);
        assert_eq!(decide(&Image::empty("c"), vec![remove()]), (None, 0));
    }
}
