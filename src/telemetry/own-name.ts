// Whether a request is meant for a listener of Lockstep, by its `Host` header. A check against web pages
// that let their own name lead to a listener on loopback.

export interface OwnNames {
  /** The listen address. */
  readonly host: string;
  /** Names that requests may be for, beside IP addresses, localhost and `host`. */
  readonly hostNames?: readonly string[];
}

/** No name ends with a number or is in brackets, so nothing else looks so. */
const addressPattern = /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\])(:\d+)?$/;

/**
 * A web page can let its own host name lead here and read the answers; it cannot do so with an
 * address, nor with localhost. A request without a host is not from a browser.
 */
export function isOwnName(
  header: string | readonly string[] | undefined,
  { host, hostNames = [] }: OwnNames,
): boolean {
  if (header === undefined) return true;
  const given = String(header).toLowerCase();
  if (addressPattern.test(given)) return true;
  const name = withoutDot(given.replace(/:\d+$/, ""));
  if (name === "localhost") return true;
  return name !== "" && [host, ...hostNames].some((own) => withoutDot(own.toLowerCase()) === name);
}

/** A name may end with the dot of the root. */
function withoutDot(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}
