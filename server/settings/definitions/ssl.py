"""TLS. Each of these may be set for one listener, as `listener.name.<name>.ssl.…`."""

TABLE = """
ssl.protocol string TLSv1.3 medium per-broker
    TLS version of a new context.
ssl.enabled.protocols list TLSv1.2,TLSv1.3 medium per-broker
  4.4: [no-duplicates]
    TLS versions allowed on connections.
ssl.provider string null medium per-broker
    Java security provider for TLS.
ssl.cipher.suites list "" medium per-broker
  4.4: [no-duplicates]
    Cipher suites allowed; empty for the library's own choice.
ssl.client.auth string none medium per-broker [required|requested|none]
    Whether clients must (required), may (requested) or need not (none) show a certificate.
ssl.endpoint.identification.algorithm string https low per-broker
    Check of the peer's host name against its certificate; empty turns it off.
ssl.keystore.type string JKS medium per-broker
    Format of the keystore: JKS, PKCS12 or PEM.
ssl.keystore.location string null medium per-broker
    File with this broker's key and certificates.
ssl.keystore.password password null medium per-broker
    Password of the keystore.
ssl.keystore.key password null medium per-broker
    Private key in PEM form, instead of a file.
ssl.keystore.certificate.chain password null medium per-broker
    Certificates that belong to ssl.keystore.key, in PEM form.
ssl.key.password password null medium per-broker
    Password of the private key.
ssl.truststore.type string JKS medium per-broker
    Format of the truststore: JKS, PKCS12 or PEM.
ssl.truststore.location string null medium per-broker
    File with the certificates that peers are checked against.
ssl.truststore.password password null medium per-broker
    Password of the truststore.
ssl.truststore.certificates password null medium per-broker
    Certificates that peers are checked against, in PEM form, instead of a file.
ssl.keymanager.algorithm string SunX509 medium per-broker
    Java's key manager.
ssl.trustmanager.algorithm string PKIX medium per-broker
    Java's trust manager.
ssl.secure.random.implementation string null low per-broker
    Java's source of random numbers for TLS.
ssl.engine.factory.class class null low per-broker
    A class that builds TLS engines.
ssl.principal.mapping.rules string DEFAULT low
    Rules that turn certificate names into user names, tried in order.
ssl.allow.dn.changes boolean false low
    Let a new keystore carry another distinguished name.
ssl.allow.san.changes boolean false low
    Let a new keystore lack alternative names of the old one.
"""
