"""The settings that code may read, typed: `config.num_partitions` is `num.partitions`.

`docs/settings.md` tells those that code does read from those without an effect, which a test holds.
To use one more, add its line: `config` fills it from the table and a test compares the type with
the table's.
"""

from __future__ import annotations  # two hundred types that nobody evaluates at start-up


class TypedSettings:
    """Attributes only; see `config.BrokerConfig`."""

    # network
    listeners: str
    advertised_listeners: str | None
    listener_security_protocol_map: str
    inter_broker_listener_name: str | None
    security_inter_broker_protocol: str
    control_plane_listener_name: str | None
    socket_send_buffer_bytes: int
    socket_receive_buffer_bytes: int
    socket_request_max_bytes: int
    socket_listen_backlog_size: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    connections_max_idle_ms: int
    connection_failed_authentication_delay_ms: int
    max_connections: int
    max_connections_per_ip: int
    max_connections_per_ip_overrides: str
    max_connection_creation_rate: int
    queued_max_requests: int
    queued_max_request_bytes: int
    request_timeout_ms: int
    max_request_partition_size_limit: int

    # broker
    broker_id: int
    node_id: int
    broker_id_generation_enable: bool
    reserved_broker_max_id: int
    broker_rack: str | None
    auto_create_topics_enable: bool
    delete_topic_enable: bool
    num_partitions: int
    default_replication_factor: int
    controlled_shutdown_enable: bool
    controlled_shutdown_max_retries: int
    controlled_shutdown_retry_backoff_ms: int
    inter_broker_protocol_version: str
    telemetry_max_bytes: int
    password_encoder_secret: str | None
    password_encoder_old_secret: str | None
    password_encoder_cipher_algorithm: str
    password_encoder_iterations: int
    password_encoder_key_length: int
    password_encoder_keyfactory_algorithm: str | None

    # zookeeper
    zookeeper_connect: str | None
    zookeeper_session_timeout_ms: int
    zookeeper_connection_timeout_ms: int | None
    zookeeper_max_in_flight_requests: int
    zookeeper_set_acl: bool
    zookeeper_ssl_client_enable: bool
    zookeeper_ssl_keystore_location: str | None
    zookeeper_ssl_cipher_suites: tuple[str, ...] | None
    zookeeper_ssl_crl_enable: bool
    zookeeper_ssl_enabled_protocols: tuple[str, ...] | None
    zookeeper_ssl_endpoint_identification_algorithm: str
    zookeeper_ssl_keystore_password: str | None
    zookeeper_ssl_keystore_type: str | None
    zookeeper_ssl_ocsp_enable: bool
    zookeeper_ssl_protocol: str
    zookeeper_ssl_truststore_location: str | None
    zookeeper_ssl_truststore_password: str | None
    zookeeper_ssl_truststore_type: str | None

    # log
    log_dir: str
    log_dirs: str | None
    log_retention_ms: int | None
    log_retention_minutes: int | None
    log_retention_hours: int
    log_retention_check_interval_ms: int
    log_message_format_version: str
    log_cleaner_enable: bool
    log_cleaner_threads: int
    log_cleaner_min_compaction_lag_ms: int
    log_cleaner_max_compaction_lag_ms: int
    log_cleaner_backoff_ms: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_io_buffer_size: int
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_max_bytes_per_second: float
    log_flush_scheduler_interval_ms: int
    log_flush_offset_checkpoint_interval_ms: int
    log_flush_start_offset_checkpoint_interval_ms: int
    log_initial_task_delay_ms: int
    log_dir_failure_timeout_ms: int
    num_recovery_threads_per_data_dir: int
    num_replica_alter_log_dirs_threads: int | None
    message_max_bytes: int
    compression_type: str

    # replication
    min_insync_replicas: int
    unclean_leader_election_enable: bool
    auto_leader_rebalance_enable: bool
    leader_imbalance_check_interval_seconds: int
    leader_imbalance_per_broker_percentage: int
    replica_lag_time_max_ms: int
    replica_fetch_max_bytes: int
    replica_fetch_min_bytes: int
    replica_fetch_response_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_fetch_backoff_ms: int
    replica_socket_timeout_ms: int
    replica_socket_receive_buffer_bytes: int
    replica_high_watermark_checkpoint_interval_ms: int
    replica_selector_class: str | None
    num_replica_fetchers: int
    controller_socket_timeout_ms: int
    fetch_max_bytes: int
    max_incremental_fetch_session_cache_slots: int
    leader_replication_throttled_rate: int
    follower_replication_throttled_rate: int
    replica_alter_log_dirs_io_max_bytes_per_second: int

    # quotas
    quota_window_num: int
    quota_window_size_seconds: int
    replication_quota_window_num: int
    replication_quota_window_size_seconds: int
    alter_log_dirs_replication_quota_window_num: int
    alter_log_dirs_replication_quota_window_size_seconds: int
    controller_quota_window_num: int
    controller_quota_window_size_seconds: int

    # groups
    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_initial_rebalance_delay_ms: int
    group_max_size: int
    offset_metadata_max_bytes: int
    offsets_topic_num_partitions: int
    offsets_topic_replication_factor: int
    offsets_topic_segment_bytes: int
    offsets_topic_compression_codec: int
    offsets_load_buffer_size: int
    offsets_commit_required_acks: int
    offsets_commit_timeout_ms: int
    offsets_retention_minutes: int
    offsets_retention_check_interval_ms: int
    group_coordinator_rebalance_protocols: tuple[str, ...]
    group_coordinator_append_linger_ms: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_migration_policy: str
    group_consumer_regex_refresh_interval_ms: int
    group_consumer_max_size: int
    group_consumer_session_timeout_ms: int
    group_consumer_min_session_timeout_ms: int
    group_consumer_max_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_min_heartbeat_interval_ms: int
    group_consumer_max_heartbeat_interval_ms: int
    group_consumer_assignment_interval_ms: int

    # share groups
    group_share_max_size: int
    group_share_max_share_sessions: int
    group_share_session_timeout_ms: int
    group_share_min_session_timeout_ms: int
    group_share_max_session_timeout_ms: int
    group_share_heartbeat_interval_ms: int
    group_share_min_heartbeat_interval_ms: int
    group_share_max_heartbeat_interval_ms: int
    group_share_delivery_count_limit: int
    group_share_record_lock_duration_ms: int
    group_share_min_record_lock_duration_ms: int
    group_share_max_record_lock_duration_ms: int
    group_share_partition_max_record_locks: int
    share_coordinator_state_topic_num_partitions: int
    share_coordinator_state_topic_replication_factor: int
    share_coordinator_state_topic_min_isr: int
    share_coordinator_state_topic_segment_bytes: int

    # streams groups
    group_streams_max_size: int
    group_streams_session_timeout_ms: int
    group_streams_min_session_timeout_ms: int
    group_streams_max_session_timeout_ms: int
    group_streams_heartbeat_interval_ms: int
    group_streams_min_heartbeat_interval_ms: int
    group_streams_max_heartbeat_interval_ms: int
    group_streams_initial_rebalance_delay_ms: int
    group_streams_num_standby_replicas: int
    group_streams_max_standby_replicas: int

    # transactions
    transaction_max_timeout_ms: int
    transactional_id_expiration_ms: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    transaction_state_log_num_partitions: int
    transaction_state_log_replication_factor: int
    transaction_state_log_min_isr: int
    transaction_state_log_segment_bytes: int
    transaction_state_log_load_buffer_size: int
    transaction_partition_verification_enable: bool
    add_partitions_to_txn_retry_backoff_ms: int
    add_partitions_to_txn_retry_backoff_max_ms: int
    producer_id_expiration_ms: int
    producer_id_expiration_check_interval_ms: int

    # security
    authorizer_class_name: str
    super_users: str
    allow_everyone_if_no_acl_found: bool
    connections_max_reauth_ms: int
    delegation_token_master_key: str | None
    delegation_token_secret_key: str | None
    delegation_token_max_lifetime_ms: int
    delegation_token_expiry_time_ms: int
    delegation_token_expiry_check_interval_ms: int
    sasl_enabled_mechanisms: tuple[str, ...]
    sasl_mechanism_inter_broker_protocol: str
    sasl_jaas_config: str | None
    sasl_server_max_receive_size: int
    sasl_oauthbearer_jwks_endpoint_url: str | None
    sasl_oauthbearer_expected_audience: tuple[str, ...] | None
    sasl_oauthbearer_expected_issuer: str | None
    sasl_oauthbearer_clock_skew_seconds: int
    sasl_oauthbearer_scope_claim_name: str
    sasl_oauthbearer_sub_claim_name: str
    ssl_client_auth: str
    ssl_enabled_protocols: tuple[str, ...]
    ssl_cipher_suites: tuple[str, ...]
    ssl_endpoint_identification_algorithm: str
    ssl_keystore_type: str
    ssl_keystore_location: str | None
    ssl_keystore_password: str | None
    ssl_keystore_key: str | None
    ssl_keystore_certificate_chain: str | None
    ssl_key_password: str | None
    ssl_truststore_type: str
    ssl_truststore_location: str | None
    ssl_truststore_password: str | None
    ssl_truststore_certificates: str | None
    ssl_principal_mapping_rules: str

    # what this broker cannot be; checked at the start
    process_roles: tuple[str, ...]
    remote_log_storage_system_enable: bool

    # barnabas
    barnabas_http_port: int
    barnabas_http_host: str
    barnabas_http_control: bool
    barnabas_http_hosts: tuple[str, ...]
    barnabas_log_level: str
    barnabas_pose_as: str
    barnabas_registry_sync: bool
    barnabas_zookeeper_digest: str | None
    produce_validation: str
