// The text formats that are recognised without configuration: nginx's own, ingress-nginx's through
// its releases, those of Envoy, Istio, Traefik, APISIX and of AWS's load balancers, and those that
// name an upstream by nginx's common examples. The richer come first: the end of a poorer one may
// match text that a richer one would have parsed.
import { albFormat } from "./alb-line.ts";
import { LogFormat } from "./log-format.ts";

const combined =
  '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent ' +
  '"$http_referer" "$http_user_agent"';

/**
 * The fields that ingress-nginx adds (logFormatUpstream in
 * internal/ingress/controller/config/config.go).
 */
const upstreamInfo =
  "$request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] " +
  "$upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id";

/** Before canaries there was one name only. */
const olderUpstreamInfo = upstreamInfo.replace(" [$proxy_alternative_upstream_name]", "");

/** Older releases wrote the client's address twice. */
const olderCombined = combined.replace("$remote_addr", "$remote_addr - [$the_real_ip]");

/** Labelled values may follow it: `rt=0.012 ua="10.0.0.1:80" us="200"`. */
export const labelledFormat = new LogFormat({
  name: "nginx combined with labels",
  format: `${combined} $labels`,
});

/** The rest of the line after $http_user_agent in `labelledFormat`. */
export const labelsVariable = "labels";

/** Envoy's default, whose only upstream is the last that was tried; `duration` is in milliseconds. */
const envoyStart = '[$start_time] "$request" $status $response_flags';
const envoyRest =
  "$bytes_received $body_bytes_sent $duration $upstream_service_time " +
  '"$http_x_forwarded_for" "$http_user_agent" "$request_id" "$host" "$upstream_addr"';

/** The fields that Istio adds. */
const istioDetails = '$response_code_details $connection_details "$failure_reason"';
const istioRest = "$upstream_cluster $upstream_local $local_address $peer_address $sni $route_name";

/**
 * Traefik's, which it calls common: a count, the router, the server and the milliseconds. Unlike
 * nginx it writes down when a request came in (CommonLogFormatter in pkg/middlewares/accesslog).
 */
const traefik =
  `${combined.replace("$time_local", "$start_time")} $request_count "$router_name" ` +
  `"$upstream_addr" \${milliseconds}ms`;

/** APISIX's (access_log_format in apisix/cli/config.lua); older releases end before the URL. */
const apisix =
  '$remote_addr - $remote_user [$time_local] $http_host "$request" $status $body_bytes_sent ' +
  '$request_time "$http_referer" "$http_user_agent" $upstream_addr $upstream_status ' +
  "$upstream_response_time";

/** A line of one of these is of no other, so a log that has one is likely to go on with it. */
export const exactFormats: readonly LogFormat[] = [
  new LogFormat({ name: "ingress-nginx", format: `${combined} ${upstreamInfo}` }),
  new LogFormat({
    name: "ingress-nginx before 0.24",
    format: `${combined} ${olderUpstreamInfo}`,
  }),
  new LogFormat({ name: "ingress-nginx before 0.26", format: `${olderCombined} ${upstreamInfo}` }),
  new LogFormat({
    name: "ingress-nginx before 0.24 with two addresses",
    format: `${olderCombined} ${olderUpstreamInfo}`,
  }),
  new LogFormat({ name: "Envoy", format: `${envoyStart} ${envoyRest}` }),
  new LogFormat({
    name: "Istio",
    format: `${envoyStart} ${istioDetails} ${envoyRest} ${istioRest}`,
  }),
  new LogFormat({ name: "Traefik", format: traefik }),
  new LogFormat({ name: "APISIX", format: `${apisix} "$target_url"` }),
  new LogFormat({ name: "APISIX before 2.1", format: apisix }),
  albFormat,
];

export const knownFormats: readonly LogFormat[] = [
  ...exactFormats,
  labelledFormat,
  new LogFormat({ name: "nginx combined", format: combined }),
  new LogFormat({
    name: "common",
    format: '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent',
  }),
];
