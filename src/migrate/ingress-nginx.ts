// The controllers of ingress-nginx among workloads, with the flags they were started with. The flags
// name the ConfigMaps and the classes that count.
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
} from "../kube/kinds/fields.ts";

export interface IngressNginx {
  /** `Deployment ingress-nginx/ingress-nginx-controller`. */
  readonly name: string;
  readonly namespace: string;
  /** By name without dashes; a flag without a value is `true`. */
  readonly flags: ReadonlyMap<string, string>;
}

/**
 * Annotations that ingress-nginx 1.15 or an earlier version reads and Lockstep does not, without their
 * prefix. Any other annotation that Lockstep does not know has no effect in ingress-nginx either.
 */
export const onlyIngressNginxReads: ReadonlySet<string> = new Set(
  `
  affinity-canary-behavior auth-always-set-cookie auth-cache-duration auth-cache-key
  auth-keepalive auth-keepalive-requests auth-keepalive-share-vars auth-keepalive-timeout
  auth-proxy-set-headers auth-request-redirect auth-signin-redirect-param auth-snippet
  auth-tls-error-page auth-tls-match-cn auth-tls-pass-certificate-to-upstream auth-tls-secret
  auth-tls-verify-client auth-tls-verify-depth base-url-scheme client-body-buffer-size
  configuration-snippet connection-proxy-header custom-headers custom-http-errors
  default-backend disable-proxy-intercept-errors enable-access-log enable-global-auth
  enable-influxdb enable-modsecurity enable-opentelemetry enable-opentracing
  enable-owasp-core-rules enable-rewrite-log fastcgi-index fastcgi-params-configmap
  global-rate-limit global-rate-limit-ignored-cidrs global-rate-limit-key
  global-rate-limit-window http2-push-preload influxdb-host influxdb-measurement influxdb-port
  influxdb-server-name limit-connections limit-rate limit-rate-after lua-resty-waf mirror-host
  mirror-request-body mirror-target modsecurity-snippet modsecurity-transaction-id
  opentelemetry-operation-name opentelemetry-trust-incoming-span opentracing-trust-incoming-span
  preserve-trailing-slash proxy-buffering proxy-buffers-number proxy-busy-buffers-size
  proxy-cookie-domain proxy-cookie-path proxy-http-version proxy-max-temp-file-size
  proxy-redirect-from proxy-redirect-to proxy-request-buffering proxy-ssl-ciphers proxy-ssl-name
  proxy-ssl-protocols proxy-ssl-secret proxy-ssl-server-name proxy-ssl-verify
  proxy-ssl-verify-depth relative-redirects satisfy secure-backends secure-verify-ca-secret
  server-snippet service-upstream session-cookie-hash ssl-ciphers ssl-passthrough
  ssl-prefer-server-ciphers stream-snippet upstream-fail-timeout upstream-hash-by-subset
  upstream-hash-by-subset-size upstream-max-fails
  `
    .trim()
    .split(/\s+/),
);

/** The value of IngressClass.spec.controller that it serves unless a flag says otherwise. */
export const usualController = "k8s.io/ingress-nginx";

/** The class of the annotation that it serves unless a flag says otherwise. */
export const usualClass = "nginx";

/** The program in its image, and a part of the image's name. */
const program = "nginx-ingress-controller";
const image = "ingress-nginx/controller";

/** Undefined for any other workload. */
export function ingressNginxOf(kind: string, raw: RawRecord): IngressNginx | undefined {
  const spec = recordAt(raw, "spec");
  const pod = kind === "Pod" ? spec : recordAt(recordAt(spec, "template"), "spec");
  const metadata = recordAt(raw, "metadata");
  const namespace = optionalString(metadata, "namespace") ?? "";
  for (const container of listAt(pod, "containers").filter(isRecord)) {
    const words = [...textsAt(container, "command"), ...textsAt(container, "args")];
    const isOne =
      words.some((word) => word.split("/").at(-1) === program) ||
      (optionalString(container, "image") ?? "").includes(image);
    if (!isOne) continue;
    const name = `${kind} ${namespace}/${optionalString(metadata, "name") ?? ""}`;
    return { name, namespace, flags: flagsOf(words, namespace) };
  }
  return undefined;
}

function textsAt(record: RawRecord, field: string): readonly string[] {
  return listAt(record, field).filter((one) => typeof one === "string");
}

/** `--name=value`, `--name value` or `--name`. */
function flagsOf(words: readonly string[], namespace: string): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (const [index, word] of words.entries()) {
    const [, name, given] = /^--?([a-z0-9-]+)(?:=([\s\S]*))?$/i.exec(word) ?? [];
    if (name === undefined) continue;
    const next = words[index + 1];
    const following = next === undefined || next.startsWith("-") ? "true" : next;
    // The variables of the manifests that ingress-nginx publishes.
    const value = (given ?? following).replace(/\$\(POD_NAMESPACE\)/g, namespace);
    flags.set(name, value);
  }
  return flags;
}
