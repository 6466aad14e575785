"""Authorization, SASL and delegation tokens."""

TABLE = """
authorizer.class.name string "" low [non-null]
    The class that decides who may do what; empty allows everybody everything.
principal.builder.class class
  org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder medium per-broker
    The class that names the user behind a connection.
connections.max.reauth.ms long 0 medium
    Longest life of a SASL session before the client must authenticate again; 0 for no limit.
security.providers string null low
    Java classes that register security providers.
delegation.token.master.key password null medium 3.9-only
    The older name of delegation.token.secret.key.
delegation.token.secret.key password null medium
    Secret from which delegation tokens are made; unset, there are none. All brokers share it.
delegation.token.max.lifetime.ms long 604800000 medium [1..]
    Age beyond which a delegation token cannot be renewed.
delegation.token.expiry.time.ms long 86400000 medium [1..]
    How long a delegation token is good for before it must be renewed.
delegation.token.expiry.check.interval.ms long 3600000 low [1..]
    How often expired delegation tokens are removed.
sasl.enabled.mechanisms list GSSAPI medium per-broker
  4.4: [no-duplicates]
    SASL mechanisms offered to clients.
sasl.mechanism.inter.broker.protocol string GSSAPI medium per-broker
    SASL mechanism between brokers.
sasl.mechanism.controller.protocol string GSSAPI high
    SASL mechanism towards KRaft controllers.
sasl.jaas.config password null medium per-broker
    Login of one listener and mechanism in JAAS form.
sasl.server.callback.handler.class class null medium
    A class that checks the credentials of clients.
sasl.client.callback.handler.class class null medium
    A class that supplies this broker's own credentials.
sasl.login.callback.handler.class class null medium
    A class that supplies what a login asks for.
sasl.login.class class null medium
    A class that carries out logins.
sasl.server.max.receive.size int 524288 medium
    Largest SASL token accepted before authentication.
sasl.login.connect.timeout.ms int null low
    Limit for connecting to an external identity provider.
sasl.login.read.timeout.ms int null low
    Limit for reading from an external identity provider.
sasl.login.retry.backoff.ms long 100 low
    First pause after a failed attempt at an identity provider.
sasl.login.retry.backoff.max.ms long 10000 low
    Longest pause between attempts at an identity provider.
sasl.login.refresh.window.factor double 0.8 medium per-broker
    Share of a credential's life after which it is renewed.
sasl.login.refresh.window.jitter double 0.05 medium per-broker
    Random share added to that time.
sasl.login.refresh.min.period.seconds short 60 medium per-broker
    Least wait before a credential is renewed.
sasl.login.refresh.buffer.seconds short 300 medium per-broker
    Time left before a credential's end by which it should be renewed.
sasl.kerberos.service.name string null medium per-broker
    Kerberos name this broker runs as.
sasl.kerberos.kinit.cmd string /usr/bin/kinit medium per-broker
    Path of kinit.
sasl.kerberos.ticket.renew.window.factor double 0.8 medium per-broker
    Share of a ticket's life after which it is renewed.
sasl.kerberos.ticket.renew.jitter double 0.05 medium per-broker
    Random share added to that time.
sasl.kerberos.min.time.before.relogin long 60000 medium per-broker
    Pause between two Kerberos logins, in milliseconds.
sasl.kerberos.principal.to.local.rules list DEFAULT medium per-broker
  4.4: [no-duplicates]
    Rules that turn Kerberos principals into user names, tried in order.
"""
