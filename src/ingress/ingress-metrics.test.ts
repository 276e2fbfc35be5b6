import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { LeftOutEntry } from "../outputs/nginx/entry-memory.ts";
import { ingressMetrics } from "./ingress-metrics.ts";

test("every state of an endpoint is shown, also while no endpoint is in it", async () => {
  const registry = new Registry();
  ingressMetrics(registry);
  const metric = await registry.getSingleMetric("lockstep_ingress_endpoints")?.get();
  const shown = metric?.values.map(({ labels, value }) => `${labels["state"]} ${value}`);
  expect(shown).toEqual(["active 0", "draining 0", "held 0", "suspect 0", "out 0", "overriding 0"]);
});

test("what is left out is counted by namespace, beyond a hundred together", async () => {
  const registry = new Registry();
  const entries = Array.from({ length: 300 }, (_, n): LeftOutEntry => {
    return { kind: "host", name: `${n}.example`, namespace: `n${n % 102}`, hosts: [] };
  });
  ingressMetrics(registry).replicas.add({
    readiness: { problem: undefined, notes: [] },
    watches: () => [],
    leftOut: () => entries,
    memoryUse: () => [{ memory: "routes", usedBytes: 5, capacityBytes: 3 }],
  });
  const valuesOf = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values;
  const leftOut = await valuesOf("lockstep_ingress_left_out_entries");
  expect(leftOut).toHaveLength(101);
  expect(leftOut?.find(({ labels }) => labels["namespace"] === "other")?.value).toBe(4);
  expect(await valuesOf("lockstep_ingress_memory_used_bytes")).toMatchObject([{ value: 5 }]);
  expect(await valuesOf("lockstep_ingress_memory_capacity_bytes")).toMatchObject([{ value: 3 }]);
});
