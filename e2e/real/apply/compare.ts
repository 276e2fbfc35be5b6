// Runs cases on two servers side by side and reports the differences of their answers. Values that
// must differ (times, uids, versions, addresses) are left out; `fieldsV1` is compared by its bytes.
import {
  type ApplyCase,
  type ApplyServer,
  type ApplyStep,
  type StepAnswer,
  send,
} from "./steps.ts";

export interface ApplyDifference {
  readonly case: string;
  /** From 1. */
  readonly step: number;
  readonly request: string;
  readonly embedded: string;
  readonly real: string;
}

export interface ApplyServers {
  readonly embedded: ApplyServer;
  readonly real: ApplyServer;
}

/** Ends a case at its first difference: later ones would only repeat it. */
export async function compareApplyCase(
  servers: ApplyServers,
  applyCase: ApplyCase,
  caseName: string,
): Promise<ApplyDifference | undefined> {
  for (const server of Object.values(servers)) {
    await send(server, namespaceStep, caseName);
  }
  const [ours, theirs] = [new Seen(caseName), new Seen(caseName)];
  for (const [index, step] of applyCase.steps.entries()) {
    const [embedded, real] = await Promise.all([
      send(servers.embedded, step, caseName),
      send(servers.real, step, caseName),
    ]);
    const [left, right] = [ours.comparable(embedded), theirs.comparable(real)];
    if (left !== right) {
      const request = `${step.method} ${step.path}`;
      const difference = { case: applyCase.name, step: index + 1, request };
      return { ...difference, embedded: left, real: right };
    }
  }
  return undefined;
}

const namespaceStep: ApplyStep = {
  method: "POST",
  path: "/api/v1/namespaces",
  body: { apiVersion: "v1", kind: "Namespace", metadata: { name: "{case}" } },
};

/** Set by each server alone. */
const ownFields = ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"];

/** Allocated by chance. */
const chanceFields = ["clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"];

/** The answers of one server so far: its next answer shows whether something was written. */
class Seen {
  readonly #caseName: string;
  #version: unknown;

  constructor(caseName: string) {
    this.#caseName = caseName;
  }

  comparable({ status, body, warning }: StepAnswer): string {
    const version = versionOf(body);
    const isWritten = version !== undefined && version !== this.#version;
    this.#version = version ?? this.#version;
    const answer = { status, warning, isWritten, body: normalised(body, status) };
    return JSON.stringify(answer, undefined, 1).replaceAll(this.#caseName, "{case}");
  }
}

function versionOf(body: unknown): unknown {
  const metadata = isRecord(body) ? body["metadata"] : undefined;
  return isRecord(metadata) ? metadata["resourceVersion"] : undefined;
}

function normalised(body: unknown, status: number): unknown {
  if (!isRecord(body)) return body;
  // How objects are found invalid is for other cases to compare.
  if (status === 422 && !isOptions(body)) return "Invalid";
  return status >= 400 ? sortedCauses(body) : project(body);
}

function isOptions(status: Record<string, unknown>): boolean {
  return String(status["message"]).startsWith("PatchOptions");
}

/** The real server goes through owners in no order. */
function sortedCauses(status: Record<string, unknown>): unknown {
  const details = status["details"];
  if (!isRecord(details) || !Array.isArray(details["causes"])) return status;
  const causes = details["causes"].map((cause) => JSON.stringify(cause)).sort();
  return { ...status, details: { ...details, causes } };
}

function project(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(project);
  if (!isRecord(value)) return value;
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) {
    if (key === "managedFields") {
      result[key] = managedFields(value[key]);
    } else if (ownFields.includes(key) || chanceFields.includes(key)) {
      result[key] = `<${key}>`;
    } else {
      result[key] = project(value[key]);
    }
  }
  return result;
}

/** Without times, whose order is then not known either, but with whether there is one. */
function managedFields(entries: unknown): unknown {
  if (!Array.isArray(entries)) return entries;
  return entries
    .map((entry) => {
      if (!isRecord(entry)) return String(entry);
      const { time, fieldsV1, ...rest } = entry;
      const order = Object.keys(rest).sort();
      return `${JSON.stringify(rest, order)} ${time !== undefined} ${JSON.stringify(fieldsV1)}`;
    })
    .sort();
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
