// A pod as its kubelet sees it: what to run, how to probe its readiness, how to end it, and the
// status the API server holds, to compare with the kubelet's own.
import {
  listAt,
  optionalNumber,
  optionalRecordAt,
  optionalString,
  type RawRecord,
  recordAt,
  requiredRecord,
  requiredString,
  stringMapAt,
  stringsAt,
} from "../../kube/kinds/fields.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { Kind, ObjectMeta } from "../../kube/kinds/kind.ts";
import { objectRecord, projectMetadata } from "../../kube/kinds/metadata.ts";
import { podKind } from "../../kube/kinds/pod.ts";

export type RestartPolicy = "Always" | "OnFailure" | "Never";

export interface KubeletProbe {
  readonly type: "httpGet" | "tcpSocket";
  readonly port: number;
  /** Of `httpGet`. */
  readonly path: string;
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

export interface KubeletContainer {
  readonly name: string;
  readonly image: string;
  /** Literal values, and fields of the pod itself; nothing from other objects. */
  readonly env: StringMap;
  /** TCP only: the program speaks nothing else. */
  readonly ports: readonly number[];
  /** Undefined too for probes that run something inside the container, where nothing can run. */
  readonly readinessProbe: KubeletProbe | undefined;
  /** How long the preStop hook takes. Only hooks that sleep take time. */
  readonly preStopMs: number;
}

export interface KubeletPod {
  readonly metadata: ObjectMeta;
  readonly annotations: StringMap;
  readonly restartPolicy: RestartPolicy;
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly KubeletContainer[];
  /** As the API server has it. */
  readonly status: RawRecord;
}

export const kubeletPodKind: Kind<KubeletPod> = { ...podKind, project: projectKubeletPod };

const defaultGraceSeconds = 30;

const noEnvironment: StringMap = {};

function projectKubeletPod(raw: unknown, similar?: KubeletPod): KubeletPod {
  const object = objectRecord(raw);
  const spec = recordAt(object, "spec");
  const policy = optionalString(spec, "restartPolicy");
  const metadata = projectMetadata(object, podKind, similar?.metadata);
  return {
    metadata,
    annotations: stringMapAt(recordAt(object, "metadata"), "annotations", similar?.annotations),
    restartPolicy: policy === "Never" || policy === "OnFailure" ? policy : "Always",
    terminationGracePeriodSeconds:
      optionalNumber(spec, "terminationGracePeriodSeconds") ?? defaultGraceSeconds,
    containers: listAt(spec, "containers").map((entry) => container(entry, metadata)),
    status: recordAt(object, "status"),
  };
}

function container(entry: unknown, metadata: ObjectMeta): KubeletContainer {
  const record = requiredRecord(entry, "a container");
  const ports = listAt(record, "ports")
    .map((port) => requiredRecord(port, "a port"))
    .filter((port) => (optionalString(port, "protocol") ?? "TCP") === "TCP");
  return {
    name: requiredString(record, "name"),
    image: optionalString(record, "image") ?? "",
    env: environmentOf(listAt(record, "env"), metadata),
    ports: ports.map((port) => optionalNumber(port, "containerPort") ?? 0),
    readinessProbe: probe(optionalRecordAt(record, "readinessProbe"), ports),
    preStopMs: sleepOf(recordAt(recordAt(record, "lifecycle"), "preStop")),
  };
}

function environmentOf(entries: readonly unknown[], metadata: ObjectMeta): StringMap {
  if (entries.length === 0) return noEnvironment;
  const { name, namespace, uid } = metadata;
  const fields = new Map([
    ["metadata.name", name],
    ["metadata.namespace", namespace],
    ["metadata.uid", uid],
  ]);
  const values = entries.map((entry): [string, string] => {
    const variable = requiredRecord(entry, "a variable");
    const fieldRef = recordAt(recordAt(variable, "valueFrom"), "fieldRef");
    const field = fields.get(optionalString(fieldRef, "fieldPath") ?? "");
    return [requiredString(variable, "name"), optionalString(variable, "value") ?? field ?? ""];
  });
  return Object.fromEntries(values);
}

function probe(
  record: RawRecord | undefined,
  ports: readonly RawRecord[],
): KubeletProbe | undefined {
  if (record === undefined) return undefined;
  const type = "httpGet" in record ? "httpGet" : "tcpSocket";
  const action = optionalRecordAt(record, type);
  if (action === undefined) return undefined;
  const seconds = (field: string, otherwise: number): number =>
    (optionalNumber(record, field) || otherwise) * 1_000;
  return {
    type,
    port: portNumber(action["port"], ports),
    path: optionalString(action, "path") ?? "/",
    initialDelayMs: seconds("initialDelaySeconds", 0),
    periodMs: seconds("periodSeconds", 10),
    timeoutMs: seconds("timeoutSeconds", 1),
    successThreshold: optionalNumber(record, "successThreshold") || 1,
    failureThreshold: optionalNumber(record, "failureThreshold") || 3,
  };
}

/** A name that no port has leads to port 0, which never answers: such a pod never gets ready. */
function portNumber(port: unknown, ports: readonly RawRecord[]): number {
  if (typeof port === "number") return port;
  const named = ports.find((one) => one["name"] === port);
  return named === undefined ? 0 : (optionalNumber(named, "containerPort") ?? 0);
}

/** `sleep: {seconds: 5}`, or the command people wrote before that existed. */
function sleepOf(hook: RawRecord): number {
  const seconds = optionalNumber(recordAt(hook, "sleep"), "seconds");
  if (seconds !== undefined) return seconds * 1_000;
  const command = stringsAt(recordAt(hook, "exec"), "command").join(" ");
  const found = /^(?:\S*sh -c )?(?:\S*\/)?sleep (\d+(?:\.\d+)?)s?$/.exec(command)?.[1];
  return found === undefined ? 0 : Number(found) * 1_000;
}
