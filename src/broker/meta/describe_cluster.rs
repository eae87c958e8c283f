//! DescribeCluster: the brokers and the cluster's id, for admin clients.

use super::operations;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::Image;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::DescribeClusterRequest;
use kafka_protocol::messages::DescribeClusterResponse;
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;

/// Kafka's `EndpointType`: whom a client wants to describe.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

/// Answers a DescribeCluster request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let version = context.version();
    let request: DescribeClusterRequest = codec::decode(&context.header, body)?;
    if version >= 1 && request.endpoint_type != BROKERS {
        return Ok(codec::encode(&context.header, &wrong_type(request.endpoint_type))?);
    }
    let image = broker.publisher.current();
    let fenced_too = version >= 2 && request.include_fenced_brokers;
    let controller = image.brokers().find(|broker| !broker.fenced).map_or(BrokerId::NONE, |broker| broker.id);
    let response = DescribeClusterResponse::default()
        .with_cluster_id(wire::text(&image.cluster_id))
        .with_controller_id(wire::broker_id(controller))
        .with_brokers(brokers(&image, &context.connection.listener, fenced_too))
        .with_cluster_authorized_operations(operations::on_cluster(
            request.include_cluster_authorized_operations,
        ));
    Ok(codec::encode(&context.header, &response)?)
}

fn wrong_type(endpoint_type: i8) -> DescribeClusterResponse {
    let (code, message) = if endpoint_type == CONTROLLERS {
        let message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER";
        (ErrorCode::MismatchedEndpointType, message.to_owned())
    } else {
        (ErrorCode::UnsupportedEndpointType, format!("Unsupported endpoint type {endpoint_type}"))
    };
    DescribeClusterResponse::default()
        .with_error_code(code.code())
        .with_error_message(wire::some_text(Some(&message)))
}

fn brokers(image: &Image, listener: &str, fenced_too: bool) -> Vec<DescribeClusterBroker> {
    let mut brokers = Vec::new();
    for broker in image.brokers().filter(|broker| fenced_too || !broker.fenced) {
        if let Some(endpoint) = broker.endpoint(listener) {
            brokers.push(
                DescribeClusterBroker::default()
                    .with_broker_id(wire::broker_id(broker.id))
                    .with_host(wire::text(&endpoint.host))
                    .with_port(i32::from(endpoint.port))
                    .with_rack(wire::some_text(broker.rack.as_deref()))
                    .with_is_fenced(fenced_too && broker.fenced),
            );
        }
    }
    brokers
}
