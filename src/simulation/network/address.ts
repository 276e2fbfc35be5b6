// Addresses in the simulated network. A machine has its name; it may listen on further addresses,
// such as those of the pods on it, which then lead to it. Loopback addresses lead to the machine
// that uses them.

/** The parts of a URL that the network needs. */
export interface RequestTarget {
  readonly address: string;
  readonly port: number;
  /** Path and query. */
  readonly target: string;
}

const loopback = /^(?:127(?:\.\d{1,3}){3}|localhost|::1)$/;

export function isLoopback(address: string): boolean {
  return loopback.test(address);
}

/** The key of a listener bound to all addresses. */
export const anyAddress = "*";

/** The key of a listener on its machine. */
export function listenerKey(address: string, port: number): string {
  return `${address === "localhost" ? "127.0.0.1" : address}:${port}`;
}

export function unixKey(socketPath: string): string {
  return `unix:${socketPath}`;
}

/** Undefined when the URL is not an absolute one of http or https. */
export function parseTarget(url: string): RequestTarget | undefined {
  const match = /^(https?):\/\/(\[[^\]]+\]|[^/?#:]+)(?::(\d+))?([/?][^#]*)?/.exec(url);
  const host = match?.[2];
  if (match === null || host === undefined) return undefined;
  const address = host.startsWith("[") ? host.slice(1, -1) : host;
  const port = match[3] === undefined ? (match[1] === "https" ? 443 : 80) : Number(match[3]);
  const rest = match[4] ?? "/";
  return { address, port, target: rest.startsWith("/") ? rest : `/${rest}` };
}
