//! DescribeUserScramCredentials: which users have SCRAM credentials in the metadata log, and of which kind (KIP-554).
//! Nothing here uses them yet, but a folder of Apache Kafka's may have some, and tools ask.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::Image;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::DescribeUserScramCredentialsRequest;
use kafka_protocol::messages::DescribeUserScramCredentialsResponse;
use kafka_protocol::messages::describe_user_scram_credentials_response::CredentialInfo;
use kafka_protocol::messages::describe_user_scram_credentials_response::DescribeUserScramCredentialsResult;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Answers a DescribeUserScramCredentials request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DescribeUserScramCredentialsRequest = codec::decode(&context.header, body)?;
    let image = broker.publisher.current();
    let named = request.users.as_ref().filter(|users| !users.is_empty());
    let results: Vec<DescribeUserScramCredentialsResult> = match named {
        None => {
            let users: BTreeSet<&str> =
                image.security().scram.keys().map(|(user, _)| user.as_str()).collect();
            users.into_iter().map(|user| describe(&image, user, 1)).collect()
        }
        Some(users) => {
            let mut times: BTreeMap<&str, usize> = BTreeMap::new();
            for user in users {
                *times.entry(user.name.as_str()).or_default() += 1;
            }
            times.into_iter().map(|(user, times)| describe(&image, user, times)).collect()
        }
    };
    let response = DescribeUserScramCredentialsResponse::default()
        .with_error_message(Some(wire::text("")))
        .with_results(results);
    Ok(codec::encode(&context.header, &response)?)
}

fn describe(image: &Image, user: &str, times: usize) -> DescribeUserScramCredentialsResult {
    let credentials = image.security().scram.iter().filter(|((name, _), _)| name == user);
    let credentials: Vec<CredentialInfo> = credentials
        .map(|((_, mechanism), record)| {
            CredentialInfo::default().with_mechanism(*mechanism).with_iterations(record.iterations)
        })
        .collect();
    let result =
        DescribeUserScramCredentialsResult::default().with_user(wire::text(user)).with_error_message(None);
    let refuse = |code: ErrorCode, message: String| {
        result.clone().with_error_code(code.code()).with_error_message(wire::some_text(Some(&message)))
    };
    if times > 1 {
        let message =
            format!("Cannot describe SCRAM credentials for the same user twice in a single request: {user}");
        return refuse(ErrorCode::DuplicateResource, message);
    }
    if credentials.is_empty() {
        let message = format!("Attempt to describe a user credential that does not exist: {user}");
        return refuse(ErrorCode::ResourceNotFound, message);
    }
    result.with_credential_infos(credentials)
}
