// The config file of `lockstep sync`: clusters, services, policies and limits. Every unknown field and
// wrong value is a problem with its line, column and correction; all are reported together.
import { InvalidArgumentError } from "commander";
import { isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { nearestNames } from "../../../decide/nearest-names.ts";
import { isClusterName } from "../../../decide/syncing/copy-names.ts";
import { type CopyForm, copyForms } from "../../../decide/syncing/plan-endpoints.ts";
import { type ImportForm, importForms } from "../../../decide/syncing/plan-import.ts";
import {
  defaultAnnotations,
  type HostMapping,
  isWildcard,
  type RuleSettings,
  type SecretConsent,
} from "../../../decide/syncing/rules/rule-settings.ts";
import type { LabelSelection } from "../../../decide/syncing/service-selection.ts";
import { type UnreachablePolicy, unreachablePolicies } from "../../../decide/truth/truth-policy.ts";
import { UsageError } from "../../command.ts";
import {
  anyText,
  choice,
  clientQps,
  duration,
  objectName,
  type Read,
  wholeNumber,
} from "../../flags.ts";

export interface ConfiguredCluster {
  /** Part of object names in the access cluster. */
  readonly name: string;
  readonly context: string;
  readonly unreachable?: UnreachablePolicy;
}

export interface SyncConfig {
  readonly kubeconfig?: string;
  readonly sources: readonly ConfiguredCluster[];
  readonly target: ConfiguredCluster;
  readonly namespaces: "all" | readonly string[];
  readonly labels: LabelSelection;
  /** Services with a ServiceExport too. */
  readonly exports: boolean;
  /** How exported services are imported. */
  readonly imports: ImportForm;
  /** Whether ServiceExports get their status. */
  readonly exportStatus: boolean;
  /** No Ingress is delivered when absent. */
  readonly ingresses?: RuleSettings;
  readonly createNamespaces: boolean;
  readonly forget: readonly string[];
  readonly followSlices: boolean;
  /** By discovery when absent. */
  readonly copyAs?: CopyForm;
  readonly probe: boolean;
  readonly damping: boolean;
  readonly unreachable?: UnreachablePolicy;
  readonly unreachableAfterMs?: number;
  readonly writesPerSecond: number;
  /** One writer at a time, and a Lease beside it for each source; no Leases when absent. */
  readonly lease?: { readonly namespace: string; readonly name: string };
  readonly statusHost: string;
  /** No status listener when absent. */
  readonly statusPort?: number;
}

/** Enough to write a rollout of 100 deployments within seconds, without loading the API server. */
export const defaultWritesPerSecond = 200;

/** Fails with all problems of the file. */
export function readSyncConfig(file: string, text: string): SyncConfig {
  const lines = new LineCounter();
  const { contents, errors } = parseDocument(text, { lineCounter: lines });
  const problems: string[] = [];
  const report: Report = (offset, message) => {
    const { line, col } = lines.linePos(offset);
    problems.push(`  ${file}:${line}:${col}: ${message}`);
  };
  for (const { pos, message } of errors) report(pos[0], message.split("\n")[0] ?? message);
  const read = problems.length === 0 ? fieldsOf(contents, report, "the file", fields) : {};
  if (problems.length === 0) checkClusters(contents, read, report);
  if (problems.length > 0) {
    throw new UsageError(`the config file is invalid:\n${problems.join("\n")}`);
  }
  return {
    namespaces: [],
    labels: {},
    exports: false,
    imports: "beside",
    exportStatus: true,
    createNamespaces: false,
    forget: [],
    followSlices: false,
    probe: true,
    damping: true,
    writesPerSecond: defaultWritesPerSecond,
    statusHost: "127.0.0.1",
    ...read,
  } as SyncConfig;
}

type Report = (offset: number, message: string) => void;

/** Undefined when the value is wrong, which has been reported. */
type Reader = (node: Node, report: Report, field: string) => unknown;

type Fields = Readonly<Record<string, Reader>>;

const clusterFields: Fields = {
  name: text(clusterName),
  context: text(anyText),
  unreachable: text(choice(unreachablePolicies)),
};

const hostFields: Fields = { from: text(anyText), to: text(anyText) };

const ingressFields: Fields = {
  classes: textMap("classes and their names in the access cluster, such as nginx: nginx"),
  hosts: list(hostMapping),
  annotations: list(text(anyText)),
  tlsSecrets: list(text(secretConsent)),
};

const fields: Fields = {
  kubeconfig: text(anyText),
  sources: list(cluster),
  target: cluster,
  namespaces: (node, report, field) =>
    isScalar(node) && node.value === "all" ? "all" : list(text(anyText))(node, report, field),
  labels: textMap("labels and their values, such as team: pay"),
  exports: yesOrNo,
  imports: text(choice(importForms)),
  exportStatus: yesOrNo,
  ingresses,
  createNamespaces: yesOrNo,
  forget: list(text(clusterName)),
  followSlices: yesOrNo,
  copyAs: text(copyForm),
  probe: yesOrNo,
  damping: yesOrNo,
  unreachable: text(choice(unreachablePolicies)),
  unreachableAfter: text(duration({ fromMs: 1_000, toMs: 86_400_000 })),
  writesPerSecond: text(clientQps),
  lease: text(objectName),
  statusHost: text(anyText),
  statusPort: text(wholeNumber(0, 65_535)),
};

/** The field of the result, where it is not the one of the file. */
const renamed: Readonly<Record<string, string>> = { unreachableAfter: "unreachableAfterMs" };

function fieldsOf(
  node: unknown,
  report: Report,
  where: string,
  known: Fields,
): Partial<SyncConfig> {
  const read: Record<string, unknown> = {};
  if (!isMap(node)) {
    const offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
    report(offset, `${where} must contain fields: ${Object.keys(known).join(", ")}`);
    return read;
  }
  for (const { key, value } of node.items) {
    const field = isScalar(key) ? String(key.value) : "";
    const reader = Object.hasOwn(known, field) ? known[field] : undefined;
    if (reader === undefined) {
      const [nearest] = nearestNames(field, Object.keys(known));
      const meant =
        nearest === undefined
          ? `; there are ${Object.keys(known).join(", ")}`
          : `; did you mean "${nearest}"?`;
      report(isNode(key) ? (key.range?.[0] ?? 0) : 0, `there is no field "${field}"${meant}`);
      continue;
    }
    // A field without a value has its default.
    if (!isNode(value) || (isScalar(value) && value.value === null)) continue;
    read[renamed[field] ?? field] = reader(value, report, field);
  }
  return read;
}

function text<Value>(read: Read<Value>): Reader {
  return (node, report, field) => {
    if (!isScalar(node)) {
      report(offsetOf(node), `${field}: it must be a single value.`);
      return undefined;
    }
    // The source text: 1.10 must not become 1.1.
    const given = node.type === "PLAIN" ? (node.source ?? "") : String(node.value);
    try {
      return read(given);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      report(offsetOf(node), `${field} cannot be ${JSON.stringify(given)}. ${error.message}`);
      return undefined;
    }
  };
}

function list(item: Reader): Reader {
  return (node, report, field) => {
    if (isSeq(node)) {
      return node.items.flatMap((one) => (isNode(one) ? [item(one, report, field)] : []));
    }
    report(offsetOf(node), `${field}: it must be a list.`);
    return undefined;
  };
}

function yesOrNo(node: Node, report: Report, field: string): unknown {
  if (isScalar(node) && typeof node.value === "boolean") return node.value;
  report(offsetOf(node), `${field}: it must be true or false.`);
  return undefined;
}

/** A context alone, or its fields; the name is the context unless given. */
function cluster(node: Node, report: Report, field: string): unknown {
  const offset = offsetOf(node);
  if (isScalar(node)) {
    const context = String(node.value);
    if (!isClusterName(context)) report(offset, `${field}: ${unusableName(context)}`);
    return { name: context, context };
  }
  const read: Partial<ConfiguredCluster> = isMap(node)
    ? fieldsOf(node, report, field, clusterFields)
    : {};
  const context = read.context ?? read.name;
  if (context === undefined) {
    report(offset, `${field}: it must be a context of the kubeconfig, or have the field context.`);
    return undefined;
  }
  const name = read.name ?? context;
  if (!isClusterName(name)) report(offset, `${field}: ${unusableName(name)}`);
  return { ...read, name, context };
}

function textMap(content: string): Reader {
  return (node, report, field) => {
    if (!isMap(node)) {
      report(offsetOf(node), `${field}: it must have ${content}.`);
      return undefined;
    }
    const pairs = node.items.flatMap(({ key, value }) =>
      isScalar(key) && isNode(value) && isScalar(value)
        ? [[String(key.value), String(value.value)] as const]
        : [],
    );
    return Object.fromEntries(pairs);
  };
}

function ingresses(node: Node, report: Report): RuleSettings | undefined {
  const read = fieldsOf(node, report, "ingresses", ingressFields) as Partial<RuleSettings>;
  if (read.classes === undefined) {
    report(offsetOf(node), "ingresses: classes is missing, such as { nginx: nginx }.");
    return undefined;
  }
  return { classes: {}, hosts: [], annotations: defaultAnnotations, tlsSecrets: [], ...read };
}

function hostMapping(node: Node, report: Report, field: string): HostMapping | undefined {
  const read = isMap(node) ? (fieldsOf(node, report, field, hostFields) as unknown) : undefined;
  const { from, to } = (read ?? {}) as Partial<HostMapping>;
  if (from !== undefined && to !== undefined && isWildcard(from) === isWildcard(to)) {
    return { from, to };
  }
  report(
    offsetOf(node),
    `${field}: it must have from and to, two host names, or two of *. and a domain.`,
  );
  return undefined;
}

function secretConsent(given: string): SecretConsent {
  const [namespace, name, ...rest] = given.split("/");
  if (namespace && namespace !== "*" && name && rest.length === 0) return { namespace, name };
  throw new InvalidArgumentError("It must be namespace/name, or namespace/* for all of it.");
}

function checkClusters(node: unknown, config: Partial<SyncConfig>, report: Report): void {
  const offset = isNode(node) ? offsetOf(node) : 0;
  const { sources = [], target, forget = [] } = config;
  if (sources.length === 0) report(offset, "sources is missing: the business clusters.");
  if (target === undefined) {
    report(offset, "target is missing: the access cluster.");
    return;
  }
  if (config.imports === "derived") checkDerived(config, offset, report);
  // A cluster imports the services that it exports too.
  const isSource = config.imports === "derived" && sources.some(({ name }) => name === target.name);
  const all = isSource ? sources : [...sources, target];
  for (const [index, one] of all.entries()) {
    const isTwice = all.slice(0, index).some(({ name }) => name === one.name);
    if (isTwice) report(offset, `the name ${one.name} is given to two clusters.`);
  }
  for (const { name } of sources) {
    if (forget.includes(name)) report(offset, `${name} is in sources and in forget: remove one.`);
  }
}

/** Copies under other names are for exported services alone. */
function checkDerived(config: Partial<SyncConfig>, offset: number, report: Report): void {
  if (config.exports !== true) report(offset, "imports: derived needs exports: true.");
  if ((config.copyAs ?? "slices") !== "slices") {
    report(offset, "imports: derived needs slices: remove copyAs.");
  }
  const { namespaces = [], labels = {} } = config;
  if (namespaces.length === 0 && Object.keys(labels).length === 0) return;
  report(offset, "imports: derived goes without namespaces and labels: exports alone select.");
}

function copyForm(given: string): CopyForm | undefined {
  return given === "auto" ? undefined : (choice(["auto", ...copyForms])(given) as CopyForm);
}

function clusterName(given: string): string {
  if (isClusterName(given)) return given;
  throw new InvalidArgumentError("It must have lower-case letters, digits and dashes, at most 63.");
}

function unusableName(name: string): string {
  return `"${name}" cannot be part of an object name: give the cluster another with the field name.`;
}

function offsetOf(node: Node): number {
  return node.range?.[0] ?? 0;
}
