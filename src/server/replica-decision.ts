// The decision of a Lockstep replica about one service, read from its status page `/endpoints`. The
// answer is another program's, so every field is checked.
import { isRecord, type RawRecord } from "../kube/kinds/fields.ts";
import { type AskProxy, jsonOf, ProxyAnswerError } from "../observe/routed/proxy-request.ts";
import type { DecidedRow, PageDecision } from "./page-source.ts";

const states: readonly DecidedRow["state"][] = ["active", "draining", "held", "suspect", "out"];

/** The name of the rule in the answers of a replica. */
const slicesRule = "follow the slices exactly";

/** Undefined when no route of the replica leads to the service. */
export async function replicaDecision(
  ask: AskProxy,
  service: string,
  signal: AbortSignal,
): Promise<PageDecision | undefined> {
  const path = `/endpoints?service=${encodeURIComponent(service)}`;
  return readDecision(jsonOf(await ask((base) => `${base}${path}`, signal)));
}

export function readDecision(answer: unknown): PageDecision | undefined {
  const { kind, ports } = fieldsOf(answer);
  if (kind === "unknown") return undefined;
  if (kind !== "known" || !Array.isArray(ports)) {
    throw new ProxyAnswerError("this is not an answer of Lockstep: expected kind and ports");
  }
  const all = ports.map(fieldsOf);
  const raw = all.flatMap(({ endpoints }) => (Array.isArray(endpoints) ? endpoints : []));
  const follows = raw.some((one) => fieldsOf(one)["rule"] === slicesRule);
  return {
    follows: follows
      ? { mode: "slices", reason: "Lockstep follows the EndpointSlices of this service exactly." }
      : { mode: "pods", reason: "Lockstep follows the pods." },
    routes: [...new Set(all.flatMap(({ routes }) => textsOf(routes)))],
    problems: all.flatMap(({ problems }) => textsOf(problems)),
    endpoints: raw.flatMap(rowOf),
  };
}

function rowOf(value: unknown): readonly DecidedRow[] {
  const { cluster, address, port, podUid, podName, state, reason, pod, published, probe, use } =
    fieldsOf(value);
  const { requests, failures } = fieldsOf(use);
  const known = states.find((one) => one === state);
  if (typeof address !== "string" || typeof port !== "number" || known === undefined) return [];
  return [
    {
      cluster: textOf(cluster),
      address,
      port,
      ...(typeof podUid === "string" && { podUid }),
      ...(typeof podName === "string" && { podName }),
      state: known,
      reason: textOf(reason),
      pod: textOf(pod),
      published: textOf(published),
      ...((probe === "answers" || probe === "silent") && { probe }),
      ...(typeof requests === "number" &&
        typeof failures === "number" && { use: { requests, failures } }),
    },
  ];
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function fieldsOf(value: unknown): RawRecord {
  return isRecord(value) ? value : {};
}
