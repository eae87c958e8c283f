//! Which limit holds for whom (`ClientQuotaManager` of Kafka), from the quotas of the metadata image.

use crate::cluster::Image;
use crate::cluster::records::ClientQuotaRecord;
use std::collections::HashMap;

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of Produce requests.
    Produce,
    /// Bytes of Fetch answers.
    Fetch,
    /// The time of workers, in percent of one.
    Request,
    /// Partitions made and deleted.
    ControllerMutation,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] = [Kind::Produce, Kind::Fetch, Kind::Request, Kind::ControllerMutation];

    fn of_key(key: &str) -> Option<Kind> {
        match key {
            "producer_byte_rate" => Some(Kind::Produce),
            "consumer_byte_rate" => Some(Kind::Fetch),
            "request_percentage" => Some(Kind::Request),
            "controller_mutation_rate" => Some(Kind::ControllerMutation),
            _ => None,
        }
    }
}

/// A limit, and which parts of a client's identity share it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    /// Units a second.
    pub(super) rate: f64,
    /// Whether it is one for each user.
    pub(super) by_user: bool,
    /// Whether it is one for each client id.
    pub(super) by_client: bool,
}

/// Limits by name, with one for all names that have none.
#[derive(Debug, Default, PartialEq)]
struct Named {
    named: HashMap<String, f64>,
    default: Option<f64>,
}

impl Named {
    fn set(&mut self, name: Option<&str>, rate: f64) {
        match name {
            Some(name) => {
                self.named.insert(name.to_owned(), rate);
            }
            None => self.default = Some(rate),
        }
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.named.get(name).copied().or(self.default)
    }
}

/// Limits of a user: for all its clients together, and for single ones.
#[derive(Debug, Default, PartialEq)]
struct User {
    own: Option<f64>,
    clients: Named,
}

/// All limits of one kind.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Rates {
    users: HashMap<String, User>,
    default_user: User,
    clients: Named,
}

impl Rates {
    pub(super) fn is_empty(&self) -> bool {
        *self == Rates::default()
    }

    /// The limit of a client, the most exact one first: user and client id, user, client id; at each step the named
    /// before the default. A client without an id has only its user's.
    pub(super) fn of(&self, user: &str, client_id: &str) -> Option<Limit> {
        let limit = |rate: f64, by_user, by_client| Limit { rate, by_user, by_client };
        for user in [self.users.get(user), Some(&self.default_user)].into_iter().flatten() {
            let both = if client_id.is_empty() { None } else { user.clients.get(client_id) };
            if let Some(rate) = both {
                return Some(limit(rate, true, true));
            }
            if let Some(rate) = user.own {
                return Some(limit(rate, true, false));
            }
        }
        let client = if client_id.is_empty() { None } else { self.clients.get(client_id) };
        client.map(|rate| limit(rate, false, true))
    }

    /// Whether a limit holds for what is counted under these names, each empty where the limit is shared over it.
    pub(super) fn counts(&self, user: &str, client_id: &str) -> bool {
        let limit = if user.is_empty() {
            self.clients.get(client_id).map(|rate| Limit { rate, by_user: false, by_client: true })
        } else {
            self.of(user, client_id)
        };
        limit.is_some_and(|limit| limit.by_user != user.is_empty() && limit.by_client != client_id.is_empty())
    }

    fn set(&mut self, entity: &Entity<'_>, rate: f64) {
        match (entity.user, entity.client) {
            (Some(user), client) => {
                let user = match user {
                    Some(name) => self.users.entry(name.to_owned()).or_default(),
                    None => &mut self.default_user,
                };
                match client {
                    Some(client) => user.clients.set(client, rate),
                    None => user.own = Some(rate),
                }
            }
            (None, Some(client)) => self.clients.set(client, rate),
            (None, None) => {}
        }
    }
}

/// Whom a quota is for: each part absent, the default, or named.
#[derive(Default)]
struct Entity<'a> {
    user: Option<Option<&'a str>>,
    client: Option<Option<&'a str>>,
    ip: Option<Option<&'a str>>,
}

impl Entity<'_> {
    fn of(record: &ClientQuotaRecord) -> Entity<'_> {
        let mut entity = Entity::default();
        for part in &record.entity {
            let name = Some(part.entity_name.as_deref());
            match part.entity_type.as_str() {
                "user" => entity.user = name,
                "client-id" => entity.client = name,
                "ip" => entity.ip = name,
                _ => {}
            }
        }
        entity
    }
}

/// Everything that the image limits.
#[derive(Debug, Default)]
pub(super) struct Limits {
    rates: [Rates; 4],
    /// New connections a second by host, as it was written.
    pub(super) connections: Vec<(String, f64)>,
    /// The same for every address without a limit of its own.
    pub(super) connections_default: Option<f64>,
}

impl Limits {
    /// The limits of an image.
    pub(super) fn of(image: &Image) -> Limits {
        let mut limits = Limits::default();
        for record in image.security().quotas.values() {
            let entity = Entity::of(record);
            match (Kind::of_key(&record.key), entity.ip) {
                (Some(kind), None) => limits.rates_mut(kind).set(&entity, record.value),
                (None, Some(Some(host))) if record.key == "connection_creation_rate" => {
                    limits.connections.push((host.to_owned(), record.value));
                }
                (None, Some(None)) if record.key == "connection_creation_rate" => {
                    limits.connections_default = Some(record.value);
                }
                _ => {}
            }
        }
        limits
    }

    pub(super) fn rates(&self, kind: Kind) -> &Rates {
        let [produce, fetch, request, mutation] = &self.rates;
        match kind {
            Kind::Produce => produce,
            Kind::Fetch => fetch,
            Kind::Request => request,
            Kind::ControllerMutation => mutation,
        }
    }

    fn rates_mut(&mut self, kind: Kind) -> &mut Rates {
        let [produce, fetch, request, mutation] = &mut self.rates;
        match kind {
            Kind::Produce => produce,
            Kind::Fetch => fetch,
            Kind::Request => request,
            Kind::ControllerMutation => mutation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::records::QuotaEntity;

    type Part<'a> = (&'a str, Option<&'a str>);

    fn image(quotas: &[(&[Part<'_>], f64)]) -> Image {
        let mut image = Image::empty("c");
        for (entity, value) in quotas {
            let part = |(kind, name): &Part<'_>| QuotaEntity {
                entity_type: (*kind).to_owned(),
                entity_name: name.map(str::to_owned),
            };
            let record = ClientQuotaRecord {
                entity: entity.iter().map(part).collect(),
                key: "producer_byte_rate".to_owned(),
                value: *value,
                remove: false,
            };
            image.apply(&record.into()).unwrap();
        }
        image
    }

    #[test]
    fn the_most_exact_limit_counts_in_kafkas_order() {
        let mut quotas: Vec<(&[Part<'_>], f64)> = vec![
            (&[("user", Some("u")), ("client-id", Some("c"))], 1.0),
            (&[("user", Some("u")), ("client-id", None)], 2.0),
            (&[("user", Some("u"))], 3.0),
            (&[("user", None), ("client-id", Some("c"))], 4.0),
            (&[("user", None), ("client-id", None)], 5.0),
            (&[("user", None)], 6.0),
            (&[("client-id", Some("c"))], 7.0),
            (&[("client-id", None)], 8.0),
        ];
        let shares = [(true, true), (true, true), (true, false), (true, true)];
        let shares: Vec<(bool, bool)> =
            shares.into_iter().chain([(true, true), (true, false), (false, true), (false, true)]).collect();
        for (place, share) in shares.into_iter().enumerate() {
            let limits = Limits::of(&image(&quotas));
            let found = limits.rates(Kind::Produce).of("u", "c").unwrap();
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let rate = place as f64 + 1.0;
            assert_eq!((found.rate, (found.by_user, found.by_client)), (rate, share));
            quotas.remove(0);
        }
        assert_eq!(Limits::of(&image(&[])).rates(Kind::Produce).of("u", "c"), None);
        assert!(Limits::of(&image(&[])).rates(Kind::Produce).is_empty());
    }

    #[test]
    fn a_client_without_an_id_has_its_users_limit_only() {
        let limits = Limits::of(&image(&[(&[("client-id", None)], 8.0), (&[("user", Some("u"))], 3.0)]));
        assert_eq!(limits.rates(Kind::Produce).of("u", "").map(|limit| limit.rate), Some(3.0));
        assert_eq!(limits.rates(Kind::Produce).of("v", ""), None);
        assert_eq!(limits.rates(Kind::Fetch).of("u", "c"), None);
    }
}
