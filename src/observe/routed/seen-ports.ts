// Where pods have been seen to listen behind each part of a service that a proxy routes to by itself:
// a port of it, or a backend. A part without endpoints keeps its ports, for pods may come again; when
// the proxy gives one up, this tells which ports of pods it does not route to any more.
import type { RoutedEndpoint } from "../routed-witness.ts";

export class SeenPorts {
  /** By service, then by part. */
  readonly #services = new Map<string, Map<string, Set<number>>>();

  note(service: string, part: string, endpoints: Iterable<RoutedEndpoint>): void {
    const parts = this.#services.get(service) ?? new Map<string, Set<number>>();
    this.#services.set(service, parts);
    const ports = parts.get(part) ?? new Set<number>();
    parts.set(part, ports);
    for (const { port } of endpoints) ports.add(port);
  }

  /** Gives the ports behind the part that are behind no other one. */
  giveUp(service: string, part: string): readonly number[] {
    const parts = this.#services.get(service);
    const ports = parts?.get(part) ?? new Set<number>();
    parts?.delete(part);
    if (parts === undefined || parts.size === 0) this.#services.delete(service);
    const others = [...(parts?.values() ?? [])];
    return [...ports].filter((port) => others.every((one) => !one.has(port)));
  }
}
