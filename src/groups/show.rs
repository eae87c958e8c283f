//! How groups are shown to administrators.

use crate::groups::classic::group::Group;
use crate::groups::classic::group::State;
use crate::groups::classic::member::Member;
use crate::groups::command::Described;
use crate::groups::command::DescribedMember;
use crate::groups::command::List;
use crate::groups::command::Listed;
use crate::groups::kind::Kind;
use std::sync::Arc;

/// A group in full; protocol and metadata are only shown while it is stable, as in Kafka.
pub(crate) fn describe(group: &Group) -> Described {
    let protocol = group.protocol.as_ref().filter(|_| group.state == State::Stable);
    Described {
        state: group.state.name(),
        protocol_type: group.protocol_type.clone().unwrap_or_else(|| Arc::from("")),
        protocol: protocol.cloned().unwrap_or_else(|| Arc::from("")),
        members: group.members().map(|member| describe_member(member, protocol)).collect(),
    }
}

fn describe_member(member: &Member, protocol: Option<&Arc<str>>) -> DescribedMember {
    DescribedMember {
        member_id: member.id.clone(),
        instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        metadata: protocol.and_then(|name| member.metadata(name)).cloned().unwrap_or_default(),
        assignment: member.assignment.clone(),
    }
}

/// The groups that pass both filters.
pub(crate) fn list<'a>(groups: impl Iterator<Item = &'a Kind>, request: &List) -> Vec<Listed> {
    let passes = |wanted: &[Arc<str>], have: &str| {
        wanted.is_empty() || wanted.iter().any(|name| name.trim().eq_ignore_ascii_case(have))
    };
    groups
        .filter(|group| passes(&request.types, group.name()) && passes(&request.states, group.state_name()))
        .map(|group| Listed {
            group: group.id().clone(),
            protocol_type: group.protocol_type(),
            state: group.state_name(),
            group_type: group.name(),
        })
        .collect()
}
