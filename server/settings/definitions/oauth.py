"""SASL/OAUTHBEARER."""

TABLE = """
sasl.oauthbearer.token.endpoint.url string null medium
    Where tokens are issued.
sasl.oauthbearer.jwks.endpoint.url string null medium
    Where the keys that sign tokens are published.
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000 low
    How often those keys are fetched again.
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100 low
    First pause after a failed fetch of the keys.
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000 low
    Longest pause between such attempts.
sasl.oauthbearer.clock.skew.seconds int 30 low
    Difference of clocks put up with when a token's times are checked.
sasl.oauthbearer.expected.audience list null low
  4.4: default="" importance=high [no-duplicates]
    Audiences of which a token must name one.
sasl.oauthbearer.expected.issuer string null low
  4.4: importance=high
    The issuer that a token must name.
sasl.oauthbearer.scope.claim.name string scope low
    The claim that holds a token's scope.
sasl.oauthbearer.sub.claim.name string sub low
    The claim that holds a token's subject.
sasl.oauthbearer.scope string null medium 4.4-only
    Scope asked for when a token is requested.
sasl.oauthbearer.allow.unverified.audience boolean false medium 4.4-only
    Take tokens although no expected audience is configured.
sasl.oauthbearer.allow.unverified.issuer boolean false medium 4.4-only
    Take tokens although no expected issuer is configured.
sasl.oauthbearer.client.credentials.client.id string null medium 4.4-only
    Client id for requesting tokens.
sasl.oauthbearer.client.credentials.client.secret password null medium 4.4-only
    Client secret for requesting tokens.
sasl.oauthbearer.jwt.retriever.class class
  org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever medium 4.4-only
    The class that obtains tokens.
sasl.oauthbearer.jwt.validator.class class
  org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator medium 4.4-only
    The class that checks tokens.
sasl.oauthbearer.assertion.algorithm string RS256 medium 4.4-only [~ES256|RS256]
    Signature of the assertion sent for a token.
sasl.oauthbearer.assertion.claim.aud string null medium 4.4-only
    Audience in that assertion.
sasl.oauthbearer.assertion.claim.iss string null medium 4.4-only
    Issuer in that assertion.
sasl.oauthbearer.assertion.claim.sub string null medium 4.4-only
    Subject in that assertion.
sasl.oauthbearer.assertion.claim.exp.seconds int 300 low 4.4-only [0..86400]
    Life of that assertion.
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 low 4.4-only [0..3600]
    How long before now that assertion begins to hold.
sasl.oauthbearer.assertion.claim.jti.include boolean false medium 4.4-only
    Give each assertion an id of its own.
sasl.oauthbearer.assertion.file string null medium 4.4-only
    File with a ready-made assertion.
sasl.oauthbearer.assertion.private.key.file string null medium 4.4-only
    File with the key that signs assertions.
sasl.oauthbearer.assertion.private.key.passphrase password null medium 4.4-only
    Passphrase of that key.
sasl.oauthbearer.assertion.template.file string null medium 4.4-only
    File with fixed headers and claims of assertions.
"""
