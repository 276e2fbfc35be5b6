// Entries that do not fit into the proxy's memory, as problems of their Ingresses and as text for
// the operator. The memory use of each namespace decides which are left out (decide/fair-share.ts).
import { claimsInSteps } from "../decide/routing/certificate-claims.ts";
import type { RouteOrigin, RoutingProblem } from "../decide/routing/route.ts";
import type { Steps } from "../environment/steps.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import type { LeftOutEntry, MemoryUse } from "../outputs/nginx/entry-memory.ts";

/** The memory of the output and the entries that do not fit. */
export interface LeftOutSource {
  leftOut(): readonly LeftOutEntry[];
  memoryUse(): readonly MemoryUse[];
  /** Rises whenever something else is left out than before. */
  readonly leftOutRevision: number;
}

/** The objects that need an entry. */
export interface AskedBy {
  /** Of the rules of a host. */
  readonly ofHost: (host: string) => Iterable<RouteOrigin>;
  /** Of what leads to a service, by its key. */
  readonly ofService: (key: string) => Iterable<RouteOrigin>;
  readonly ingresses: () => readonly Ingress[];
}

/** Of one namespace; an author who has mended these sees the next. */
const maxReportedPerNamespace = 100;

/** In one line of /readyz. */
const maxNamed = 3;

/** Lines of /readyz. */
const maxNotes = 20;

export class LeftOutProblems {
  /** By message and object; a problem stays the same object while it stands. */
  #known = new Map<string, RoutingProblem>();

  *problems(entries: readonly LeftOutEntry[], askedBy: AskedBy): Steps<readonly RoutingProblem[]> {
    const now = new Map<string, RoutingProblem>();
    const reported = firstOfEach(entries);
    const claimants = yield* claimantsOf(reported, askedBy.ingresses);
    for (const entry of reported) {
      const message = messageOf(entry);
      for (const origin of claimants.get(entry) ?? routedOrigins(entry, askedBy)) {
        const key = `${origin.namespace}/${origin.name} ${message}`;
        const known = this.#known.get(key);
        const isSame = known?.origin === origin;
        now.set(key, isSame ? known : { origin, reason: "MemoryShareExceeded", message });
      }
    }
    this.#known = now;
    return [...now.values()];
  }
}

/** One line for each namespace that has something left out. */
export function leftOutNotes(entries: readonly LeftOutEntry[]): readonly string[] {
  const notes = [...byNamespace(entries)].map(([namespace, own]) => {
    const named = own.slice(0, maxNamed).map(({ kind, name }) => `${kindNames[kind]} ${name}`);
    const more = own.length > maxNamed ? ` and ${own.length - maxNamed} more` : "";
    return `namespace ${namespace} exceeds its share of the proxy's memory; left out: ${named.join(", ")}${more}`;
  });
  const rest = notes.length - maxNotes;
  return rest > 0
    ? [...notes.slice(0, maxNotes), `${rest} more namespaces exceed their share`]
    : notes;
}

function firstOfEach(entries: readonly LeftOutEntry[]): readonly LeftOutEntry[] {
  return [...byNamespace(entries).values()].flatMap((own) => own.slice(0, maxReportedPerNamespace));
}

export function byNamespace(
  entries: readonly LeftOutEntry[],
): ReadonlyMap<string, readonly LeftOutEntry[]> {
  const found = new Map<string, LeftOutEntry[]>();
  for (const entry of entries) {
    const own = found.get(entry.namespace);
    if (own === undefined) found.set(entry.namespace, [entry]);
    else own.push(entry);
  }
  return found;
}

const kindNames: Readonly<Record<LeftOutEntry["kind"], string>> = {
  host: "host",
  policy: "the policy",
  service: "service",
  certificate: "certificate",
  serverName: "the certificate for",
  users: "the users of",
};

function messageOf({ kind, name, namespace, hosts }: LeftOutEntry): string {
  const why = `namespace ${namespace} exceeds its share of the proxy's memory`;
  switch (kind) {
    case "host":
      return `host ${name}: ${why}, so its requests are answered with 503`;
    case "policy":
      return `annotations of host ${hosts[0] ?? ""}: ${why}, so requests are answered with 503`;
    case "service":
      return `backend ${name}: ${why}, so its requests are answered with 503`;
    case "certificate":
      return `secret ${name}: ${why}, so its certificate is not used`;
    case "serverName":
      return `TLS host ${name}: ${why}, so its certificate is not used`;
    case "users":
      return `users of ${name}: ${why}, so requests are answered with 503`;
  }
}

function routedOrigins(
  { kind, name, hosts }: LeftOutEntry,
  { ofHost, ofService }: AskedBy,
): ReadonlySet<RouteOrigin> {
  if (kind === "service") return new Set(ofService(name));
  return new Set(hosts.flatMap((one) => [...ofHost(one)]));
}

/**
 * The Ingresses that need entries which no route names; reads every Ingress once for all entries.
 */
function* claimantsOf(
  entries: readonly LeftOutEntry[],
  ingresses: AskedBy["ingresses"],
): Steps<ReadonlyMap<LeftOutEntry, ReadonlySet<RouteOrigin>>> {
  const wanted = { certificate: new Map(), serverName: new Map(), users: new Map() } as Record<
    "certificate" | "serverName" | "users",
    Map<string, Set<RouteOrigin>>
  >;
  const found = new Map<LeftOutEntry, ReadonlySet<RouteOrigin>>();
  for (const entry of entries) {
    const { kind, name } = entry;
    if (kind === "host" || kind === "policy" || kind === "service") continue;
    const origins = wanted[kind].get(name) ?? new Set();
    wanted[kind].set(name, origins);
    found.set(entry, origins);
  }
  if (found.size === 0) return found;
  for (const ingress of ingresses()) {
    const { origin, claims, aliases, passwords } = yield* claimsInSteps(ingress);
    if (passwords !== undefined) wanted.users.get(passwords.key)?.add(origin);
    for (const { key, name } of [...claims, ...aliases]) {
      wanted.certificate.get(key)?.add(origin);
      wanted.serverName.get(name)?.add(origin);
      yield;
    }
  }
  return found;
}
