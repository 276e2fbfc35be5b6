// Kubernetes' values for the network in CEL: `ip()`, `cidr()` and `url()`.
import { bitWidth, parseIp as parseAddress } from "../../environment/ip-address.ts";
import { isCidr } from "../kinds/ip-rules.ts";
import type { CelFunctions } from "./cel-functions.ts";
import { hasControlCharacter } from "./go-texts.ts";

export class Ip {
  readonly family: 4 | 6;
  readonly bits: bigint;

  constructor(family: 4 | 6, bits: bigint) {
    this.family = family;
    this.bits = bits;
  }

  equals(other: Ip): boolean {
    return other.family === this.family && other.bits === this.bits;
  }

  toString(): string {
    return this.family === 4 ? formatIpv4(this.bits) : formatIpv6(this.bits);
  }

  isIn(network: string, length: number): boolean {
    const other = parseIp(network);
    if (other === undefined || other.family !== this.family) return false;
    const shift = BigInt(bitWidth(this) - length);
    return this.bits >> shift === other.bits >> shift;
  }

  get isLoopback(): boolean {
    return this.isIn("127.0.0.0", 8) || (this.family === 6 && this.bits === 1n);
  }

  get isLinkLocalUnicast(): boolean {
    return this.isIn("169.254.0.0", 16) || this.isIn("fe80::", 10);
  }

  get isLinkLocalMulticast(): boolean {
    return this.isIn("224.0.0.0", 24) || this.isIn("ff02::", 16);
  }

  get isGlobalUnicast(): boolean {
    const isMulticast = this.isIn("224.0.0.0", 4) || this.isIn("ff00::", 8);
    const isBroadcast = this.family === 4 && this.bits === 0xffff_ffffn;
    const isLocal = this.bits === 0n || this.isLoopback || this.isLinkLocalUnicast;
    return !isMulticast && !isBroadcast && !isLocal;
  }
}

export class Cidr {
  readonly ip: Ip;
  readonly length: number;

  constructor(ip: Ip, length: number) {
    this.ip = ip;
    this.length = length;
  }

  get masked(): Cidr {
    const shift = BigInt(bitWidth(this.ip) - this.length);
    return new Cidr(new Ip(this.ip.family, (this.ip.bits >> shift) << shift), this.length);
  }

  equals(other: Cidr): boolean {
    return other.length === this.length && this.ip.equals(other.ip);
  }

  contains(other: Ip | Cidr): boolean {
    if (other instanceof Ip) return other.isIn(String(this.ip), this.length);
    return this.contains(other.ip) && this.length <= other.length;
  }

  toString(): string {
    return `${this.ip}/${this.length}`;
  }
}

const urlPattern = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/s;

/** Parsed as Go's net/url does. */
export class Url {
  readonly text: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(text: string) {
    const [, scheme = "", host = "", path = "", query = ""] = urlPattern.exec(text) ?? [];
    this.text = text;
    this.scheme = scheme.toLowerCase();
    this.host = host.slice(host.indexOf("@") + 1);
    this.path = path;
    this.query = query;
  }

  get hostname(): string {
    return this.host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
  }

  get port(): string {
    return /:(\d*)$/.exec(this.host)?.[1] ?? "";
  }

  get escapedPath(): string {
    try {
      return encodeURI(decodeURI(this.path));
    } catch (error) {
      if (error instanceof URIError) return encodeURI(this.path);
      throw error;
    }
  }

  get parameters(): ReadonlyMap<string, readonly string[]> {
    const values = new Map<string, string[]>();
    for (const [name, value] of new URLSearchParams(this.query)) {
      values.set(name, [...(values.get(name) ?? []), value]);
    }
    return values;
  }

  equals(other: Url): boolean {
    return other.text === this.text;
  }
}

export const networkFunctions: CelFunctions = {
  "ip(string): net.IP": toIp,
  "isIP(string): bool": (text: string) => parseIp(text) !== undefined,
  "ipNamespace.isCanonical(string): bool": (_: unknown, text: string) =>
    String(toIp(text)) === text,
  "string(net.IP): string": String,
  "net.IP.family(): int": (ip: Ip) => BigInt(ip.family),
  "net.IP.isUnspecified(): bool": (ip: Ip) => ip.bits === 0n,
  "net.IP.isLoopback(): bool": (ip: Ip) => ip.isLoopback,
  "net.IP.isLinkLocalMulticast(): bool": (ip: Ip) => ip.isLinkLocalMulticast,
  "net.IP.isLinkLocalUnicast(): bool": (ip: Ip) => ip.isLinkLocalUnicast,
  "net.IP.isGlobalUnicast(): bool": (ip: Ip) => ip.isGlobalUnicast,
  "cidr(string): net.CIDR": toCidr,
  "isCIDR(string): bool": (text: string) => parseCidr(text) !== undefined,
  "string(net.CIDR): string": String,
  "net.CIDR.containsIP(net.IP): bool": (cidr: Cidr, ip: Ip) => cidr.contains(ip),
  "net.CIDR.containsIP(string): bool": (cidr: Cidr, ip: string) => cidr.contains(toIp(ip)),
  "net.CIDR.containsCIDR(net.CIDR): bool": (cidr: Cidr, other: Cidr) => cidr.contains(other),
  "net.CIDR.containsCIDR(string): bool": (cidr: Cidr, other: string) =>
    cidr.contains(toCidr(other)),
  "net.CIDR.ip(): net.IP": (cidr: Cidr) => cidr.ip,
  "net.CIDR.prefixLength(): int": (cidr: Cidr) => BigInt(cidr.length),
  "net.CIDR.masked(): net.CIDR": (cidr: Cidr) => cidr.masked,
  "url(string): kubernetes.URL": toUrl,
  "isURL(string): bool": isUrl,
  "kubernetes.URL.getScheme(): string": (url: Url) => url.scheme,
  "kubernetes.URL.getHost(): string": (url: Url) => url.host,
  "kubernetes.URL.getHostname(): string": (url: Url) => url.hostname,
  "kubernetes.URL.getPort(): string": (url: Url) => url.port,
  "kubernetes.URL.getEscapedPath(): string": (url: Url) => url.escapedPath,
  "kubernetes.URL.getQuery(): map<string, list<string>>": (url: Url) => url.parameters,
};

function toIp(text: string): Ip {
  const ip = parseIp(text);
  if (ip === undefined) throw new Error(`IP Address ${JSON.stringify(text)} parse error`);
  return ip;
}

function toCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new Error(`network address parse error: ${text}`);
  return cidr;
}

function toUrl(text: string): Url {
  if (!isUrl(text)) throw new Error(`URL parse error: ${JSON.stringify(text)}`);
  return new Url(text);
}

function isUrl(text: string): boolean {
  if (hasControlCharacter(text)) return false;
  if (/%(?![0-9a-fA-F]{2})/.test(text.split("?", 1)[0] ?? "")) return false;
  const { scheme, host, path } = new Url(text);
  if (!/^(\[[0-9a-fA-F:.%]+\]|[^[\]:\s]*)(:\d*)?$/.test(host)) return false;
  return text.startsWith("/") || (scheme !== "" && (path.startsWith("/") || host !== ""));
}

/** IPv4 addresses that are written as IPv6 are refused. */
function parseIp(text: string): Ip | undefined {
  const { family, bits } = parseAddress(text) ?? {};
  if (family === undefined || bits === undefined) return undefined;
  return family === 6 && bits >> 32n === 0xffffn ? undefined : new Ip(family, bits);
}

function parseCidr(text: string): Cidr | undefined {
  const [address = "", length] = text.split("/");
  const ip = isCidr(text) ? parseIp(address) : undefined;
  return ip && new Cidr(ip, Number(length));
}

function formatIpv4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 0xffn)).join(".");
}

/** The longest run of zeros is left out (RFC 5952). */
function formatIpv6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => {
    return ((bits >> BigInt(16 * (7 - index))) & 0xffffn).toString(16);
  });
  const text = groups.join(":");
  const runs = [...text.matchAll(/\b0(?::0\b)+/g)].map(([run]) => run);
  const [longest] = runs.sort((a, b) => b.length - a.length);
  return longest === undefined ? text : text.replace(longest, "::").replace(/:{3,}/, "::");
}
