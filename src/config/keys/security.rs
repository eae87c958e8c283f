//! Settings of authentication, encryption and authorisation.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::String, "authorizer.class.name", Some("")).doc(""),
    Definition::new(Kind::Int, "connection.failed.authentication.delay.ms", Some("100")).at_least(0).doc(""),
    Definition::new(Kind::Long, "connections.max.reauth.ms", Some("0")).doc(""),
    Definition::new(Kind::Long, "delegation.token.expiry.check.interval.ms", Some("3600000"))
        .at_least(1)
        .doc(""),
    Definition::new(Kind::Long, "delegation.token.expiry.time.ms", Some("86400000")).at_least(1).doc(""),
    Definition::new(Kind::Long, "delegation.token.max.lifetime.ms", Some("604800000")).at_least(1).doc(""),
    Definition::new(Kind::Password, "delegation.token.secret.key", None).doc(""),
    Definition::new(Kind::List, "early.start.listeners", None).doc(""),
    Definition::new(
        Kind::Class,
        "principal.builder.class",
        Some("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"),
    )
    .mode(Mode::PerBroker)
    .doc(""),
    Definition::new(Kind::Class, "sasl.client.callback.handler.class", None).doc(""),
    Definition::new(Kind::List, "sasl.enabled.mechanisms", Some("GSSAPI")).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::Password, "sasl.jaas.config", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "sasl.kerberos.kinit.cmd", Some("/usr/bin/kinit"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Long, "sasl.kerberos.min.time.before.relogin", Some("60000"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::List, "sasl.kerberos.principal.to.local.rules", Some("DEFAULT"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::String, "sasl.kerberos.service.name", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::Double, "sasl.kerberos.ticket.renew.jitter", Some("0.05"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Double, "sasl.kerberos.ticket.renew.window.factor", Some("0.8"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Class, "sasl.login.callback.handler.class", None).doc(""),
    Definition::new(Kind::Class, "sasl.login.class", None).doc(""),
    Definition::new(Kind::Int, "sasl.login.connect.timeout.ms", None).doc(""),
    Definition::new(Kind::Int, "sasl.login.read.timeout.ms", None).doc(""),
    Definition::new(Kind::Short, "sasl.login.refresh.buffer.seconds", Some("300"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Short, "sasl.login.refresh.min.period.seconds", Some("60"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Double, "sasl.login.refresh.window.factor", Some("0.8"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Double, "sasl.login.refresh.window.jitter", Some("0.05"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Long, "sasl.login.retry.backoff.max.ms", Some("10000")).doc(""),
    Definition::new(Kind::Long, "sasl.login.retry.backoff.ms", Some("100")).doc(""),
    Definition::new(Kind::String, "sasl.mechanism.controller.protocol", Some("GSSAPI")).doc(""),
    Definition::new(Kind::String, "sasl.mechanism.inter.broker.protocol", Some("GSSAPI"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Boolean, "sasl.oauthbearer.allow.unverified.audience", Some("false")).doc(""),
    Definition::new(Kind::Boolean, "sasl.oauthbearer.allow.unverified.issuer", Some("false")).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.algorithm", Some("RS256"))
        .range(Range::OneOfIgnoringCase(&["ES256", "RS256"]))
        .doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.claim.aud", None).doc(""),
    Definition::new(Kind::Int, "sasl.oauthbearer.assertion.claim.exp.seconds", Some("300"))
        .between(0, 86400)
        .doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.claim.iss", None).doc(""),
    Definition::new(Kind::Boolean, "sasl.oauthbearer.assertion.claim.jti.include", Some("false")).doc(""),
    Definition::new(Kind::Int, "sasl.oauthbearer.assertion.claim.nbf.seconds", Some("60"))
        .between(0, 3600)
        .doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.claim.sub", None).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.file", None).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.private.key.file", None).doc(""),
    Definition::new(Kind::Password, "sasl.oauthbearer.assertion.private.key.passphrase", None).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.template.file", None).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.client.credentials.client.id", None).doc(""),
    Definition::new(Kind::Password, "sasl.oauthbearer.client.credentials.client.secret", None).doc(""),
    Definition::new(Kind::Int, "sasl.oauthbearer.clock.skew.seconds", Some("30")).doc(""),
    Definition::new(Kind::List, "sasl.oauthbearer.expected.audience", Some("")).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.expected.issuer", None).doc(""),
    Definition::new(Kind::Long, "sasl.oauthbearer.jwks.endpoint.refresh.ms", Some("3600000")).doc(""),
    Definition::new(Kind::Long, "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", Some("10000")).doc(""),
    Definition::new(Kind::Long, "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", Some("100")).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.jwks.endpoint.url", None).doc(""),
    Definition::new(
        Kind::Class,
        "sasl.oauthbearer.jwt.retriever.class",
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
    )
    .doc(""),
    Definition::new(
        Kind::Class,
        "sasl.oauthbearer.jwt.validator.class",
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
    )
    .doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.scope", None).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.scope.claim.name", Some("scope")).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.sub.claim.name", Some("sub")).doc(""),
    Definition::new(Kind::String, "sasl.oauthbearer.token.endpoint.url", None).doc(""),
    Definition::new(Kind::Class, "sasl.server.callback.handler.class", None).doc(""),
    Definition::new(Kind::Int, "sasl.server.max.receive.size", Some("524288")).doc(""),
    Definition::new(Kind::String, "security.inter.broker.protocol", Some("PLAINTEXT"))
        .range(Range::OneOf(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]))
        .doc(""),
    Definition::new(Kind::String, "security.providers", None).doc(""),
    Definition::new(Kind::Boolean, "ssl.allow.dn.changes", Some("false")).doc(""),
    Definition::new(Kind::Boolean, "ssl.allow.san.changes", Some("false")).doc(""),
    Definition::new(Kind::List, "ssl.cipher.suites", Some("")).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.client.auth", Some("none"))
        .range(Range::OneOf(&["required", "requested", "none"]))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::List, "ssl.enabled.protocols", Some("TLSv1.2,TLSv1.3"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::String, "ssl.endpoint.identification.algorithm", Some("https"))
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Class, "ssl.engine.factory.class", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::Password, "ssl.key.password", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.keymanager.algorithm", Some("SunX509")).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::Password, "ssl.keystore.certificate.chain", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::Password, "ssl.keystore.key", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.keystore.location", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::Password, "ssl.keystore.password", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.keystore.type", Some("JKS")).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.principal.mapping.rules", Some("DEFAULT")).doc(""),
    Definition::new(Kind::String, "ssl.protocol", Some("TLSv1.3")).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.provider", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.secure.random.implementation", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.trustmanager.algorithm", Some("PKIX")).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::Password, "ssl.truststore.certificates", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.truststore.location", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::Password, "ssl.truststore.password", None).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::String, "ssl.truststore.type", Some("JKS")).mode(Mode::PerBroker).doc(""),
];
