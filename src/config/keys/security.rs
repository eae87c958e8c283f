//! Settings of authentication, encryption and authorisation.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::String, "authorizer.class.name", Some("")).used().doc(
        "Class that decides who may do what. There are no access control lists yet, so a value stops \
         the start.",
    ),
    Definition::new(Kind::Int, "connection.failed.authentication.delay.ms", Some("100"))
        .at_least(0)
        .doc("Wait before a connection is closed whose authentication failed."),
    Definition::new(Kind::Long, "connections.max.reauth.ms", Some("0"))
        .doc("Longest life of an authenticated session before it must authenticate again; 0 for no limit."),
    Definition::new(Kind::Long, "delegation.token.expiry.check.interval.ms", Some("3600000"))
        .at_least(1)
        .doc("Time between two searches for delegation tokens that have run out."),
    Definition::new(Kind::Long, "delegation.token.expiry.time.ms", Some("86400000"))
        .at_least(1)
        .doc("How long a delegation token is valid before it must be renewed."),
    Definition::new(Kind::Long, "delegation.token.max.lifetime.ms", Some("604800000"))
        .at_least(1)
        .doc("How long a delegation token can be renewed at most."),
    Definition::new(Kind::Password, "delegation.token.secret.key", None)
        .doc("Secret from which delegation tokens are made, the same on all brokers."),
    Definition::new(Kind::List, "early.start.listeners", None)
        .doc("Listeners that open before the authorizer is ready."),
    Definition::new(
        Kind::Class,
        "principal.builder.class",
        Some("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"),
    )
    .mode(Mode::PerBroker)
    .doc("Java class that says who a connection is."),
    Definition::new(Kind::Class, "sasl.client.callback.handler.class", None)
        .doc("Java class that gives this broker's credentials to others."),
    Definition::new(Kind::List, "sasl.enabled.mechanisms", Some("GSSAPI"))
        .mode(Mode::PerBroker)
        .doc("SASL mechanisms of a listener."),
    Definition::new(Kind::Password, "sasl.jaas.config", None)
        .mode(Mode::PerBroker)
        .doc("Credentials and login module in the form of JAAS."),
    Definition::new(Kind::String, "sasl.kerberos.kinit.cmd", Some("/usr/bin/kinit"))
        .mode(Mode::PerBroker)
        .doc("Path of kinit."),
    Definition::new(Kind::Long, "sasl.kerberos.min.time.before.relogin", Some("60000"))
        .mode(Mode::PerBroker)
        .doc("Shortest time between two logins to Kerberos."),
    Definition::new(Kind::List, "sasl.kerberos.principal.to.local.rules", Some("DEFAULT"))
        .mode(Mode::PerBroker)
        .doc("How a Kerberos principal becomes a short name."),
    Definition::new(Kind::String, "sasl.kerberos.service.name", None)
        .mode(Mode::PerBroker)
        .doc("The principal's name under which Kafka runs."),
    Definition::new(Kind::Double, "sasl.kerberos.ticket.renew.jitter", Some("0.05"))
        .mode(Mode::PerBroker)
        .doc("Share of the renewal time that is random."),
    Definition::new(Kind::Double, "sasl.kerberos.ticket.renew.window.factor", Some("0.8"))
        .mode(Mode::PerBroker)
        .doc("Share of a ticket's life after which it is renewed."),
    Definition::new(Kind::Class, "sasl.login.callback.handler.class", None)
        .doc("Java class that gives credentials to a login."),
    Definition::new(Kind::Class, "sasl.login.class", None).doc("Java class that logs in."),
    Definition::new(Kind::Int, "sasl.login.connect.timeout.ms", None)
        .doc("How long a connection to an identity provider may take; for OAUTHBEARER."),
    Definition::new(Kind::Int, "sasl.login.read.timeout.ms", None)
        .doc("How long an identity provider may take to answer; for OAUTHBEARER."),
    Definition::new(Kind::Short, "sasl.login.refresh.buffer.seconds", Some("300"))
        .mode(Mode::PerBroker)
        .doc("Time before a credential's end that is kept free when it is renewed."),
    Definition::new(Kind::Short, "sasl.login.refresh.min.period.seconds", Some("60"))
        .mode(Mode::PerBroker)
        .doc("Shortest time before a credential is renewed."),
    Definition::new(Kind::Double, "sasl.login.refresh.window.factor", Some("0.8"))
        .mode(Mode::PerBroker)
        .doc("Share of a credential's life after which it is renewed."),
    Definition::new(Kind::Double, "sasl.login.refresh.window.jitter", Some("0.05"))
        .mode(Mode::PerBroker)
        .doc("Share of the renewal time that is random."),
    Definition::new(Kind::Long, "sasl.login.retry.backoff.max.ms", Some("10000"))
        .doc("Longest pause between attempts to log in; for OAUTHBEARER."),
    Definition::new(Kind::Long, "sasl.login.retry.backoff.ms", Some("100"))
        .doc("First pause between attempts to log in; for OAUTHBEARER."),
    Definition::new(Kind::String, "sasl.mechanism.controller.protocol", Some("GSSAPI"))
        .doc("SASL mechanism towards controllers."),
    Definition::new(Kind::String, "sasl.mechanism.inter.broker.protocol", Some("GSSAPI"))
        .mode(Mode::PerBroker)
        .doc("SASL mechanism between brokers."),
    Definition::new(Kind::Boolean, "sasl.oauthbearer.allow.unverified.audience", Some("false"))
        .doc("Whether a token's audience may go unchecked."),
    Definition::new(Kind::Boolean, "sasl.oauthbearer.allow.unverified.issuer", Some("false"))
        .doc("Whether a token's issuer may go unchecked."),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.algorithm", Some("RS256"))
        .range(Range::OneOfIgnoringCase(&["ES256", "RS256"]))
        .doc("Algorithm with which an assertion is signed."),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.claim.aud", None)
        .doc("Audience of an assertion."),
    Definition::new(Kind::Int, "sasl.oauthbearer.assertion.claim.exp.seconds", Some("300"))
        .between(0, 86400)
        .doc("How long an assertion is valid."),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.claim.iss", None)
        .doc("Issuer of an assertion."),
    Definition::new(Kind::Boolean, "sasl.oauthbearer.assertion.claim.jti.include", Some("false"))
        .doc("Whether an assertion has an id of its own."),
    Definition::new(Kind::Int, "sasl.oauthbearer.assertion.claim.nbf.seconds", Some("60"))
        .between(0, 3600)
        .doc("How long before its making an assertion is valid."),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.claim.sub", None)
        .doc("Subject of an assertion."),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.file", None)
        .doc("File with a ready assertion."),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.private.key.file", None)
        .doc("File with the key that signs assertions."),
    Definition::new(Kind::Password, "sasl.oauthbearer.assertion.private.key.passphrase", None)
        .doc("Passphrase of that key."),
    Definition::new(Kind::String, "sasl.oauthbearer.assertion.template.file", None)
        .doc("File with further claims and headers of an assertion."),
    Definition::new(Kind::String, "sasl.oauthbearer.client.credentials.client.id", None)
        .doc("Name of this client at the identity provider."),
    Definition::new(Kind::Password, "sasl.oauthbearer.client.credentials.client.secret", None)
        .doc("Secret of this client at the identity provider."),
    Definition::new(Kind::Int, "sasl.oauthbearer.clock.skew.seconds", Some("30"))
        .doc("By how much clocks may differ when a token is checked."),
    Definition::new(Kind::List, "sasl.oauthbearer.expected.audience", Some(""))
        .doc("Audiences of which a token must name one."),
    Definition::new(Kind::String, "sasl.oauthbearer.expected.issuer", None)
        .doc("Issuer that a token must name."),
    Definition::new(Kind::Long, "sasl.oauthbearer.jwks.endpoint.refresh.ms", Some("3600000"))
        .doc("How often the keys of the identity provider are fetched again."),
    Definition::new(Kind::Long, "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", Some("10000"))
        .doc("Longest pause between attempts to fetch keys."),
    Definition::new(Kind::Long, "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", Some("100"))
        .doc("First pause between attempts to fetch keys."),
    Definition::new(Kind::String, "sasl.oauthbearer.jwks.endpoint.url", None)
        .doc("Where the keys of the identity provider are."),
    Definition::new(
        Kind::Class,
        "sasl.oauthbearer.jwt.retriever.class",
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
    )
    .doc("Java class that fetches tokens."),
    Definition::new(
        Kind::Class,
        "sasl.oauthbearer.jwt.validator.class",
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
    )
    .doc("Java class that checks tokens."),
    Definition::new(Kind::String, "sasl.oauthbearer.scope", None).doc("Scope that is asked for."),
    Definition::new(Kind::String, "sasl.oauthbearer.scope.claim.name", Some("scope"))
        .doc("Claim in which a token names its scope."),
    Definition::new(Kind::String, "sasl.oauthbearer.sub.claim.name", Some("sub"))
        .doc("Claim in which a token names its subject."),
    Definition::new(Kind::String, "sasl.oauthbearer.token.endpoint.url", None)
        .doc("Where tokens are issued."),
    Definition::new(Kind::Class, "sasl.server.callback.handler.class", None)
        .doc("Java class that checks credentials."),
    Definition::new(Kind::Int, "sasl.server.max.receive.size", Some("524288"))
        .doc("Largest message of a SASL exchange."),
    Definition::new(Kind::String, "security.inter.broker.protocol", Some("PLAINTEXT"))
        .range(Range::OneOf(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]))
        .doc("Security protocol between brokers where no listener is named for it."),
    Definition::new(Kind::String, "security.providers", None).doc("Java classes that provide algorithms."),
    Definition::new(Kind::Boolean, "ssl.allow.dn.changes", Some("false"))
        .doc("Whether a new certificate may have another name."),
    Definition::new(Kind::Boolean, "ssl.allow.san.changes", Some("false"))
        .doc("Whether a new certificate may have other alternative names."),
    Definition::new(Kind::List, "ssl.cipher.suites", Some(""))
        .mode(Mode::PerBroker)
        .doc("Cipher suites that may be used."),
    Definition::new(Kind::String, "ssl.client.auth", Some("none"))
        .range(Range::OneOf(&["required", "requested", "none"]))
        .mode(Mode::PerBroker)
        .doc("Whether clients must show a certificate."),
    Definition::new(Kind::List, "ssl.enabled.protocols", Some("TLSv1.2,TLSv1.3"))
        .mode(Mode::PerBroker)
        .doc("TLS versions that may be used."),
    Definition::new(Kind::String, "ssl.endpoint.identification.algorithm", Some("https"))
        .mode(Mode::PerBroker)
        .doc("How a server's name is checked against its certificate."),
    Definition::new(Kind::Class, "ssl.engine.factory.class", None)
        .mode(Mode::PerBroker)
        .doc("Java class that makes TLS engines."),
    Definition::new(Kind::Password, "ssl.key.password", None)
        .mode(Mode::PerBroker)
        .doc("Password of the private key."),
    Definition::new(Kind::String, "ssl.keymanager.algorithm", Some("SunX509"))
        .mode(Mode::PerBroker)
        .doc("Java algorithm of the key manager."),
    Definition::new(Kind::Password, "ssl.keystore.certificate.chain", None)
        .mode(Mode::PerBroker)
        .doc("Certificates in PEM form."),
    Definition::new(Kind::Password, "ssl.keystore.key", None)
        .mode(Mode::PerBroker)
        .doc("Private key in PEM form."),
    Definition::new(Kind::String, "ssl.keystore.location", None)
        .mode(Mode::PerBroker)
        .doc("File with the private key and its certificates."),
    Definition::new(Kind::Password, "ssl.keystore.password", None)
        .mode(Mode::PerBroker)
        .doc("Password of that file."),
    Definition::new(Kind::String, "ssl.keystore.type", Some("JKS"))
        .mode(Mode::PerBroker)
        .doc("Format of that file."),
    Definition::new(Kind::String, "ssl.principal.mapping.rules", Some("DEFAULT"))
        .doc("How a certificate's name becomes a principal."),
    Definition::new(Kind::String, "ssl.protocol", Some("TLSv1.3"))
        .mode(Mode::PerBroker)
        .doc("TLS version to prefer."),
    Definition::new(Kind::String, "ssl.provider", None).mode(Mode::PerBroker).doc("Java provider of TLS."),
    Definition::new(Kind::String, "ssl.secure.random.implementation", None)
        .mode(Mode::PerBroker)
        .doc("Java source of random numbers."),
    Definition::new(Kind::String, "ssl.trustmanager.algorithm", Some("PKIX"))
        .mode(Mode::PerBroker)
        .doc("Java algorithm of the trust manager."),
    Definition::new(Kind::Password, "ssl.truststore.certificates", None)
        .mode(Mode::PerBroker)
        .doc("Trusted certificates in PEM form."),
    Definition::new(Kind::String, "ssl.truststore.location", None)
        .mode(Mode::PerBroker)
        .doc("File with the trusted certificates."),
    Definition::new(Kind::Password, "ssl.truststore.password", None)
        .mode(Mode::PerBroker)
        .doc("Password of that file."),
    Definition::new(Kind::String, "ssl.truststore.type", Some("JKS"))
        .mode(Mode::PerBroker)
        .doc("Format of that file."),
];
