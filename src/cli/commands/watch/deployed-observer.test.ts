import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { watchCommand } from "./command.ts";

const folder = new URL("../../../../deploy/", import.meta.url);

/** The objects of a file, by kind and name. */
function objectsIn(path: string): ReadonlyMap<string, RawRecord> {
  const text = readFileSync(new URL(path, folder), "utf8");
  const objects = parseAllDocuments(text).map((one): unknown => one.toJS());
  return new Map(
    objects
      .filter(isRecord)
      .map((one) => [`${String(one["kind"])} ${String(recordAt(one, "metadata")["name"])}`, one]),
  );
}

const observer = objectsIn("observer/observer.yaml");
const deployment = recordAt(observer.get("Deployment lockstep-observer") ?? {}, "spec");
const template = recordAt(deployment, "template");
const pod = recordAt(template, "spec");
const [container = {}] = listAt(pod, "containers").filter(isRecord);

test("the command that is deployed is understood", async () => {
  const [name, ...args] = listAt(container, "args").map(String);
  expect(name).toBe("watch");
  await simulate({ seed: 1 }, async (simulation) => {
    const terminal = new RecordedTerminal();
    const environment = simulation.host("observer");
    const stop = new AbortController().signal;
    const context = { environment, terminal, stop };
    const command = watchCommand(context, () => undefined);
    const { unknown, operands } = command.parseOptions(args);
    expect([unknown, operands]).toEqual([[], []]);
    expect(command.opts()).toMatchObject({
      metricsAddress: "0.0.0.0",
      metricsPort: 9464,
      history: "/var/lib/lockstep/history.db",
      maxQps: 20,
    });
  });
});

test("its rights are those of the observer, and its metrics are where Prometheus looks", () => {
  expect(
    objectsIn("rbac/observer.yaml").has(`ServiceAccount ${String(pod["serviceAccountName"])}`),
  ).toBe(true);
  const service = observer.get("Service lockstep-observer") ?? {};
  const labels = recordAt(recordAt(template, "metadata"), "labels");
  expect(labels).toMatchObject(recordAt(recordAt(service, "spec"), "selector"));
  const [port] = listAt(container, "ports").filter(isRecord);
  const [shown] = listAt(recordAt(service, "spec"), "ports").filter(isRecord);
  expect([port?.["containerPort"], shown?.["port"], shown?.["targetPort"]]).toEqual([
    9464,
    9464,
    port?.["name"],
  ]);
  for (const probe of ["readinessProbe", "livenessProbe"]) {
    expect(recordAt(recordAt(container, probe), "httpGet")["port"]).toBe(port?.["name"]);
  }
});

test("it writes nowhere but where a volume is", () => {
  expect(recordAt(container, "securityContext")["readOnlyRootFilesystem"]).toBe(true);
  const mounts = listAt(container, "volumeMounts").filter(isRecord);
  const volumes = listAt(pod, "volumes").filter(isRecord);
  expect(mounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name));
  const history = listAt(container, "args")
    .map(String)
    .find((arg) => arg.startsWith("--history="));
  expect(
    mounts.some(({ mountPath }) => history?.startsWith(`--history=${String(mountPath)}/`)),
  ).toBe(true);
});
