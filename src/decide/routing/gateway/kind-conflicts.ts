// HTTPRoutes and GRPCRoutes with the same hosts at one listener: only routes of one kind are attached
// there, and the oldest route decides of which. Pure.
import type { HttpRoute, RouteKindName } from "../../../kube/kinds/http-route.ts";
import { anyHost } from "../host-name.ts";
import { compareAge } from "../precedence.ts";
import { shown } from "../shown-text.ts";
import type { DecidedParent } from "./attachment.ts";
import { condition } from "./gateway-condition.ts";
import { namesOver } from "./gateway-hosts.ts";
import { httpRouteOrigin } from "./http-route-rules.ts";
import { type DecidedListener, placeOf } from "./listeners.ts";

export interface AttachedRoute {
  readonly route: HttpRoute;
  readonly parents: readonly DecidedParent[];
}

/** By route, the listeners where an older route of the other kind has its hosts. */
export type LostListeners = ReadonlyMap<HttpRoute, ReadonlySet<DecidedListener>>;

export function lostListeners(all: readonly AttachedRoute[]): LostListeners {
  const lost = new Map<HttpRoute, Set<DecidedListener>>();
  const ofGrpc = all.filter(({ route }) => route.kind === "GRPCRoute").flatMap(placesOf);
  if (ofGrpc.length === 0) return lost;
  const shared = new Set(ofGrpc);
  const rivals = all.filter((one) => placesOf(one).some((place) => shared.has(place)));
  rivals.sort((a, b) => compareAge(httpRouteOrigin(a.route), httpRouteOrigin(b.route)));
  const taken = new Map<string, Names>();
  for (const { route, parents } of rivals) {
    for (const { listener, hosts } of parents.flatMap(({ attachments }) => attachments)) {
      const place = listenerKey(listener);
      const other = taken.get(`${otherKind[route.kind]} ${place}`);
      if (hosts.some((host) => other?.meets(host) === true)) {
        lost.set(route, (lost.get(route) ?? new Set()).add(listener));
        continue;
      }
      const key = `${route.kind} ${place}`;
      const own = taken.get(key) ?? new Names();
      for (const host of hosts) own.add(host);
      taken.set(key, own);
    }
  }
  return lost;
}

/** The parent without the listeners that are lost. */
export function withoutLost(
  parent: DecidedParent,
  kind: RouteKindName,
  lost: ReadonlySet<DecidedListener>,
): DecidedParent {
  const attachments = parent.attachments.filter(({ listener }) => !lost.has(listener));
  if (attachments.length === parent.attachments.length) return parent;
  const names = parent.attachments
    .filter(({ listener }) => lost.has(listener))
    .map(({ listener }) => shown(listener.listener.name));
  const message =
    `an older ${otherKind[kind]} has a host of this route at listener ` +
    `${[...new Set(names)].join(", ")}: a listener serves a host by routes of one kind`;
  return {
    ...parent,
    attachments,
    accepted:
      attachments.length === 0
        ? condition("Accepted", false, "HostTaken", message)
        : { ...parent.accepted, message },
  };
}

const otherKind: Readonly<Record<RouteKindName, RouteKindName>> = {
  HTTPRoute: "GRPCRoute",
  GRPCRoute: "HTTPRoute",
};

function placesOf({ parents }: AttachedRoute): readonly string[] {
  return parents.flatMap(({ attachments }) =>
    attachments.map(({ listener }) => listenerKey(listener)),
  );
}

/** Listeners of one namespace with the same place and name are one. */
function listenerKey(listener: DecidedListener): string {
  return `${placeOf(listener)} ${listener.host}`;
}

/** Host names, of which some are wildcards. */
class Names {
  readonly #names = new Set<string>();
  /** The wildcards that cover one of them. */
  readonly #over = new Set<string>();

  add(name: string): void {
    this.#names.add(name);
    for (const over of namesOver(name)) this.#over.add(over);
  }

  /** Whether a host can be of both. */
  meets(name: string): boolean {
    if (this.#names.size === 0) return false;
    if (name === anyHost || this.#names.has(anyHost)) return true;
    return this.#over.has(name) || namesOver(name).some((over) => this.#names.has(over));
  }
}
