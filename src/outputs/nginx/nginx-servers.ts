// nginx's listeners and trusted proxies, as the lines of run/servers.conf and run/trusted.conf.
// Everything comes from Lockstep's own options and is checked; nothing of a Kubernetes object gets
// here. Pure: the files are written by `nginx-prefix.ts`.
import { isIp, parseNetwork } from "../../environment/ip-address.ts";

export interface ListenAddress {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
  /** TLS, with HTTP/1.1 and HTTP/2; the certificate is found by the name a client asks for. */
  readonly tls?: boolean;
  /**
   * Every connection begins with a PROXY protocol header, version 1 or 2, with the client's address
   * and the port it reached. Only the trusted proxies are believed, or all clients if none are
   * named.
   */
  readonly proxyProtocol?: boolean;
  /**
   * Without TLS: HTTP/2 and nothing else, for gRPC clients that begin with it unasked. nginx does not
   * tell it from HTTP/1.1 on one port.
   */
  readonly http2?: boolean;
  /** Only listeners of Gateways are served there. nginx makes no difference: rules have ports. */
  readonly forGateways?: boolean;
}

export interface NginxServerOptions {
  readonly listen: readonly ListenAddress[];
  /**
   * Networks (CIDR) of proxies in front: their X-Forwarded-For and similar headers are kept and
   * extended; those of other clients are replaced.
   */
  readonly trustedProxies?: readonly string[];
  /** PEM file with the authorities that endpoints with `verifyUpstream` must be certified by. */
  readonly upstreamCa?: string;
  /** The port of https addresses that requests without TLS are sent to; 443 unless given. */
  readonly publicHttpsPort?: number;
  /** Answers over https tell browsers to use nothing else for so long; nothing when absent. */
  readonly hstsMaxAgeSeconds?: number;
  /**
   * `logs/access.log` under the prefix, which is the default, or nothing at all. With `stdout` the
   * file is short and Lockstep prints its lines: nginx is no child, so its own output leads nowhere.
   */
  readonly accessLog?: AccessLogPlace;
}

export const accessLogPlaces = ["file", "stdout", "off"] as const;
export type AccessLogPlace = (typeof accessLogPlaces)[number];

/** An option that cannot be meant. The message says which, and what would be right. */
export class NginxOptionsError extends Error {
  override readonly name = "NginxOptionsError";
  readonly code = "NGINX_OPTIONS";
}

/** Connections that wait to be accepted; Linux allows no more by default. */
const backlog = 4096;

/** Addresses do not name it. */
const usualHttpsPort = 443;

/** The text of run/servers.conf. Throws when an option cannot be meant. */
export function serversConf(options: NginxServerOptions): string {
  checkListen(options.listen);
  const { publicHttpsPort = usualHttpsPort } = options;
  if (!isPort(publicHttpsPort))
    throw new NginxOptionsError(`${publicHttpsPort} is not a valid port for https`);
  const port = publicHttpsPort === usualHttpsPort ? "" : publicHttpsPort;
  const plain = options.listen.filter((one) => !isProxied(one));
  const proxied = options.listen.filter(isProxied);
  return [
    `map "" $lockstep_https_port { default "${port}"; }\n`,
    senders(options),
    hstsMaps(options),
    plain.length === 0 ? "" : serverBlock(options, plain, forwardedLines(options)),
    proxied.length === 0 ? "" : serverBlock(options, proxied, proxyProtocolLines(options)),
  ].join("");
}

/** The text of run/trusted.conf: for `geo`. */
export function trustedConf({ trustedProxies = [] }: NginxServerOptions): string {
  return trustedProxies.map((one) => `${network(one)} 1;\n`).join("");
}

export function hasTls({ listen }: NginxServerOptions): boolean {
  return listen.some(({ tls }) => tls === true);
}

/** Trusts the PROXY protocol only from these senders, by the other end of the connection. */
function senders({ trustedProxies = [] }: NginxServerOptions): string {
  const others = trustedProxies.length === 0 ? 1 : 0;
  const lines = [`default ${others};`, "include run/trusted.conf;"];
  return `geo $realip_remote_addr $lockstep_is_sender { ${lines.join(" ")} }\n`;
}

/**
 * A header of the endpoint itself stays. Not for subdomains, which may belong to another namespace.
 */
function hstsMaps({ hstsMaxAgeSeconds: seconds }: NginxServerOptions): string {
  if (seconds === undefined) return "";
  if (!Number.isSafeInteger(seconds) || seconds < 0)
    throw new NginxOptionsError(`${seconds} is not a valid number of seconds for HSTS`);
  const header = "$upstream_http_strict_transport_security";
  return [
    `map $lockstep_forwarded_proto $lockstep_hsts_value { default ""; https "max-age=${seconds}"; }\n`,
    `map ${header} $lockstep_hsts { default ""; "" $lockstep_hsts_value; }\n`,
  ].join("");
}

function serverBlock(
  options: NginxServerOptions,
  listen: readonly ListenAddress[],
  realIp: readonly string[],
): string {
  const { trustedProxies = [], upstreamCa, accessLog, hstsMaxAgeSeconds } = options;
  const isDirect = trustedProxies.length === 0 && !listen.some(isProxied);
  const log =
    accessLog === "off"
      ? "access_log off"
      : "access_log logs/access.log lockstep buffer=32k flush=1s if=$lockstep_logged";
  const headers = isDirect ? "direct" : "trusted";
  const lines = [
    ...listen.map(listenLine),
    ...realIp,
    log,
    `include headers-${headers}.conf`,
    ...(hstsMaxAgeSeconds === undefined
      ? []
      : ["add_header Strict-Transport-Security $lockstep_hsts always"]),
    ...(hasTls({ listen }) ? ["include tls.conf"] : []),
    "include server.conf",
    `include special-${headers}.conf`,
    `include ${upstreamCa === undefined ? "unverifiable" : "verified"}.conf`,
  ];
  return `server {\n${lines.map((line) => `    ${line};\n`).join("")}}\n`;
}

function isProxied({ proxyProtocol }: ListenAddress): boolean {
  return proxyProtocol === true;
}

function listenLine({ address, port, tls, proxyProtocol, http2 }: ListenAddress): string {
  const words = [
    `listen ${hostAndPort(address, port)}`,
    ...(tls === true ? ["ssl"] : []),
    ...(tls === true || http2 === true ? ["http2"] : []),
    ...(proxyProtocol === true ? ["proxy_protocol"] : []),
    `backlog=${backlog}`,
  ];
  return words.join(" ");
}

function forwardedLines({ trustedProxies = [] }: NginxServerOptions): readonly string[] {
  if (trustedProxies.length === 0) return [];
  return [
    ...trustedProxies.map((one) => `set_real_ip_from ${network(one)}`),
    "real_ip_header X-Forwarded-For",
    "real_ip_recursive on",
  ];
}

function proxyProtocolLines({ trustedProxies = [] }: NginxServerOptions): readonly string[] {
  const senders = trustedProxies.length === 0 ? ["0.0.0.0/0", "::/0"] : trustedProxies;
  return [
    ...senders.map((one) => `set_real_ip_from ${network(one)}`),
    "real_ip_header proxy_protocol",
  ];
}

function hostAndPort(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** As it was written, once it is known to be nothing but a network. */
function network(text: string): string {
  if (parseNetwork(text) !== undefined) return text;
  throw new NginxOptionsError(
    `"${text}" is not a valid trusted proxy: use an IP address or a CIDR such as 10.0.0.0/8`,
  );
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

function checkListen(listen: readonly ListenAddress[]): void {
  if (listen.length === 0) throw new NginxOptionsError("nginx needs an address to listen on");
  const taken = new Set<string>();
  for (const { address, port } of listen) {
    const place = hostAndPort(address, port);
    if (!isPort(port) || !isIp(address)) {
      throw new NginxOptionsError(`nginx cannot listen on ${place}: use an IP address and a port`);
    }
    if (taken.has(place)) {
      throw new NginxOptionsError(`${place} is used twice; each protocol needs its own port`);
    }
    taken.add(place);
  }
}
