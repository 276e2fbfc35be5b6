// IP addresses and CIDR blocks, Kubernetes' `ip()` and `cidr()`.
import { bitWidth, parseIp as parseAddress } from "../../../../environment/ip-address.ts";
import { isCidr } from "../../../kinds/ip-rules.ts";
import { define, defineMethod, type Overload } from "../overloads.ts";
import { CelError, OpaqueValue } from "../values.ts";

class Ip extends OpaqueValue {
  readonly typeName = "net.IP";
  readonly family: 4 | 6;
  readonly bits: bigint;

  constructor(family: 4 | 6, bits: bigint) {
    super();
    this.family = family;
    this.bits = bits;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof Ip && other.family === this.family && other.bits === this.bits;
  }

  override toString(): string {
    return this.family === 4 ? formatIpv4(this.bits) : formatIpv6(this.bits);
  }

  /** Whether its first bits are those of another address. */
  startsAs(text: string, length: number): boolean {
    const other = parseIp(text);
    if (other === undefined || other.family !== this.family) return false;
    const shift = BigInt(bitWidth(this) - length);
    return this.bits >> shift === other.bits >> shift;
  }
}

class Cidr extends OpaqueValue {
  readonly typeName = "net.CIDR";
  readonly ip: Ip;
  readonly length: number;

  constructor(ip: Ip, length: number) {
    super();
    this.ip = ip;
    this.length = length;
  }

  get masked(): Cidr {
    const shift = BigInt(bitWidth(this.ip) - this.length);
    return new Cidr(new Ip(this.ip.family, (this.ip.bits >> shift) << shift), this.length);
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof Cidr && other.length === this.length && this.ip.equals(other.ip);
  }

  contains(ip: Ip): boolean {
    return ip.startsAs(String(this.ip), this.length);
  }

  override toString(): string {
    return `${this.ip}/${this.length}`;
  }
}

export const addresses: readonly Overload[] = [
  define("ip(string) net.IP", toIp),
  define("isIP(string) bool", (text: string) => parseIp(text) !== undefined),
  define("ip.isCanonical(string) bool", (text: string) => String(toIp(text)) === text),
  define("string(net.IP) string", String),
  defineMethod("family(net.IP) int", (ip: Ip) => BigInt(ip.family)),
  defineMethod("isUnspecified(net.IP) bool", (ip: Ip) => ip.bits === 0n),
  defineMethod("isLoopback(net.IP) bool", isLoopback),
  defineMethod("isLinkLocalMulticast(net.IP) bool", isLinkLocalMulticast),
  defineMethod("isLinkLocalUnicast(net.IP) bool", isLinkLocalUnicast),
  defineMethod("isGlobalUnicast(net.IP) bool", isGlobalUnicast),
  define("cidr(string) net.CIDR", toCidr),
  define("isCIDR(string) bool", (text: string) => parseCidr(text) !== undefined),
  define("string(net.CIDR) string", String),
  defineMethod("containsIP(net.CIDR, net.IP) bool", (cidr: Cidr, ip: Ip) => cidr.contains(ip)),
  defineMethod("containsIP(net.CIDR, string) bool", (cidr: Cidr, text: string) => {
    return cidr.contains(toIp(text));
  }),
  defineMethod("containsCIDR(net.CIDR, net.CIDR) bool", containsCidr),
  defineMethod("containsCIDR(net.CIDR, string) bool", (cidr: Cidr, text: string) => {
    return containsCidr(cidr, toCidr(text));
  }),
  defineMethod("ip(net.CIDR) net.IP", (cidr: Cidr) => cidr.ip),
  defineMethod("prefixLength(net.CIDR) int", (cidr: Cidr) => BigInt(cidr.length)),
  defineMethod("masked(net.CIDR) net.CIDR", (cidr: Cidr) => cidr.masked),
];

function toIp(text: string): Ip {
  const ip = parseIp(text);
  if (ip !== undefined) return ip;
  const quoted = JSON.stringify(text);
  throw new CelError(
    `IP Address ${quoted} parse error during conversion from string: ParseAddr(${quoted}): unable to parse IP`,
  );
}

function toCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr !== undefined) return cidr;
  throw new CelError(`network address parse error during conversion from string: ${text}`);
}

function containsCidr(outer: Cidr, inner: Cidr): boolean {
  return outer.contains(inner.ip) && outer.length <= inner.length;
}

function isLoopback(ip: Ip): boolean {
  return ip.startsAs("127.0.0.0", 8) || (ip.family === 6 && ip.bits === 1n);
}

function isLinkLocalMulticast(ip: Ip): boolean {
  return ip.startsAs("224.0.0.0", 24) || (ip.startsAs("ff02::", 16) && ip.family === 6);
}

function isLinkLocalUnicast(ip: Ip): boolean {
  return ip.startsAs("169.254.0.0", 16) || ip.startsAs("fe80::", 10);
}

function isGlobalUnicast(ip: Ip): boolean {
  const isMulticast = ip.startsAs("224.0.0.0", 4) || ip.startsAs("ff00::", 8);
  const isBroadcast = ip.family === 4 && ip.bits === 0xffff_ffffn;
  return (
    !isMulticast && !isBroadcast && ip.bits !== 0n && !isLoopback(ip) && !isLinkLocalUnicast(ip)
  );
}

/** Not an IPv4 address in the clothes of IPv6. */
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

/** The longest run of zeros is left out, as RFC 5952 has it. */
function formatIpv6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => {
    return ((bits >> BigInt(16 * (7 - index))) & 0xffffn).toString(16);
  });
  const text = groups.join(":");
  const runs = [...text.matchAll(/\b0(?::0\b)+/g)].map(([run]) => run);
  const [longest] = runs.sort((a, b) => b.length - a.length);
  return longest === undefined ? text : text.replace(longest, "::").replace(/:{3,}/, "::");
}
