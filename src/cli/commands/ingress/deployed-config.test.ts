import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { isRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { EffectiveConfig, readConfigFile } from "./config.ts";
import { ingressSettings } from "./settings.ts";

const file = new URL("../../../../deploy/ingress/ingress.yaml", import.meta.url);

/** The objects of the file, by kind. */
function deployed(): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  const objects = parseAllDocuments(readFileSync(file, "utf8")).map((one): unknown => one.toJS());
  return new Map(objects.filter(isRecord).map((one) => [String(one["kind"]), one]));
}

test("the comments name exactly the fields that count without a restart", () => {
  const comments = readFileSync(file, "utf8").match(/^# followSlices,.*?restart\.$/ms)?.[0] ?? "";
  const said = comments
    .replace(/^# /gm, "")
    .split(" apply as soon as")[0]
    ?.split(/,\s|\sand\s/);
  const live = ingressSettings.filter(({ isLive }) => isLive).map(({ field }) => field);
  expect(said?.toSorted()).toEqual(live.toSorted());
});

test("the config that is deployed can be used, and its pods have time to drain by it", () => {
  const objects = deployed();
  const data = recordAt(objects.get("ConfigMap") ?? {}, "data");
  const read = readConfigFile("lockstep.yaml", String(data["lockstep.yaml"]), ingressSettings);
  if (read.kind === "wrong") throw new Error(read.problems.join("\n"));
  const { config } = new EffectiveConfig(new Map(), read.texts);
  const template = recordAt(recordAt(objects.get("Deployment") ?? {}, "spec"), "template");
  const graceMs = Number(recordAt(template, "spec")["terminationGracePeriodSeconds"]) * 1_000;
  expect(graceMs).toBeGreaterThan((config.drainDelayMs ?? 0) + config.drainTimeoutMs);
});
