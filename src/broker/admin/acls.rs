//! DescribeAcls, CreateAcls, DeleteAcls on a broker without an authorizer: `SECURITY_DISABLED`, in Kafka's words.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::CreateAclsRequest;
use kafka_protocol::messages::CreateAclsResponse;
use kafka_protocol::messages::DeleteAclsRequest;
use kafka_protocol::messages::DeleteAclsResponse;
use kafka_protocol::messages::DescribeAclsRequest;
use kafka_protocol::messages::DescribeAclsResponse;
use kafka_protocol::messages::create_acls_response::AclCreationResult;
use kafka_protocol::messages::delete_acls_response::DeleteAclsFilterResult;

const DISABLED: ErrorCode = ErrorCode::SecurityDisabled;
const NO_AUTHORIZER: &str = "No Authorizer is configured.";

/// Answers a DescribeAcls request.
pub(crate) fn describe(_: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let filter: DescribeAclsRequest = codec::decode(&context.header, body)?;
    known([
        filter.pattern_type_filter,
        filter.resource_type_filter,
        filter.operation,
        filter.permission_type,
    ])?;
    let response = DescribeAclsResponse::default()
        .with_error_code(DISABLED.code())
        .with_error_message(wire::some_text(Some("No Authorizer is configured on the broker")));
    Ok(codec::encode(&context.header, &response)?)
}

/// Answers a CreateAcls request.
pub(crate) fn create(_: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: CreateAclsRequest = codec::decode(&context.header, body)?;
    for acl in &request.creations {
        known([acl.resource_pattern_type, acl.resource_type, acl.operation, acl.permission_type])?;
    }
    let result = AclCreationResult::default()
        .with_error_code(DISABLED.code())
        .with_error_message(wire::some_text(Some(NO_AUTHORIZER)));
    let results = vec![result; request.creations.len()];
    Ok(codec::encode(&context.header, &CreateAclsResponse::default().with_results(results))?)
}

/// Answers a DeleteAcls request.
pub(crate) fn delete(_: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DeleteAclsRequest = codec::decode(&context.header, body)?;
    for filter in &request.filters {
        known([
            filter.pattern_type_filter,
            filter.resource_type_filter,
            filter.operation,
            filter.permission_type,
        ])?;
    }
    let result = DeleteAclsFilterResult::default()
        .with_error_code(DISABLED.code())
        .with_error_message(wire::some_text(Some(NO_AUTHORIZER)));
    let results = vec![result; request.filters.len()];
    Ok(codec::encode(&context.header, &DeleteAclsResponse::default().with_filter_results(results))?)
}

/// What says `UNKNOWN` is no request (`DescribeAclsRequest.normalizeAndValidate` and its like).
fn known(kinds: [i8; 4]) -> Result<(), Refused> {
    if kinds.contains(&0) {
        return Err(Refused::new(
            ErrorCode::InvalidRequest,
            "an ACL or a filter has elements that are UNKNOWN",
        ));
    }
    Ok(())
}
