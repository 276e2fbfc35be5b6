// The addresses of clients in logs. Over sockets these are the real ones. The machines of a
// simulation have names, so each gets an address when it is first seen, unless the cluster has one
// for it.

export interface PeerAddressesOptions {
  /** The address of a machine; undefined for machines without one. */
  readonly known?: (machine: string) => string | undefined;
  /** The first two octets of the addresses of the others; `192.168` unless given. */
  readonly network?: string;
}

const defaultNetwork = "192.168";
const hostsPerOctet = 254;

export class PeerAddresses {
  readonly #known: (machine: string) => string | undefined;
  readonly #network: string;
  readonly #given = new Map<string, string>();

  constructor(options: PeerAddressesOptions = {}) {
    this.#known = options.known ?? (() => undefined);
    this.#network = options.network ?? defaultNetwork;
  }

  /** `peer` is `host:port`. */
  address(peer: string): string {
    const [host] = split(peer);
    return isAddress(host) ? host : (this.#known(host) ?? this.#give(host));
  }

  withPort(peer: string): string {
    const [, port] = split(peer);
    const address = this.address(peer);
    return `${address.includes(":") ? `[${address}]` : address}:${port}`;
  }

  #give(host: string): string {
    const given = this.#given.get(host);
    if (given !== undefined) return given;
    const index = this.#given.size;
    const address = `${this.#network}.${Math.floor(index / hostsPerOctet)}.${(index % hostsPerOctet) + 1}`;
    this.#given.set(host, address);
    return address;
  }
}

function split(peer: string): readonly [host: string, port: string] {
  const colon = peer.lastIndexOf(":");
  if (colon < 0) return [peer, "0"];
  return [peer.slice(0, colon).replace(/^\[|\]$/g, ""), peer.slice(colon + 1)];
}

function isAddress(host: string): boolean {
  return /^\d+(?:\.\d+){3}$/.test(host) || host.includes(":");
}
