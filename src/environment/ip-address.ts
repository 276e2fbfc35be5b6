// Parses IP addresses and networks. Strict as inet_pton is: a text that is not read in full is no
// address, so nothing that is passed on is ambiguous. Node's BlockList would not do: it supports
// neither addresses that a gateway maps to IPv4 nor the length of a prefix.
import { isIP } from "node:net";

export interface IpAddress {
  readonly family: 4 | 6;
  /** As one number: 32 bits of IPv4, 128 of IPv6. */
  readonly bits: bigint;
}

export interface IpNetwork {
  readonly address: IpAddress;
  readonly prefixLength: number;
}

export function isIp(text: string): boolean {
  return ipFamily(text) !== undefined;
}

export function isIpv4(text: string): boolean {
  return isIP(text) === 4;
}

export function isIpv6(text: string): boolean {
  return ipFamily(text) === 6;
}

export function parseIp(text: string): IpAddress | undefined {
  const family = ipFamily(text);
  if (family === undefined) return undefined;
  return { family, bits: family === 4 ? ipv4Bits(text) : ipv6Bits(text) };
}

/** `10.0.0.0/8`, or an address, which is a network of one. Bits beyond the prefix may be set. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [head = "", length, ...rest] = text.split("/");
  const address = parseIp(head);
  if (address === undefined || rest.length > 0) return undefined;
  const width = bitWidth(address);
  if (length === undefined) return { address, prefixLength: width };
  if (!/^\d{1,3}$/.test(length) || Number(length) > width) return undefined;
  return { address, prefixLength: Number(length) };
}

/** An IPv4 address that is written as an IPv6 one is in the network of the IPv4 address. */
export function isInNetwork(address: IpAddress, { address: base, prefixLength }: IpNetwork) {
  const { family, bits } = base.family === 4 ? unmapped(address) : address;
  const shift = BigInt(bitWidth(base) - prefixLength);
  return family === base.family && bits >> shift === base.bits >> shift;
}

export function bitWidth({ family }: Pick<IpAddress, "family">): number {
  return family === 4 ? 32 : 128;
}

/** Node takes an address with the name of a link, `fe80::1%eth0`, for an IPv6 address as well. */
function ipFamily(text: string): 4 | 6 | undefined {
  const family = isIP(text);
  if (family === 4) return family;
  return family === 6 && !text.includes("%") ? family : undefined;
}

/** `::ffff:0:0/96`, and `64:ff9b::/96`, of which a gateway makes IPv4 addresses (RFC 6052). */
const mappedPrefixes: readonly bigint[] = [0xffffn, 0x64_ff9b_0000_0000_0000_0000n];

/** `::ffff:127.0.0.1` reaches what 127.0.0.1 reaches. */
function unmapped(address: IpAddress): IpAddress {
  const isMapped = address.family === 6 && mappedPrefixes.includes(address.bits >> 32n);
  return isMapped ? { family: 4, bits: address.bits & 0xffff_ffffn } : address;
}

function ipv4Bits(text: string): bigint {
  return text.split(".").reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

function ipv6Bits(text: string): bigint {
  const [head = [], tail = []] = text.split("::").map(groupsOf);
  const gap = Array.from({ length: 8 - head.length - tail.length }, () => 0n);
  return [...head, ...gap, ...tail].reduce((bits, group) => (bits << 16n) | group, 0n);
}

/** The last group of all may be written as an IPv4 address. */
function groupsOf(half: string): readonly bigint[] {
  if (half === "") return [];
  return half.split(":").flatMap((group) => {
    if (!group.includes(".")) return [BigInt(`0x${group}`)];
    const bits = ipv4Bits(group);
    return [bits >> 16n, bits & 0xffffn];
  });
}
