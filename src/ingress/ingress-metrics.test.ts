import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { ingressMetrics } from "./ingress-metrics.ts";

test("every state of an endpoint is shown, also while no endpoint is in it", async () => {
  const registry = new Registry();
  ingressMetrics(registry);
  const metric = await registry.getSingleMetric("lockstep_ingress_endpoints")?.get();
  const shown = metric?.values.map(({ labels, value }) => `${labels["state"]} ${value}`);
  expect(shown).toEqual(["active 0", "draining 0", "held 0", "suspect 0", "out 0", "overriding 0"]);
});
