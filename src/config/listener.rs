//! Listeners: what `listeners`, `advertised.listeners` and the security protocol map say together.

use crate::config::define::Invalid;
use crate::config::define::list;
use crate::config::values::Values;
use std::collections::BTreeMap;
use std::fmt;

/// How a listener's connections are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityProtocol {
    /// Neither encrypted nor authenticated.
    Plaintext,
    /// TLS.
    Ssl,
    /// SASL without encryption.
    SaslPlaintext,
    /// SASL over TLS.
    SaslSsl,
}

impl SecurityProtocol {
    /// Kafka's name of the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            SecurityProtocol::Plaintext => "PLAINTEXT",
            SecurityProtocol::Ssl => "SSL",
            SecurityProtocol::SaslPlaintext => "SASL_PLAINTEXT",
            SecurityProtocol::SaslSsl => "SASL_SSL",
        }
    }

    /// The number of the protocol in metadata records.
    pub const fn code(self) -> i16 {
        match self {
            SecurityProtocol::Plaintext => 0,
            SecurityProtocol::Ssl => 1,
            SecurityProtocol::SaslPlaintext => 2,
            SecurityProtocol::SaslSsl => 3,
        }
    }

    fn parse(name: &str) -> Option<SecurityProtocol> {
        use SecurityProtocol as P;
        [P::Plaintext, P::Ssl, P::SaslPlaintext, P::SaslSsl]
            .into_iter()
            .find(|protocol| protocol.name().eq_ignore_ascii_case(name))
    }
}

/// A host with a port. The host has no brackets, also where it is an IPv6 literal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// Reads `HOST:PORT`; an IPv6 address stands in brackets. `None` when it is something else.
    pub fn parse(text: &str) -> Option<HostPort> {
        let (host, port) = text.rsplit_once(':')?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = !host.is_empty() && !host.contains('/') && (bare.is_some() || !host.contains(':'));
        let port = port.parse().ok().filter(|_| is_host)?;
        Some(HostPort { host: bare.unwrap_or(host).to_owned(), port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// One listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Its name, in capitals.
    pub name: String,
    /// Where it binds: a name, an address, or empty for every interface. A name binds to each address it
    /// has here, so `localhost` is 127.0.0.1 and, where there is IPv6, ::1.
    pub host: String,
    /// The port; 0 for one that the system chooses.
    pub port: u16,
    /// How it is protected.
    pub protocol: SecurityProtocol,
    /// What clients are told to connect to. Never a wildcard and never empty; port 0 stands for the port that
    /// the system chose.
    pub advertised: HostPort,
}

/// The listeners of a node by their use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listeners {
    pub(super) broker: Vec<ListenerConfig>,
    pub(super) controller: Vec<ListenerConfig>,
    pub(super) inter_broker: String,
}

/// Works out the listeners.
///
/// # Errors
/// [`Invalid`] with one sentence that says what to set.
pub(super) fn resolve(values: &Values, host_name: &str) -> Result<Listeners, Invalid> {
    let controller_names: Vec<String> =
        values.list("controller.listener.names").iter().map(|name| name.to_uppercase()).collect();
    let map = protocol_map(values, &controller_names)?;
    let advertised = match values.text("advertised.listeners") {
        Some(_) => Some(endpoints(values, "advertised.listeners", false)?),
        None => None,
    };
    let bound = match &advertised {
        // What is told to others is reachable for others, as in the image of Kafka.
        Some(told) if values.set("listeners").is_none() => {
            told.iter().map(Endpoint::on_every_interface).collect()
        }
        _ => endpoints(values, "listeners", true)?,
    };
    reject_strangers(advertised.as_deref(), &bound)?;
    let mut listeners = Listeners { broker: Vec::new(), controller: Vec::new(), inter_broker: String::new() };
    for endpoint in bound {
        let protocol = served_protocol(&map, &endpoint)?;
        let told = advertised.as_ref().and_then(|told| told.iter().find(|told| told.name == endpoint.name));
        let is_controller = controller_names.contains(&endpoint.name);
        if !is_controller && advertised.is_some() && told.is_none() {
            // Kafka allows a listener that is not advertised; clients that use it get the first one's address.
            continue;
        }
        let listener = ListenerConfig {
            name: endpoint.name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            protocol,
            advertised: if is_controller {
                HostPort { host: endpoint.host.clone(), port: endpoint.port }
            } else {
                advertise(told.unwrap_or(&endpoint), host_name)?
            },
        };
        if is_controller { listeners.controller.push(listener) } else { listeners.broker.push(listener) }
    }
    let Some(first) = listeners.broker.first() else {
        return Err(Invalid::sentence(
            "listeners",
            values.get("listeners").unwrap_or_default(),
            "There must be at least one broker advertised listener. Perhaps all listeners appear in \
             controller.listener.names?",
        ));
    };
    listeners.inter_broker = inter_broker(values, &listeners.broker, &first.name)?;
    Ok(listeners)
}

struct Endpoint {
    name: String,
    host: String,
    port: u16,
}

impl Endpoint {
    fn on_every_interface(&self) -> Endpoint {
        Endpoint { name: self.name.clone(), host: String::new(), port: self.port }
    }
}

fn endpoints(values: &Values, key: &str, distinct_ports: bool) -> Result<Vec<Endpoint>, Invalid> {
    let mut found: Vec<Endpoint> = Vec::new();
    for text in values.list(key) {
        let endpoint = parse_endpoint(text).ok_or_else(|| {
            let message = format!(
                "Unable to parse a listener. Write NAME://HOST:PORT, with an IPv6 address in brackets, in {key}"
            );
            Invalid::new(key, text, message)
        })?;
        if found.iter().any(|other| other.name == endpoint.name) {
            return Err(Invalid::sentence(
                key,
                text,
                format!("Each listener must have a different name, {key}: {}", endpoint.name),
            ));
        }
        if distinct_ports && found.iter().any(|other| clash(other, &endpoint)) {
            return Err(Invalid::sentence(
                key,
                text,
                format!(
                    "Each listener must have a different port unless exactly one listener has an IPv4 address \
                     and the other IPv6 address, {key}: port {}",
                    endpoint.port
                ),
            ));
        }
        found.push(endpoint);
    }
    Ok(found)
}

/// Whether two listeners want one port; one IPv4 and one IPv6 address may share it (KIP-797).
fn clash(one: &Endpoint, other: &Endpoint) -> bool {
    let family = |host: &str| host.parse::<std::net::IpAddr>().ok().map(|address| address.is_ipv6());
    let families_differ =
        matches!((family(&one.host), family(&other.host)), (Some(one), Some(other)) if one != other);
    one.port != 0 && one.port == other.port && !families_differ
}

/// `NAME://HOST:PORT`; the host may be empty and an IPv6 literal stands in brackets.
fn parse_endpoint(text: &str) -> Option<Endpoint> {
    let (name, rest) = text.split_once("://")?;
    let (host, port) = rest.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?,
        None => host,
    };
    let valid_host = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-%._:".contains(&byte));
    if name.trim().is_empty() || !valid_host {
        return None;
    }
    Some(Endpoint { name: name.trim().to_uppercase(), host: host.to_owned(), port: port.parse().ok()? })
}

/// What is advertised for an endpoint: an empty host becomes the machine's name, as in Kafka; a wildcard
/// address is refused.
fn advertise(endpoint: &Endpoint, host_name: &str) -> Result<HostPort, Invalid> {
    let wildcard = endpoint.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_unspecified());
    if wildcard {
        let message = format!(
            "advertised.listeners cannot use the nonroutable meta-address {}. Use a routable IP address: set \
             for instance advertised.listeners={}://{host_name}:{}",
            endpoint.host, endpoint.name, endpoint.port
        );
        return Err(Invalid::sentence("advertised.listeners", &endpoint.host, message));
    }
    let host = if endpoint.host.is_empty() { host_name.to_owned() } else { endpoint.host.clone() };
    Ok(HostPort { host, port: endpoint.port })
}

fn reject_strangers(advertised: Option<&[Endpoint]>, bound: &[Endpoint]) -> Result<(), Invalid> {
    let names = |endpoints: &[Endpoint]| {
        endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect::<Vec<_>>().join(",")
    };
    let advertised = advertised.unwrap_or_default();
    let stranger = advertised.iter().find(|told| !bound.iter().any(|endpoint| endpoint.name == told.name));
    match stranger {
        Some(stranger) => Err(Invalid::sentence(
            "advertised.listeners",
            &stranger.name,
            format!(
                "advertised.listeners listener names must be equal to or a subset of the ones defined in \
                 listeners. Found {}. The valid options based on the current configuration are {}",
                names(advertised),
                names(bound)
            ),
        )),
        None => Ok(()),
    }
}

/// The security protocol of each listener name. A controller's listener is PLAINTEXT where the map is not set.
fn protocol_map(
    values: &Values,
    controller_names: &[String],
) -> Result<BTreeMap<String, SecurityProtocol>, Invalid> {
    const KEY: &str = "listener.security.protocol.map";
    let mut map = BTreeMap::new();
    if values.set(KEY).is_none() {
        for name in controller_names {
            map.insert(name.clone(), SecurityProtocol::Plaintext);
        }
    }
    for entry in list(values.get(KEY).unwrap_or_default()) {
        let parsed = entry
            .split_once(':')
            .and_then(|(name, protocol)| Some((name.trim(), SecurityProtocol::parse(protocol.trim())?)));
        let Some((name, protocol)) = parsed else {
            let message =
                "write NAME:PROTOCOL with one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL as the protocol";
            return Err(Invalid::new(KEY, entry, message));
        };
        map.insert(name.to_uppercase(), protocol);
    }
    Ok(map)
}

fn served_protocol(
    map: &BTreeMap<String, SecurityProtocol>,
    endpoint: &Endpoint,
) -> Result<SecurityProtocol, Invalid> {
    match map.get(&endpoint.name) {
        Some(SecurityProtocol::Plaintext) => Ok(SecurityProtocol::Plaintext),
        Some(protocol) => Err(Invalid::sentence(
            "listener.security.protocol.map",
            protocol.name(),
            format!(
                "Listener {} asks for {}, which this version does not have yet. Use a PLAINTEXT listener, and \
                 keep it away from networks you do not trust",
                endpoint.name,
                protocol.name()
            ),
        )),
        None => Err(Invalid::sentence(
            "listener.security.protocol.map",
            &endpoint.name,
            format!(
                "No security protocol defined for listener {0}. Add {0}:PLAINTEXT to \
                 listener.security.protocol.map",
                endpoint.name
            ),
        )),
    }
}

fn inter_broker(values: &Values, listeners: &[ListenerConfig], first: &str) -> Result<String, Invalid> {
    let Some(name) = values.text("inter.broker.listener.name").map(|name| name.to_uppercase()) else {
        return Ok(first.to_owned());
    };
    if listeners.iter().any(|listener| listener.name == name) {
        return Ok(name);
    }
    let options: Vec<&str> = listeners.iter().map(|listener| listener.name.as_str()).collect();
    Err(Invalid::sentence(
        "inter.broker.listener.name",
        &name,
        format!(
            "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid \
             options based on currently configured listeners are {}",
            options.join(",")
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::broker_keys;

    fn resolve_lines(lines: &[(&str, &str)]) -> Result<Listeners, String> {
        let set = lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let values = Values::new(broker_keys(), &set).map_err(|invalid| invalid.to_string())?;
        resolve(&values, "machine.example").map_err(|invalid| invalid.to_string())
    }

    fn told(lines: &[(&str, &str)]) -> Vec<String> {
        let listeners = resolve_lines(lines).unwrap();
        listeners.broker.iter().map(|listener| format!("{} {}", listener.name, listener.advertised)).collect()
    }

    fn refusal(lines: &[(&str, &str)]) -> String {
        resolve_lines(lines).unwrap_err()
    }

    #[test]
    fn a_host_with_a_port_is_read_as_it_is_shown() {
        for text in ["localhost:9644", "127.0.0.1:0", "[::1]:9644"] {
            assert_eq!(HostPort::parse(text).unwrap().to_string(), text);
        }
        for text in
            ["", "9644", ":9644", "localhost", "localhost:", "localhost:65536", "::1:9644", "http://a:1"]
        {
            assert_eq!(HostPort::parse(text), None, "{text}");
        }
    }

    #[test]
    fn without_settings_localhost_is_bound_and_told() {
        assert_eq!(told(&[]), ["PLAINTEXT localhost:9092"]);
    }

    #[test]
    fn an_empty_host_is_told_as_the_machines_name() {
        assert_eq!(told(&[("listeners", "PLAINTEXT://:9092")]), ["PLAINTEXT machine.example:9092"]);
    }

    #[test]
    fn a_wildcard_is_never_told_and_the_refusal_says_what_to_set() {
        for wildcard in ["0.0.0.0", "[::]"] {
            let message = refusal(&[("listeners", &format!("PLAINTEXT://{wildcard}:9092"))]);
            assert!(message.contains("advertised.listeners=PLAINTEXT://machine.example:9092"), "{message}");
        }
        let lines =
            [("listeners", "PLAINTEXT://0.0.0.0:9092"), ("advertised.listeners", "PLAINTEXT://kafka:9092")];
        assert_eq!(told(&lines), ["PLAINTEXT kafka:9092"]);
    }

    #[test]
    fn what_is_told_without_listeners_is_bound_on_every_interface() {
        let listeners = resolve_lines(&[("advertised.listeners", "PLAINTEXT://kafka.example:9092")]).unwrap();
        assert_eq!((listeners.broker[0].host.as_str(), listeners.broker[0].port), ("", 9092));
        assert_eq!(listeners.broker[0].advertised.host, "kafka.example");
    }

    #[test]
    fn ipv6_literals_stand_in_brackets() {
        let listeners = resolve_lines(&[("listeners", "PLAINTEXT://[::1]:9093")]).unwrap();
        let listener = &listeners.broker[0];
        assert_eq!((listener.host.as_str(), listener.port), ("::1", 9093));
        assert_eq!(listener.advertised.host, "::1");
        assert_eq!(listener.advertised.to_string(), "[::1]:9093");
    }

    #[test]
    fn several_listeners_keep_their_own_addresses() {
        let lines = [
            ("listeners", "INSIDE://:19092,outside://0.0.0.0:9092,CONTROLLER://:9093"),
            ("advertised.listeners", "INSIDE://in:19092,OUTSIDE://out.example:30092"),
            ("listener.security.protocol.map", "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"),
            ("controller.listener.names", "CONTROLLER"),
            ("inter.broker.listener.name", "inside"),
        ];
        assert_eq!(told(&lines), ["INSIDE in:19092", "OUTSIDE out.example:30092"]);
        let listeners = resolve_lines(&lines).unwrap();
        assert_eq!(listeners.controller[0].name, "CONTROLLER");
        assert_eq!(listeners.inter_broker, "INSIDE");
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let check = |lines: &[(&str, &str)], part: &str| {
            let message = refusal(lines);
            assert!(message.contains(part), "{message}");
        };
        check(&[("listeners", "SSL://:9092")], "does not have yet");
        check(&[("listeners", "SASL_PLAINTEXT://:9092")], "does not have yet");
        check(&[("listeners", "INSIDE://:9092")], "No security protocol defined for listener INSIDE");
        check(&[("listeners", "PLAINTEXT//:9092")], "Unable to parse");
        check(&[("listeners", "PLAINTEXT://:99999")], "Unable to parse");
        check(&[("listeners", "PLAINTEXT://a b:9092")], "Unable to parse");
        check(&[("listeners", "PLAINTEXT://:1,PLAINTEXT://:2")], "different name");
        check(&[("listeners", "PLAINTEXT://:1,SSL://:1")], "different port");
        let stranger = [("listeners", "PLAINTEXT://:1"), ("advertised.listeners", "OTHER://x:1")];
        check(&stranger, "must be equal to or a subset");
        check(&[("inter.broker.listener.name", "OTHER")], "must be a listener name");
        check(
            &[("listeners", "C://:9093"), ("controller.listener.names", "C")],
            "at least one broker advertised listener",
        );
        check(&[("listener.security.protocol.map", "A:B")], "write NAME:PROTOCOL");
    }
}
