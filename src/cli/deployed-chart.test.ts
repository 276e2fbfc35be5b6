// The chart fits the product: its schema knows the settings, and its version is the package's. Real helm
// renders and installs it in e2e/real.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { isRecord, type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import { readConfigFile } from "./commands/ingress/config.ts";
import { ingressSettings } from "./commands/ingress/settings.ts";
import { readSyncConfig } from "./commands/sync/config.ts";

const deploy = new URL("../../deploy/", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, deploy), "utf8");

function record(value: unknown): RawRecord {
  if (!isRecord(value)) throw new Error("an object is expected");
  return value;
}

const ingressSchema = recordAt(
  recordAt(recordAt(record(JSON.parse(read("chart/values.schema.json"))), "properties"), "ingress"),
  "properties",
);
const settings = recordAt(recordAt(ingressSchema, "settings"), "properties");
const parts = read("chart/templates/_parts.tpl");

/** Fields that the chart sets itself, or that make no sense in a pod. */
const ownFields =
  "class httpPort httpsPort statusPort statusAddress prefix replaceState drainDelay drainTimeout " +
  "publishAddresses deposeGhosts kubeconfig contexts accessContext lease takeOver keepNginx grpcPort " +
  "listen upstreamCa snapshot gatewayAddresses gatewayPorts gatewayHttpsPorts";
const isOwn = (field: string) => ownFields.split(" ").includes(field);

test("chart and package have one version", () => {
  const { version } = record(JSON.parse(read("../package.json")));
  const chart = record(parse(read("chart/Chart.yaml")));
  expect([chart["version"], chart["appVersion"]]).toEqual([version, version]);
});

test("the schema knows every setting that is not the chart's own", () => {
  const fields = ingressSettings.map(({ field }) => field);
  expect(ownFields.split(" ").filter((field) => !fields.includes(field))).toEqual([]);
  expect(Object.keys(settings).toSorted()).toEqual(
    fields.filter((field) => !isOwn(field)).toSorted(),
  );
});

test("every choice that the schema allows for a setting is understood", () => {
  for (const [field, schema] of Object.entries(settings)) {
    const choices = record(schema)["enum"];
    for (const choice of Array.isArray(choices) ? choices : []) {
      const file = readConfigFile("lockstep.yaml", `${field}: ${choice}\n`, ingressSettings);
      expect([field, choice, file.kind]).toEqual([field, choice, "read"]);
      const setting = ingressSettings.find((one) => one.field === field);
      expect(setting?.parse([String(choice)])).toBe(choice);
    }
  }
});

test("a changed setting starts new pods unless it applies without a restart", () => {
  const [, omitted = ""] = /omit \$config((?: "\w+")+)/.exec(parts) ?? [];
  const live = ingressSettings.filter(({ isLive }) => isLive).map(({ field }) => field);
  const fields = omitted.split(" ").filter((one) => one !== "");
  expect(fields.toSorted()).toEqual(live.map((field) => `"${field}"`).toSorted());
});

test("the config file of sync that is deployed is understood", () => {
  const objects = parseAllDocuments(read("sync/sync.yaml")).map((one): unknown => one.toJS());
  const map = objects.filter(isRecord).find(({ kind }) => kind === "ConfigMap") ?? {};
  const text = String(recordAt(map, "data")["sync.yaml"]);
  expect(readSyncConfig("sync.yaml", text)).toMatchObject({
    sources: [{ context: "shop-1" }, { context: "shop-2" }],
    target: { context: "edge" },
    lease: { namespace: "lockstep", name: "lockstep-sync" },
  });
});
