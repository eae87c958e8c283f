//! DescribeClientQuotas and AlterClientQuotas (KIP-546, KIP-612): who may be how fast.

use super::change;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::Image;
use crate::cluster::command::AlterQuotas;
use crate::cluster::command::QuotaAlteration;
use crate::cluster::command::QuotaEntityName;
use crate::io::net;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::AlterClientQuotasRequest;
use kafka_protocol::messages::AlterClientQuotasResponse;
use kafka_protocol::messages::DescribeClientQuotasRequest;
use kafka_protocol::messages::DescribeClientQuotasResponse;
use kafka_protocol::messages::alter_client_quotas_request;
use kafka_protocol::messages::alter_client_quotas_response;
use kafka_protocol::messages::describe_client_quotas_request::ComponentData;
use kafka_protocol::messages::describe_client_quotas_response::EntityData;
use kafka_protocol::messages::describe_client_quotas_response::EntryData;
use kafka_protocol::messages::describe_client_quotas_response::ValueData;
use std::collections::BTreeMap;

/// Requests of this kind carry no time-out.
const TIMEOUT_MS: i32 = 30_000;

const TYPES: [&str; 3] = ["ip", "user", "client-id"];

/// What an entity's part of one type must be.
enum Wanted {
    /// This name, or the default.
    Exactly(Option<String>),
    /// Whatever name.
    Any,
}

/// Answers a DescribeClientQuotas request.
pub(crate) fn describe(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DescribeClientQuotasRequest = codec::decode(&context.header, body)?;
    let image = broker.publisher.current();
    let mut room = broker.answer_memory.begin();
    let entries = filter(&request.components).and_then(|filter| {
        let entries = entries(&image, &filter, request.strict);
        let fits = entries.iter().all(|one| room.take_encoded(one, context.version()));
        if fits {
            Ok(entries)
        } else {
            Err(Refused::new(ErrorCode::InvalidRequest, "The answer is too large."))
        }
    });
    let response = match entries {
        Ok(entries) => DescribeClientQuotasResponse::default()
            .with_error_message(Some(wire::text("")))
            .with_entries(Some(entries)),
        Err(refused) => DescribeClientQuotasResponse::default()
            .with_error_code(refused.code.code())
            .with_error_message(wire::some_text(refused.message.as_deref()))
            .with_entries(None),
    };
    Ok(room.tie_to(codec::encode(&context.header, &response)?))
}

/// The rules of Kafka's `ClientQuotasImage.describe`.
fn filter(components: &[ComponentData]) -> Result<BTreeMap<String, Wanted>, Refused> {
    let invalid = |message: String| Refused::new(ErrorCode::InvalidRequest, message);
    let mut filter = BTreeMap::new();
    for component in components {
        let kind = component.entity_type.as_str();
        if kind.is_empty() {
            return Err(invalid("Invalid empty entity type.".to_owned()));
        }
        if filter.contains_key(kind) {
            return Err(invalid(format!("Entity type {kind} cannot appear more than once in the filter.")));
        }
        if !TYPES.contains(&kind) {
            let message = format!("Unsupported entity type {kind}");
            return Err(Refused::new(ErrorCode::UnsupportedVersion, message));
        }
        let also =
            |name: &str| invalid(format!("Request specified {name}, but also specified a match string."));
        let wanted = match (component.match_type, &component._match) {
            (0, Some(name)) => Wanted::Exactly(Some(name.to_string())),
            (0, None) => {
                let message = "Request specified MATCH_TYPE_EXACT, but set match string to null.";
                return Err(invalid(message.to_owned()));
            }
            (1, None) => Wanted::Exactly(None),
            (2, None) => Wanted::Any,
            (1, Some(_)) => return Err(also("MATCH_TYPE_DEFAULT")),
            (2, Some(_)) => return Err(also("MATCH_TYPE_SPECIFIED")),
            (unknown, _) => return Err(invalid(format!("Unknown match type {unknown}"))),
        };
        filter.insert(kind.to_owned(), wanted);
    }
    if filter.contains_key("ip") && filter.len() > 1 {
        return Err(invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or \
             clientId filter component."
                .to_owned(),
        ));
    }
    Ok(filter)
}

fn entries(image: &Image, filter: &BTreeMap<String, Wanted>, strict: bool) -> Vec<EntryData> {
    let mut entities: BTreeMap<&[(String, Option<String>)], Vec<ValueData>> = BTreeMap::new();
    for ((entity, key), record) in &image.security().quotas {
        if matches(entity, filter, strict) {
            let value = ValueData::default().with_key(wire::text(key)).with_value(record.value);
            entities.entry(entity).or_default().push(value);
        }
    }
    let entry = |(entity, values): (&[(String, Option<String>)], Vec<ValueData>)| {
        let part = |(kind, name): &(String, Option<String>)| {
            EntityData::default()
                .with_entity_type(wire::text(kind))
                .with_entity_name(wire::some_text(name.as_deref()))
        };
        EntryData::default().with_entity(entity.iter().map(part).collect()).with_values(values)
    };
    entities.into_iter().map(entry).collect()
}

fn matches(entity: &[(String, Option<String>)], filter: &BTreeMap<String, Wanted>, strict: bool) -> bool {
    if strict && entity.len() != filter.len() {
        return false;
    }
    filter.iter().all(|(kind, wanted)| {
        let found = entity.iter().find(|(other, _)| other == kind);
        found.is_some_and(|(_, name)| match wanted {
            Wanted::Exactly(wanted) => name == wanted,
            Wanted::Any => true,
        })
    })
}

/// Answers an AlterClientQuotas request.
pub(crate) async fn alter(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: AlterClientQuotasRequest = codec::decode(&context.header, body)?;
    let mut results = Vec::with_capacity(request.entries.len());
    let mut alterations = Vec::with_capacity(request.entries.len());
    for entry in &request.entries {
        let alteration = alteration(entry);
        match check_host(&alteration.entity).await {
            Ok(()) => alterations.push(alteration),
            Err(refused) => results.push((alteration.entity, Some(refused))),
        }
    }
    let asked: Vec<QuotaEntityName> =
        alterations.iter().map(|alteration| alteration.entity.clone()).collect();
    let command = AlterQuotas { alterations, validate_only: request.validate_only };
    match change(broker, TIMEOUT_MS, broker.controller.alter_quotas(command)).await {
        Ok(done) => {
            results
                .extend(done.into_iter().map(|(entity, result)| (entity, result.err().map(Refused::from))));
        }
        Err(refused) => results.extend(asked.into_iter().map(|entity| (entity, Some(refused.clone())))),
    }
    // The next request already finds the new limits.
    broker.quotas.update(&broker.publisher.current()).await;
    let entries = results.iter().map(|(entity, refused)| answer(entity, refused.as_ref())).collect();
    Ok(codec::encode(&context.header, &AlterClientQuotasResponse::default().with_entries(entries))?)
}

fn alteration(entry: &alter_client_quotas_request::EntryData) -> QuotaAlteration {
    let name = |part: &alter_client_quotas_request::EntityData| {
        (part.entity_type.to_string(), part.entity_name.as_ref().map(|name| name.to_string()))
    };
    QuotaAlteration {
        entity: entry.entity.iter().map(name).collect(),
        changes: entry
            .ops
            .iter()
            .map(|change| (change.key.to_string(), (!change.remove).then_some(change.value)))
            .collect(),
    }
}

/// An address may be given by a name that is known now.
async fn check_host(entity: &QuotaEntityName) -> Result<(), Refused> {
    let Some(host) = entity.get("ip").and_then(Option::as_ref).filter(|host| !host.is_empty()) else {
        return Ok(());
    };
    match net::resolve(host, 0).await {
        Ok(found) if !found.is_empty() => Ok(()),
        _ => {
            let message = format!("{host} is not a valid IP or resolvable host.");
            Err(Refused::new(ErrorCode::InvalidRequest, message))
        }
    }
}

fn answer(entity: &QuotaEntityName, refused: Option<&Refused>) -> alter_client_quotas_response::EntryData {
    let part = |(kind, name): (&String, &Option<String>)| {
        alter_client_quotas_response::EntityData::default()
            .with_entity_type(wire::text(kind))
            .with_entity_name(wire::some_text(name.as_deref()))
    };
    alter_client_quotas_response::EntryData::default()
        .with_error_code(refused.map_or(0, |refused| refused.code.code()))
        .with_error_message(wire::some_text(refused.and_then(|refused| refused.message.as_deref())))
        .with_entity(entity.iter().map(part).collect())
}
