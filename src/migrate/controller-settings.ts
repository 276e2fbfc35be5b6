// The settings of the whole controller: its ConfigMap and its flags. Each row has ingress-nginx's
// default (config.go of 1.15.1) and what Lockstep does. A setting that only tunes the process or its log
// changes no answer and is in one list.
import { Buffer } from "node:buffer";

/** How Lockstep would be started, as far as answers depend on it. */
export interface LockstepSettings {
  readonly hstsMaxAgeSeconds: number | undefined;
  readonly sslRedirect: boolean;
  readonly trustedProxies: readonly string[];
  readonly proxyProtocol: boolean;
  readonly hasDefaultCertificate: boolean;
  readonly hasDefaultBackend: boolean;
  readonly publishesAddress: boolean;
}

export type SettingVerdict = "same" | "differs" | "refused";

export interface CheckedSetting {
  readonly name: string;
  readonly value: string;
  /** Whether it is set; else it is a default of ingress-nginx. */
  readonly isSet: boolean;
  readonly verdict: SettingVerdict;
  /** The effect in Lockstep, and its setting for it where there is one. */
  readonly lockstep: string;
}

interface Row {
  readonly usual: string;
  readonly lockstep: string | ((lockstep: LockstepSettings) => string);
  /** Whether Lockstep does the same with this value. */
  readonly same: (value: string, lockstep: LockstepSettings) => boolean;
  /** A protection or a feature that is not there at all, once it is set. */
  readonly refused?: true;
}

const off = (value: string) => value === "" || value === "false";
const is =
  (...values: readonly string[]) =>
  (value: string) =>
    values.includes(value.toLowerCase());
const none = (refused = true): Row => ({
  usual: "",
  lockstep: "not supported",
  same: off,
  ...(refused && { refused: true as const }),
});

const rows: Readonly<Record<string, Row>> = {
  "proxy-body-size": {
    usual: "1m",
    lockstep: "100m; for another size use the annotation proxy-body-size",
    same: is("100m", "104857600"),
  },
  "proxy-connect-timeout": {
    usual: "5",
    lockstep: "0.5 s; for another time use the annotation proxy-connect-timeout",
    same: is("500ms"),
  },
  "proxy-read-timeout": {
    usual: "60",
    lockstep: "60 s; for another time use the annotation proxy-read-timeout",
    same: is("60", "60s"),
  },
  "proxy-send-timeout": {
    usual: "60",
    lockstep: "60 s; for another time use the annotation proxy-send-timeout",
    same: is("60", "60s"),
  },
  "proxy-next-upstream": {
    usual: "error timeout",
    lockstep: "error timeout",
    same: is("error timeout", "timeout error"),
  },
  "proxy-next-upstream-tries": {
    usual: "3",
    lockstep: "3; for another number use the annotation proxy-next-upstream-tries",
    same: is("3"),
  },
  "proxy-next-upstream-timeout": {
    usual: "0",
    lockstep: "5 s for all tries of a request",
    same: is("5", "5s"),
  },
  "retry-non-idempotent": {
    usual: "false",
    lockstep: "a request that is not idempotent is retried only after a failed connection",
    same: off,
  },
  hsts: {
    usual: "true",
    lockstep: ({ hstsMaxAgeSeconds }) =>
      hstsMaxAgeSeconds === undefined
        ? "no header; --hsts-max-age 31536000 sends it, without includeSubDomains"
        : `max-age=${hstsMaxAgeSeconds} without includeSubDomains`,
    same: (value, { hstsMaxAgeSeconds }) =>
      (value === "false") === (hstsMaxAgeSeconds === undefined),
  },
  "hsts-max-age": {
    usual: "31536000",
    lockstep: ({ hstsMaxAgeSeconds }) => `--hsts-max-age, now ${hstsMaxAgeSeconds ?? "not set"}`,
    same: (value, { hstsMaxAgeSeconds }) =>
      hstsMaxAgeSeconds === undefined || value === String(hstsMaxAgeSeconds),
  },
  "hsts-include-subdomains": {
    usual: "true",
    lockstep: "never; only endpoints can send includeSubDomains",
    same: (value, { hstsMaxAgeSeconds }) => value === "false" || hstsMaxAgeSeconds === undefined,
  },
  "hsts-preload": { usual: "false", lockstep: "never", same: off },
  "ssl-redirect": {
    usual: "true",
    lockstep: ({ sslRedirect }) => `${sslRedirect}; --no-ssl-redirect switches it off`,
    same: (value, { sslRedirect }) => value === String(sslRedirect),
  },
  "force-ssl-redirect": {
    usual: "false",
    lockstep: "by the annotation force-ssl-redirect only",
    same: off,
  },
  "preserve-trailing-slash": {
    usual: "false",
    lockstep: "redirects to https keep a trailing slash",
    same: is("true"),
  },
  "http-redirect-code": { usual: "308", lockstep: "308", same: is("308") },
  "no-tls-redirect-locations": {
    usual: "/.well-known/acme-challenge",
    lockstep: "redirected as every other path; ACME follows redirects to https",
    same: is(""),
  },
  "limit-req-status-code": { usual: "503", lockstep: "429", same: is("429") },
  "limit-conn-status-code": {
    usual: "503",
    lockstep: "limit-connections is not supported",
    same: is("503"),
  },
  "proxy-buffering": {
    usual: "off",
    lockstep: "on: a slow client does not hold the endpoint; events need X-Accel-Buffering: no",
    same: is("on"),
  },
  "proxy-request-buffering": {
    usual: "on",
    lockstep: "on; the annotation proxy-request-buffering switches it off",
    same: is("on"),
  },
  "proxy-buffer-size": {
    usual: "4k",
    lockstep: "16k; 128k with the annotation proxy-buffer-size",
    same: is("4k", "8k", "16k"),
  },
  "client-header-timeout": { usual: "60", lockstep: "30 s", same: is("30", "30s") },
  "client-body-timeout": { usual: "60", lockstep: "60 s", same: is("60", "60s") },
  "large-client-header-buffers": {
    usual: "4 8k",
    lockstep: "4 buffers of 16k",
    same: is("4 8k", "4 16k"),
  },
  "load-balance": {
    usual: "",
    lockstep: "round_robin; by the annotation load-balance",
    same: is("", "round_robin"),
  },
  "upstream-hash-by": { usual: "", lockstep: "by the annotation upstream-hash-by only", same: off },
  "ssl-protocols": {
    usual: "TLSv1.2 TLSv1.3",
    lockstep: "TLSv1.2 TLSv1.3",
    same: is("tlsv1.2 tlsv1.3"),
  },
  "ssl-ciphers": {
    usual: "",
    lockstep: "ECDHE with AES-GCM or ChaCha20; no DHE",
    same: off,
  },
  "ssl-reject-handshake": {
    usual: "false",
    lockstep: "a name without a certificate gets the default certificate",
    same: off,
  },
  "use-forwarded-headers": {
    usual: "false",
    lockstep: ({ trustedProxies }) =>
      trustedProxies.length === 0
        ? "no; --trusted-proxy NETWORK trusts the headers of a network"
        : `from ${trustedProxies.join(", ")}`,
    same: (value, { trustedProxies }) => (value === "true") === trustedProxies.length > 0,
  },
  "enable-real-ip": {
    usual: "false",
    lockstep: "--trusted-proxy NETWORK",
    same: (value, { trustedProxies }) => off(value) || trustedProxies.length > 0,
  },
  "compute-full-forwarded-for": {
    usual: "false",
    lockstep: "always, for networks of --trusted-proxy",
    same: (value, { trustedProxies }) => off(value) || trustedProxies.length > 0,
  },
  "forwarded-for-header": {
    usual: "X-Forwarded-For",
    lockstep: "X-Forwarded-For",
    same: is("x-forwarded-for"),
  },
  "proxy-real-ip-cidr": {
    usual: "0.0.0.0/0",
    lockstep: "the networks of --trusted-proxy",
    same: (value, { trustedProxies }) =>
      value === "0.0.0.0/0" || value === trustedProxies.join(","),
  },
  "use-proxy-protocol": {
    usual: "false",
    lockstep: ({ proxyProtocol }) => `${proxyProtocol}; --proxy-protocol switches it on`,
    same: (value, { proxyProtocol }) => value === String(proxyProtocol),
  },
  "enable-underscores-in-headers": {
    usual: "false",
    lockstep: "headers with underscores are dropped",
    same: off,
  },
  "ignore-invalid-headers": { usual: "true", lockstep: "true", same: is("true") },
  "generate-request-id": {
    usual: "true",
    lockstep: "X-Request-ID is always new, except from networks of --trusted-proxy",
    same: () => true,
  },
  "use-gzip": { usual: "false", lockstep: "answers are not compressed", same: off },
  "enable-brotli": { usual: "false", lockstep: "answers are not compressed", same: off },
  "use-http2": { usual: "true", lockstep: "HTTP/2 with TLS", same: is("true") },
  "server-tokens": { usual: "false", lockstep: "Server: nginx without a version", same: off },
  "allow-backend-server-header": {
    usual: "false",
    lockstep: "Server of the endpoint is replaced",
    same: off,
  },
  "custom-http-errors": { ...none(), lockstep: "answers of endpoints are never replaced" },
  "disable-proxy-intercept-errors": { usual: "false", lockstep: "no effect", same: () => true },
  "add-headers": { ...none(), lockstep: "not supported; only endpoints add headers" },
  "proxy-set-headers": {
    ...none(),
    lockstep: "not supported; see the headers in docs/annotations.md",
  },
  "hide-headers": none(),
  "global-allowed-response-headers": none(false),
  "global-auth-url": { ...none(), lockstep: "not supported: routes without auth-url are open" },
  "whitelist-source-range": {
    ...none(),
    lockstep: "not supported: use the annotation allowlist-source-range on each Ingress",
  },
  "denylist-source-range": {
    ...none(),
    lockstep: "not supported: use the annotation denylist-source-range on each Ingress",
  },
  "block-cidrs": none(),
  "block-user-agents": none(),
  "block-referers": none(),
  "enable-modsecurity": none(),
  "enable-owasp-modsecurity-crs": none(),
  "modsecurity-snippet": none(),
  "main-snippet": none(),
  "http-snippet": none(),
  "server-snippet": none(),
  "location-snippet": none(),
  "stream-snippet": none(),
  "limit-rate": { ...none(), same: is("", "0") },
  "limit-rate-after": { ...none(), same: is("", "0") },
  "proxy-cookie-domain": { ...none(), same: is("", "off") },
  "proxy-cookie-path": { ...none(), same: is("", "off") },
  "proxy-redirect-from": { ...none(), same: is("", "off") },
  "proxy-redirect-to": { ...none(), same: is("", "off") },
  "enable-opentelemetry": { ...none(), lockstep: "the proxy makes no traces" },
  "use-geoip2": none(),
  "service-upstream": { ...none(false), lockstep: "never: Lockstep follows the pods" },
  "use-port-in-redirects": { ...none(false), lockstep: "--public-https-port" },
  "relative-redirects": {
    ...none(false),
    lockstep: "redirects of annotations with a path are relative",
  },
  "proxy-http-version": { usual: "1.1", lockstep: "1.1", same: is("1.1") },
  "keep-alive": { usual: "75", lockstep: "75 s", same: is("75", "75s") },
  "disable-ipv6": { usual: "false", lockstep: "--listen decides", same: () => true },
  "bind-address": { usual: "", lockstep: "--listen", same: off },
  "global-auth-snippet": none(),
};

/** Logs, buffers, hash sizes, workers, and what belongs to a setting above. No answer depends on them. */
const tuning: ReadonlySet<string> = new Set(
  `access-log-params access-log-path allow-cross-namespace-resources allow-snippet-annotations
  annotation-value-word-blocklist annotations-risk-level bind-address-ipv4 bind-address-ipv6
  brotli-level brotli-min-length brotli-types client-body-buffer-size client-header-buffer-size
  debug-connections default-type disable-access-log disable-http-access-log disable-ipv6-dns
  disable-stream-access-log enable-access-log-for-default-backend enable-aio-write
  enable-auth-access-log enable-multi-accept enable-ocsp enable-serial-reloads enable-syslog
  error-log-level error-log-path forwarded-for-proxy-protocol-header forwarded-host-header
  geoip2-autoreload-in-minutes global-auth-always-set-cookie global-auth-cache-duration
  global-auth-cache-key global-auth-method global-auth-request-redirect global-auth-response-headers
  global-auth-signin global-auth-signin-redirect-param grpc-buffer-size-kb gzip-disable gzip-level
  gzip-min-length gzip-types http-access-log-path http2-max-concurrent-streams http2-max-field-size
  http2-max-header-size http2-max-requests keep-alive-requests limit-conn-zone-variable
  log-format-escape-json log-format-escape-none log-format-stream log-format-upstream
  lua-shared-dicts map-hash-bucket-size max-worker-connections max-worker-open-files
  nginx-status-ipv4-whitelist nginx-status-ipv6-whitelist no-auth-locations opentelemetry-config
  opentelemetry-operation-name opentelemetry-trust-incoming-span otel-max-export-batch-size
  otel-max-queuesize otel-sampler otel-sampler-parent-based otel-sampler-ratio
  otel-schedule-delay-millis otel-service-name otlp-collector-host otlp-collector-port
  proxy-add-original-uri-header proxy-buffers-number proxy-busy-buffers-size
  proxy-headers-hash-bucket-size proxy-headers-hash-max-size proxy-max-temp-file-size
  proxy-protocol-header-timeout proxy-ssl-location-only proxy-stream-next-upstream
  proxy-stream-next-upstream-timeout proxy-stream-next-upstream-tries proxy-stream-responses
  proxy-stream-timeout reuse-port server-name-hash-bucket-size server-name-hash-max-size
  skip-access-log-urls ssl-buffer-size ssl-dh-param ssl-early-data ssl-ecdh-curve ssl-session-cache
  ssl-session-cache-size ssl-session-ticket-key ssl-session-tickets ssl-session-timeout
  stream-access-log-path strict-validate-path-type syslog-host syslog-port
  upstream-hash-by-subset upstream-hash-by-subset-size upstream-keepalive-connections
  upstream-keepalive-requests upstream-keepalive-time upstream-keepalive-timeout
  variables-hash-bucket-size variables-hash-max-size worker-cpu-affinity worker-processes
  worker-shutdown-timeout`.split(/\s+/),
);

/** Longer values, such as snippets, are cut in reports. */
const maxShownBytes = 60;

/** Every setting that is set, and every default that differs. */
export function checkedSettings(
  given: Readonly<Record<string, string>>,
  lockstep: LockstepSettings,
): readonly CheckedSetting[] {
  const ofRows = Object.entries(rows).map(([name, row]) =>
    checked(name, row, given[name], lockstep),
  );
  const others = Object.entries(given).filter(([name]) => !Object.hasOwn(rows, name));
  return [
    ...ofRows.filter(({ isSet, verdict }) => isSet || verdict !== "same"),
    ...others.map(([name, value]) => ({
      name,
      value: cut(value),
      isSet: true,
      verdict: tuning.has(name) ? ("same" as const) : ("differs" as const),
      lockstep: tuning.has(name)
        ? "no answer depends on it"
        : "unknown: no setting of ingress-nginx 1.15, or misspelt",
    })),
  ];
}

function checked(
  name: string,
  { usual, lockstep: text, same, refused }: Row,
  given: string | undefined,
  lockstep: LockstepSettings,
): CheckedSetting {
  const value = given ?? usual;
  const isSame = same(value.trim(), lockstep);
  return {
    name,
    value: cut(value),
    isSet: given !== undefined,
    verdict: isSame ? "same" : refused === true ? "refused" : "differs",
    lockstep: typeof text === "string" ? text : text(lockstep),
  };
}

function cut(value: string): string {
  const line = value.replace(/\s+/g, " ").trim();
  return Buffer.byteLength(line) > maxShownBytes ? `${line.slice(0, maxShownBytes)}…` : line;
}
