// Host names as routes have them: lower case, with a wildcard for exactly one label, or any host.

/** Every host that no rule names. */
export const anyHost = "*";

const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
const hostName = new RegExp(`^(\\*\\.)?${label}(\\.${label})*$`);
/** The longest name the DNS allows. */
const hostNameMaxLength = 253;

/** The host as a route has it; undefined for what is no host name. */
export function hostOf(host: string): string | undefined {
  if (host === "") return anyHost;
  // Beyond ASCII a letter may become another one in lower case, and two hosts would be one.
  if (host.length > hostNameMaxLength || !/^[\x21-\x7e]*$/.test(host)) return undefined;
  const lower = host.toLowerCase();
  return hostName.test(lower) ? lower : undefined;
}

const www = "www.";

/** The host with `www.`, or without where it has it; undefined where there is no such name. */
export function wwwCounterpart(host: string): string | undefined {
  if (host === anyHost || host.startsWith("*.")) return undefined;
  return hostOf(host.startsWith(www) ? host.slice(www.length) : `${www}${host}`);
}

/** The wildcard that the host is under; undefined where there is none. */
export function wildcardOver(host: string): string | undefined {
  const dot = host.indexOf(".");
  return dot < 0 || host.startsWith("*.") ? undefined : `*${host.slice(dot)}`;
}

/** Whether it stands for all names under a domain: with `*.` for one more label, with `**.` for any number. */
export function isWildcardHost(host: string): boolean {
  return host.startsWith("*.") || host.startsWith("**.");
}

/** For wildcards, which have an effect on names under them alone: the wider comes first. */
export function wildcardRank(host: string): number {
  return 2 * host.split(".").length + (host.startsWith("**.") ? 1 : 0);
}

/** The wildcards for any number of labels that the host is under, but not those of the same domain. */
export function deepWildcardsOver(host: string): readonly string[] {
  const [first, ...domain] = host.split(".");
  const labels = first === "*" || first === "**" ? domain.slice(1) : domain;
  return labels.map((_, at) => `**.${labels.slice(at).join(".")}`);
}
