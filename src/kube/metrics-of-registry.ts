// Several parts may report to one registry, which takes a metric of a name only once: so each set
// of metrics is made when a registry is first seen, and shared after that.
import type { Registry } from "prom-client";

export function oncePerRegistry<Metrics>(
  create: (registry: Registry) => Metrics,
): (registry: Registry) => Metrics {
  const made = new WeakMap<Registry, { readonly metrics: Metrics }>();
  return (registry) => {
    const known = made.get(registry) ?? { metrics: create(registry) };
    made.set(registry, known);
    return known.metrics;
  };
}
