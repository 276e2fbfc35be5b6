// The files for Prometheus and Grafana fit the metrics: every metric in them exists, every page
// that an alert names is there, and the page about metrics names them all.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { parse } from "yaml";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import { reflectorMetrics } from "../kube/reflector/reflector-metrics.ts";
import { historyMetrics } from "./history-metrics.ts";
import { JourneyMetrics } from "./journey-metrics.ts";
import { otlpMetrics } from "./otlp-metrics.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

function metricNames(): readonly string[] {
  const registry = new Registry();
  const clock = { monotonicMs: () => 0 as MonotonicMs, wallMs: () => 0 as WallMs };
  new JourneyMetrics({ registry, clock });
  otlpMetrics(registry);
  historyMetrics(registry);
  return registry.getMetricsAsArray().map(({ name }) => name);
}

/** Rules with a name of their own, and alerts. */
function rules(): readonly RawRecord[] {
  const file: unknown = parse(read("deploy/monitoring/alerts.yaml"));
  const groups = isRecord(file) ? listAt(file, "groups").filter(isRecord) : [];
  return groups.flatMap((group) => listAt(group, "rules").filter(isRecord));
}

function panels(): readonly RawRecord[] {
  const dashboard: unknown = JSON.parse(read("deploy/monitoring/dashboard.json"));
  return isRecord(dashboard) ? listAt(dashboard, "panels").filter(isRecord) : [];
}

function queries(): readonly string[] {
  const targets = panels().flatMap((panel) => ("targets" in panel ? listAt(panel, "targets") : []));
  return [...rules(), ...targets.filter(isRecord)].map((one) => String(one["expr"]));
}

test("every metric that rules and dashboard ask for is one that is measured", () => {
  const asked = queries().flatMap((query) => query.match(/\b[a-z_:]*lockstep_\w+(:\w+)?/g) ?? []);
  const registry = new Registry();
  reflectorMetrics(registry);
  const ofWatches = registry.getMetricsAsArray().map(({ name }) => name);
  // Those of the other parts are measured by later stages, and their pages name them.
  const ofIngress = read("docs/ingress.md").match(/\blockstep_(ingress|nginx|proxy)_\w+/g) ?? [];
  const ofSync = read("docs/sync.md").match(/\blockstep_sync_\w+/g) ?? [];
  const ofTwins = read("docs/assist.md").match(/\blockstep_assist_\w+/g) ?? [];
  const recorded = rules().map((rule) => String(rule["record"]));
  const ofParts = [...ofIngress, ...ofSync, ...ofTwins];
  const known = new Set([...metricNames(), ...ofWatches, ...ofParts, ...recorded]);
  const base = (name: string) => name.replace(/_(bucket|count|sum)$/, "");
  expect(asked.filter((name) => !known.has(base(name)))).toEqual([]);
  expect(new Set(asked.map(base)).size).toBeGreaterThan(8);
});

test("every alert has a severity, says what is so, and names a page that exists; no page is left over", () => {
  const alerts = rules().filter((rule) => rule["alert"] !== undefined);
  const pages = alerts.map((alert) => {
    const { summary, description, runbook_url } = recordAt(alert, "annotations");
    expect([typeof summary, typeof description]).toEqual(["string", "string"]);
    expect(["critical", "warning"]).toContain(recordAt(alert, "labels")["severity"]);
    return String(runbook_url);
  });
  expect(pages.filter((page) => !existsSync(new URL(page, root)))).toEqual([]);
  const there = readdirSync(new URL("docs/runbooks", root)).map((name) => `docs/runbooks/${name}`);
  expect(there.filter((page) => !pages.includes(page) && !page.endsWith("README.md"))).toEqual([]);
  for (const alert of alerts) {
    const page = String(recordAt(alert, "annotations")["runbook_url"]);
    expect(read(page)).toContain(String(alert["alert"]));
  }
});

test("panels have ids of their own, lie beside each other, and ask the chosen data source", () => {
  const all = panels();
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const cells = all.flatMap((panel) => {
    const { x, y, w, h } = recordAt(panel, "gridPos");
    const count = (n: unknown) => Array.from({ length: Number(n) }, (_, index) => index);
    return count(w).flatMap((dx) => count(h).map((dy) => `${Number(x) + dx} ${Number(y) + dy}`));
  });
  expect(new Set(cells).size).toBe(cells.length);
  for (const panel of all.filter(({ type }) => type !== "row")) {
    const { type, uid } = recordAt(panel, "datasource");
    expect(type).toBe("prometheus");
    expect(uid).toMatch(/^\$\{datasource\}$/);
  }
});

test("the page about metrics names each of them", () => {
  const page = read("docs/metrics.md");
  expect(metricNames().filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
