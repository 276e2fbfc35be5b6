// The address of a view is the hash: `#/journeys?service=shop/web`. The server needs to know no view,
// and a link works wherever the page is served.
import { useSyncExternalStore } from "react";

export interface Route {
  /** `["services", "shop", "web"]`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export const viewNames = [
  "now",
  "journeys",
  "services",
  "control-plane",
  "doctor",
  "incidents",
  "what-if",
] as const;
export type ViewName = (typeof viewNames)[number];

export const viewTitles: Readonly<Record<ViewName, string>> = {
  now: "Now",
  journeys: "Journeys",
  services: "Services",
  "control-plane": "Control plane",
  doctor: "Doctor",
  incidents: "Incidents",
  "what-if": "What-if",
};

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decoded);
  return { path: parts.length === 0 ? ["now"] : parts, query: new URLSearchParams(query) };
}

/** A stray percent sign in a typed address is part of the name. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function routeHref(path: readonly string[], query?: URLSearchParams): string {
  const asked = query?.toString() ?? "";
  const parts = path.map(encodeURIComponent).join("/");
  // A slash is allowed behind the question mark and is easier to read.
  return `#/${parts}${asked === "" ? "" : `?${asked.replaceAll("%2F", "/")}`}`;
}

export const serviceHref = (service: string): string =>
  routeHref(["services", ...service.split("/")]);

export function go(href: string, { replace = false } = {}): void {
  if (replace) window.history.replaceState(null, "", href);
  else window.history.pushState(null, "", href);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function follow(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  window.addEventListener("popstate", changed);
  return () => {
    window.removeEventListener("hashchange", changed);
    window.removeEventListener("popstate", changed);
  };
}

let parsed: { readonly hash: string; readonly route: Route } | undefined;

export function useRoute(): Route {
  const hash = useSyncExternalStore(follow, () => window.location.hash);
  if (parsed?.hash !== hash) parsed = { hash, route: parseRoute(hash) };
  return parsed.route;
}
