// IP addresses and networks as text, taken apart. Strict as inet_pton is: what it does not read
// in full is no address, so nothing that is passed on can be read in two ways.

export interface IpAddress {
  readonly family: 4 | 6;
  /** Four or sixteen. */
  readonly bytes: readonly number[];
}

export interface IpNetwork {
  readonly address: IpAddress;
  readonly prefixLength: number;
}

export function parseIp(text: string): IpAddress | undefined {
  const bytes = text.includes(":") ? ipv6Bytes(text) : ipv4Bytes(text);
  return bytes && { family: bytes.length === 4 ? 4 : 6, bytes };
}

/** `10.0.0.0/8`, or an address, which is a network of one. Bits beyond the prefix may be set. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [head = "", length, ...rest] = text.split("/");
  const address = parseIp(head);
  if (address === undefined || rest.length > 0) return undefined;
  const bits = address.bytes.length * 8;
  if (length === undefined) return { address, prefixLength: bits };
  if (!/^\d{1,3}$/.test(length) || Number(length) > bits) return undefined;
  return { address, prefixLength: Number(length) };
}

/** An IPv4 address that is written as an IPv6 one is in the network of the IPv4 address. */
export function isInNetwork(address: IpAddress, { address: base, prefixLength }: IpNetwork) {
  const { bytes } = base.family === 4 ? unmapped(address) : address;
  if (bytes.length !== base.bytes.length) return false;
  return base.bytes.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefixLength - index * 8));
    const mask = 0xff & (0xff << (8 - bits));
    return ((byte ^ (bytes[index] ?? 0)) & mask) === 0;
  });
}

/** `::ffff:0:0/96`, and `64:ff9b::/96`, of which a gateway makes IPv4 addresses (RFC 6052). */
const mappedPrefixes: readonly (readonly number[])[] = [
  [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff],
  [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0],
];

/** `::ffff:127.0.0.1` reaches what 127.0.0.1 reaches. */
function unmapped(address: IpAddress): IpAddress {
  const { bytes } = address;
  const found = mappedPrefixes.find((one) => one.every((byte, index) => bytes[index] === byte));
  return found === undefined ? address : { family: 4, bytes: bytes.slice(found.length) };
}

function ipv4Bytes(text: string): readonly number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part))) {
    return undefined;
  }
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 0xff) ? bytes : undefined;
}

function ipv6Bytes(text: string): readonly number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  // Only the last group of all may be written as an IPv4 address.
  const [front = "", back = ""] = halves;
  const head = groupsOf(front, { mayEmbed: halves.length === 1 });
  const tail = groupsOf(back, { mayEmbed: true });
  if (head === undefined || tail === undefined) return undefined;
  const missing = 16 - head.length - tail.length;
  // Two colons stand for at least one group; without them nothing is left out.
  if (halves.length === 2 ? missing < 2 : missing !== 0) return undefined;
  return [...head, ...Array.from({ length: missing }, () => 0), ...tail];
}

function groupsOf(
  text: string,
  { mayEmbed }: { readonly mayEmbed: boolean },
): readonly number[] | undefined {
  if (text === "") return [];
  const groups = text.split(":");
  const bytes: number[] = [];
  for (const [index, group] of groups.entries()) {
    const embedded = mayEmbed && index === groups.length - 1 ? ipv4Bytes(group) : undefined;
    if (embedded === undefined && !/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined;
    const value = Number.parseInt(group, 16);
    bytes.push(...(embedded ?? [value >> 8, value & 0xff]));
  }
  return bytes;
}
