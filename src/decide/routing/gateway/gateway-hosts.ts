// Host names of listeners and routes. A wildcard of the Gateway API stands for any number of labels,
// where one of an Ingress stands for exactly one.
import { anyHost } from "../host-name.ts";

/** Whether every host of the second name is one of the first. */
export function covers(name: string, other: string): boolean {
  if (name === anyHost || name === other) return true;
  if (!name.startsWith("*.")) return false;
  const under = other.startsWith("*.") ? other.slice(1) : other;
  return under.endsWith(name.slice(1)) && under.length > name.length - 1;
}

/** The name itself, and every wildcard that covers it, the closest first. */
export function namesOver(name: string): readonly string[] {
  const labels = name.split(".");
  const wildcards = labels.slice(1).map((_, at) => `*.${labels.slice(at + 1).join(".")}`);
  return [...new Set([name, ...wildcards])];
}

/** The hosts of both, as one name; undefined where there are none. */
export function intersection(name: string, other: string): string | undefined {
  if (covers(name, other)) return other;
  return covers(other, name) ? name : undefined;
}

/** The names under which the table of routes has a host (see route.lua). */
export function tableNames(host: string): readonly string[] {
  return host.startsWith("*.") ? [host, `*${host}`] : [host];
}
