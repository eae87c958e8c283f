//! From a frame to the handler of its API.

use crate::base::Instant;
use crate::broker::Broker;
use crate::broker::admin;
use crate::broker::context::Answer;
use crate::broker::context::Connection;
use crate::broker::context::Context;
use crate::broker::context::Reply;
use crate::broker::data;
use crate::broker::errors::Refused;
use crate::broker::group;
use crate::broker::meta;
use crate::broker::share;
use crate::broker::telemetry;
use crate::broker::throttling::Account;
use crate::broker::txn;
use crate::io::task;
use crate::metrics;
use crate::protocol;
use crate::protocol::RequestHeader;
use crate::protocol::Response;
use crate::protocol::header;
use crate::protocol::versions;
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Requests of more bytes than this are not answered on a worker: others have to be served meanwhile.
const ASIDE: usize = 16 << 10;

type Answering<'a> = Pin<Box<dyn Future<Output = Result<Response, Refused>> + Send + 'a>>;

/// How an API is handled.
enum Handler {
    /// Without giving the thread away: mostly from memory, in a few cases with a short look into a log.
    Now(fn(&Broker, &Context, Bytes) -> Result<Response, Refused>),
    /// By waiting for a service; the connection's next request waits too.
    Waiting(for<'a> fn(&'a Arc<Broker>, &'a Context, Bytes) -> Answering<'a>),
    /// By a handler that decides itself whether the answer is there at once or comes later, and counts the request
    /// itself. For Produce the order of appends is fixed when this returns; Fetch may wait for records.
    Staged(fn(&Arc<Broker>, Context, Bytes) -> Reply),
}

/// The handler of each API that is offered: an API without one is neither shown by ApiVersions nor served.
fn handler(key: i16) -> Option<Handler> {
    Some(match key {
        versions::PRODUCE => Handler::Staged(data::produce::handle),
        versions::FETCH => Handler::Staged(data::fetch::handle),
        versions::LIST_OFFSETS => {
            Handler::Waiting(|b, c, body| Box::pin(data::list_offsets::handle(b, c, body)))
        }
        versions::API_VERSIONS => Handler::Now(meta::api_versions::handle),
        versions::FIND_COORDINATOR => Handler::Waiting(|broker, context, body| {
            Box::pin(group::find_coordinator::handle(broker, context, body))
        }),
        versions::JOIN_GROUP => Handler::Waiting(|broker, context, body| {
            Box::pin(group::join_group::handle(broker, context, body))
        }),
        versions::SYNC_GROUP => Handler::Waiting(|broker, context, body| {
            Box::pin(group::sync_group::handle(broker, context, body))
        }),
        versions::HEARTBEAT => Handler::Waiting(|broker, context, body| {
            Box::pin(group::heartbeat::handle(broker, context, body))
        }),
        versions::LEAVE_GROUP => Handler::Waiting(|broker, context, body| {
            Box::pin(group::leave_group::handle(broker, context, body))
        }),
        versions::OFFSET_COMMIT => Handler::Waiting(|broker, context, body| {
            Box::pin(group::offset_commit::handle(broker, context, body))
        }),
        versions::OFFSET_FETCH => Handler::Waiting(|broker, context, body| {
            Box::pin(group::offset_fetch::handle(broker, context, body))
        }),
        versions::OFFSET_DELETE => Handler::Waiting(|broker, context, body| {
            Box::pin(group::offset_delete::handle(broker, context, body))
        }),
        versions::LIST_GROUPS => Handler::Waiting(|broker, context, body| {
            Box::pin(group::list_groups::handle(broker, context, body))
        }),
        versions::DESCRIBE_GROUPS => Handler::Waiting(|broker, context, body| {
            Box::pin(group::describe_groups::handle(broker, context, body))
        }),
        versions::CONSUMER_GROUP_HEARTBEAT => Handler::Waiting(|broker, context, body| {
            Box::pin(group::consumer_group_heartbeat::handle(broker, context, body))
        }),
        versions::CONSUMER_GROUP_DESCRIBE => Handler::Waiting(|broker, context, body| {
            Box::pin(group::consumer_group_describe::handle(broker, context, body))
        }),
        versions::DELETE_GROUPS => Handler::Waiting(|broker, context, body| {
            Box::pin(group::delete_groups::handle(broker, context, body))
        }),
        versions::STREAMS_GROUP_HEARTBEAT => Handler::Waiting(|broker, context, body| {
            Box::pin(group::streams_group_heartbeat::handle(broker, context, body))
        }),
        versions::STREAMS_GROUP_DESCRIBE => Handler::Waiting(|broker, context, body| {
            Box::pin(group::streams_group_describe::handle(broker, context, body))
        }),
        versions::STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE => {
            Handler::Now(group::streams_group_topology_description_update::handle)
        }
        versions::METADATA => Handler::Waiting(|b, c, body| Box::pin(meta::metadata::handle(b, c, body))),
        versions::DESCRIBE_CLUSTER => Handler::Now(meta::describe_cluster::handle),
        versions::DESCRIBE_TOPIC_PARTITIONS => Handler::Now(meta::describe_topic_partitions::handle),
        versions::CREATE_TOPICS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::create_topics::handle(b, c, body)))
        }
        versions::DELETE_TOPICS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::delete_topics::handle(b, c, body)))
        }
        versions::CREATE_PARTITIONS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::create_partitions::handle(b, c, body)))
        }
        versions::DESCRIBE_CONFIGS => Handler::Now(admin::describe_configs::handle),
        versions::ALTER_CONFIGS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::alter_configs::replace(b, c, body)))
        }
        versions::INCREMENTAL_ALTER_CONFIGS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::alter_configs::incremental(b, c, body)))
        }
        versions::DESCRIBE_LOG_DIRS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::describe_log_dirs::handle(b, c, body)))
        }
        versions::LIST_CONFIG_RESOURCES => Handler::Now(admin::list_config_resources::handle),
        versions::LIST_PARTITION_REASSIGNMENTS => Handler::Now(admin::list_partition_reassignments::handle),
        versions::DESCRIBE_ACLS => Handler::Now(admin::acls::describe),
        versions::CREATE_ACLS => Handler::Now(admin::acls::create),
        versions::DELETE_ACLS => Handler::Now(admin::acls::delete),
        versions::DELETE_RECORDS => Handler::Now(data::delete_records::handle),
        versions::INIT_PRODUCER_ID => {
            Handler::Waiting(|b, c, body| Box::pin(txn::init_producer_id::handle(b, c, body)))
        }
        versions::ADD_PARTITIONS_TO_TXN => {
            Handler::Waiting(|b, c, body| Box::pin(txn::add_partitions_to_txn::handle(b, c, body)))
        }
        versions::ADD_OFFSETS_TO_TXN => {
            Handler::Waiting(|b, c, body| Box::pin(txn::add_offsets_to_txn::handle(b, c, body)))
        }
        versions::END_TXN => Handler::Waiting(|b, c, body| Box::pin(txn::end_txn::handle(b, c, body))),
        versions::WRITE_TXN_MARKERS => {
            Handler::Waiting(|b, c, body| Box::pin(txn::write_txn_markers::handle(b, c, body)))
        }
        versions::TXN_OFFSET_COMMIT => {
            Handler::Waiting(|b, c, body| Box::pin(txn::txn_offset_commit::handle(b, c, body)))
        }
        versions::DESCRIBE_TRANSACTIONS => {
            Handler::Waiting(|b, c, body| Box::pin(txn::describe_transactions::handle(b, c, body)))
        }
        versions::LIST_TRANSACTIONS => {
            Handler::Waiting(|b, c, body| Box::pin(txn::list_transactions::handle(b, c, body)))
        }
        versions::UPDATE_FEATURES => {
            Handler::Waiting(|b, c, body| Box::pin(admin::update_features::handle(b, c, body)))
        }
        versions::ELECT_LEADERS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::elect_leaders::handle(b, c, body)))
        }
        versions::ALTER_PARTITION_REASSIGNMENTS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::alter_partition_reassignments::handle(b, c, body)))
        }
        versions::UNREGISTER_BROKER => {
            Handler::Waiting(|b, c, body| Box::pin(admin::unregister_broker::handle(b, c, body)))
        }
        versions::GET_TELEMETRY_SUBSCRIPTIONS => Handler::Now(telemetry::get_subscriptions::handle),
        versions::PUSH_TELEMETRY => {
            Handler::Waiting(|b, c, body| Box::pin(telemetry::push::handle(b, c, body)))
        }
        versions::ALTER_REPLICA_LOG_DIRS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::alter_replica_log_dirs::handle(b, c, body)))
        }
        versions::DESCRIBE_QUORUM => Handler::Now(meta::describe_quorum::handle),
        versions::DESCRIBE_USER_SCRAM_CREDENTIALS => Handler::Now(admin::describe_scram::handle),
        versions::DESCRIBE_CLIENT_QUOTAS => Handler::Now(admin::client_quotas::describe),
        versions::ALTER_CLIENT_QUOTAS => {
            Handler::Waiting(|b, c, body| Box::pin(admin::client_quotas::alter(b, c, body)))
        }
        versions::SHARE_GROUP_HEARTBEAT => {
            Handler::Waiting(|b, c, body| Box::pin(share::share_group_heartbeat::handle(b, c, body)))
        }
        versions::SHARE_GROUP_DESCRIBE => {
            Handler::Waiting(|b, c, body| Box::pin(share::share_group_describe::handle(b, c, body)))
        }
        versions::DESCRIBE_SHARE_GROUP_OFFSETS => {
            Handler::Waiting(|b, c, body| Box::pin(share::describe_offsets::handle(b, c, body)))
        }
        versions::ALTER_SHARE_GROUP_OFFSETS => {
            Handler::Waiting(|b, c, body| Box::pin(share::alter_offsets::alter(b, c, body)))
        }
        versions::DELETE_SHARE_GROUP_OFFSETS => {
            Handler::Waiting(|b, c, body| Box::pin(share::alter_offsets::delete(b, c, body)))
        }
        versions::SHARE_FETCH => Handler::Staged(share::share_fetch::handle),
        versions::SHARE_ACKNOWLEDGE => {
            Handler::Waiting(|b, c, body| Box::pin(share::share_acknowledge::handle(b, c, body)))
        }
        versions::INITIALIZE_SHARE_GROUP_STATE => {
            Handler::Waiting(|b, c, body| Box::pin(share::group_state::initialize(b, c, body)))
        }
        versions::READ_SHARE_GROUP_STATE => {
            Handler::Waiting(|b, c, body| Box::pin(share::group_state::read(b, c, body)))
        }
        versions::WRITE_SHARE_GROUP_STATE => {
            Handler::Waiting(|b, c, body| Box::pin(share::group_state::write(b, c, body)))
        }
        versions::DELETE_SHARE_GROUP_STATE => {
            Handler::Waiting(|b, c, body| Box::pin(share::group_state::delete(b, c, body)))
        }
        versions::READ_SHARE_GROUP_STATE_SUMMARY => {
            Handler::Waiting(|b, c, body| Box::pin(share::group_state::summarize(b, c, body)))
        }
        versions::OFFSET_FOR_LEADER_EPOCH => Handler::Now(data::offset_for_leader_epoch::handle),
        versions::DESCRIBE_PRODUCERS => Handler::Now(data::describe_producers::handle),
        _ => return None,
    })
}

/// Whether an API is finished, and so offered.
pub(super) fn is_offered(key: i16) -> bool {
    handler(key).is_some()
}

impl Broker {
    /// Handles one request. Never waits and never fails: what is wrong with the frame is in the answer. With
    /// `followed` the connection's next request is here already: records may be held back, to be written with those
    /// of the next. After one or several calls comes [`Broker::write_held`], before any reply is waited for.
    pub fn handle(self: &Arc<Self>, connection: &Arc<Connection>, frame: Bytes, followed: bool) -> Reply {
        let (began, length) = (self.clock.now(), frame.len());
        let mut body = frame;
        let header = match header::parse(&mut body) {
            Ok(header) => header,
            Err(error) => return Reply::Now(self.without_header(&error)),
        };
        let Some(handler) = handler(header.api_key) else {
            return Reply::Now(Answer::close(protocol::Error::UnknownApi(header.api_key).to_string()));
        };
        if let Some(request) = self.measured(header.api_key) {
            request.sizes.sized(length);
        }
        let context = Context { header, connection: Arc::clone(connection), followed };
        let account = Account::open(self, &context);
        let reply = self.begin(handler, context, body, began);
        match account {
            None => reply,
            Some(account) => account.settle(self, reply, self.clock.now().since(began)),
        }
    }

    fn begin(self: &Arc<Self>, handler: Handler, context: Context, body: Bytes, began: Instant) -> Reply {
        match handler {
            Handler::Now(handle) if body.len() > ASIDE => {
                let broker = Arc::clone(self);
                Reply::Later(Box::pin(async move {
                    let (key, measured) = (context.header.api_key, Arc::clone(&broker));
                    let work = move || answer(&context.header, handle(&broker, &context, body));
                    let answer = task::run_blocking(work).await;
                    measured.measure(key, began);
                    answer
                }))
            }
            Handler::Now(handle) => {
                let answer = answer(&context.header, handle(self, &context, body));
                self.measure(context.header.api_key, began);
                Reply::Now(answer)
            }
            Handler::Waiting(handle) => {
                let broker = Arc::clone(self);
                Reply::Later(Box::pin(async move {
                    let answer = answer(&context.header, handle(&broker, &context, body).await);
                    broker.measure(context.header.api_key, began);
                    answer
                }))
            }
            Handler::Staged(handle) => handle(self, context, body),
        }
    }

    /// Writes what the connection's requests so far have held back.
    pub fn write_held(&self, connection: &Connection) {
        connection.write_held();
    }

    /// ApiVersions at a version we do not know is the one request that gets an answer all the same (KIP-511).
    fn without_header(&self, error: &protocol::Error) -> Answer {
        match *error {
            protocol::Error::UnsupportedVersion { key: versions::API_VERSIONS, correlation_id, .. } => {
                match meta::api_versions::unsupported(correlation_id) {
                    Ok(response) => Answer::Send(response),
                    Err(error) => Answer::close(error.to_string()),
                }
            }
            ref error => Answer::close(error.to_string()),
        }
    }

    /// Counts a request that ends now and how long it took.
    pub(crate) fn measure(&self, api_key: i16, began: Instant) {
        if let Some(request) = self.measured(api_key) {
            request.times.took(self.clock.now().since(began));
        }
    }

    fn measured(&self, api_key: i16) -> Option<&metrics::Request> {
        let name = versions::api(api_key).map_or("Unknown", |api| api.name);
        self.metrics.request_of(api_key, name)
    }
}

fn answer(header: &RequestHeader, outcome: Result<Response, Refused>) -> Answer {
    match outcome {
        Ok(response) => Answer::Send(response),
        Err(refused) => {
            let name = versions::api(header.api_key).map_or("request", |api| api.name);
            Answer::close(format!("{name} version {}: {refused}", header.api_version))
        }
    }
}

#[cfg(test)]
mod tests;
