// The figures of the component that stock models, ingress-nginx v1.15.1, its last release; each says
// where in its source it stands. Stock is a model: what is not named here or in the files beside it
// (TLS, annotations, canaries, TCP and UDP services, the admission webhook) it does not have.

export const ingressNginx = {
  /** `--sync-rate-limit`, pkg/flags/flags.go: one sync in 3.3 s. */
  syncsPerSecond: 0.3,
  /** NewTokenBucketRateLimiter in internal/ingress/controller/nginx.go. */
  syncBurst: 1,
  /** syncIngress in controller.go: the first sync lets nginx begin to listen. */
  firstSyncPauseMs: 1_000,
  /** `--dynamic-configuration-retries` 15 and the first try; the pauses of syncIngress. */
  pushTries: 16,
  pushPauseMs: 1_000,
  pushPauseFactor: 1.3,
  pushPauseJitter: 0.1,
  /** BACKENDS_SYNC_INTERVAL in rootfs/etc/nginx/lua/balancer.lua: each worker looks this often. */
  backendPollMs: 1_000,
  /** ProxyConnectTimeout, ProxySendTimeout and ProxyReadTimeout in config/config.go. */
  connectTimeoutMs: 5_000,
  readTimeoutMs: 60_000,
  /** ProxyNextUpstream "error timeout" and ProxyNextUpstreamTries in config/config.go. */
  upstreamTries: 3,
  /** WorkerShutdownTimeout in config/config.go. */
  workerShutdownTimeoutMs: 240_000,
  /** UpstreamKeepalive* in config/config.go. */
  keepaliveConnections: 320,
  keepaliveTimeoutMs: 60_000,
  keepaliveRequests: 10_000,
  /** `--election-id`; pkg/flags/flags.go. */
  electionId: "ingress-controller-leader",
  /** `--election-ttl`, in older releases the `ttl` of setupLeaderElection in controller/status.go. */
  electionTtlMs: 30_000,
  /** UpdateInterval, `--status-update-interval`; internal/ingress/status/status.go. */
  statusUpdateIntervalMs: 60_000,
  /** updateStatus in status.go has a pool of so many. */
  statusWriters: 10,
} as const;
