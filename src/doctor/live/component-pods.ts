// The pods whose flags and logs say most about late endpoints: API servers, controller managers, etcd
// and ingress controllers. They are known by their labels, image or command.
import type { RawRecord } from "../../kube/kinds/fields.ts";
import { isKnownFlag } from "../evidence/settings.ts";
import { recordIn, recordsIn, textIn } from "./live-kinds.ts";

export interface ComponentPod {
  /** `kube-controller-manager`, or `ingress` for ingress controllers. */
  readonly program: string;
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  /** Where it may show its metrics, the likeliest first: `https:10257`. */
  readonly metricsPorts: readonly string[];
  /** Arguments that causes read, one flag each. */
  readonly flags: readonly string[];
}

const program = /\b(kube-apiserver|kube-controller-manager|etcd|ingress)(?![\w.]*\/)/;
const namingLabels = ["component", "k8s-app", "app", "app.kubernetes.io/name", "name"];

/** Undefined for other pods. */
export function componentPod(pod: RawRecord): ComponentPod | undefined {
  const metadata = recordIn(pod, "metadata");
  const labels = recordIn(metadata, "labels");
  const named = namingLabels.map((label) => textIn(labels, label)).join(" ");
  for (const container of recordsIn(recordIn(pod, "spec")["containers"])) {
    const args = [...textsIn(container["command"]), ...textsIn(container["args"])];
    const [command = ""] = args;
    const found = program.exec(`${named} ${command} ${textIn(container, "image")}`)?.[1];
    if (found === undefined) continue;
    return {
      program: found,
      namespace: textIn(metadata, "namespace"),
      name: textIn(metadata, "name"),
      container: textIn(container, "name"),
      metricsPorts: metricsPorts(found, args, container),
      // A flag and its value may be two arguments.
      flags: args.flatMap((arg, index) => {
        if (isKnownFlag(arg)) return [arg];
        const both = `${arg} ${args[index + 1] ?? ""}`;
        return isKnownFlag(both) ? [both] : [];
      }),
    };
  }
  return undefined;
}

/** By default: since 1.12 with a certificate, before without. Controller managers have both until 1.23. */
const usualPorts: Readonly<Record<string, readonly string[]>> = {
  "kube-controller-manager": ["https:10257", "http:10252"],
};

/** Pods of the control plane use the network of their node and seldom declare ports; flags may. */
function metricsPorts(
  component: string,
  args: readonly string[],
  container: RawRecord,
): readonly string[] {
  const usual = usualPorts[component] ?? [];
  if (usual.length === 0) return [];
  const declared = recordsIn(container["ports"])
    .filter((port) => textIn(port, "name") === "metrics")
    .flatMap(({ containerPort: port }) => [`https:${String(port)}`, `http:${String(port)}`]);
  const flagged = args.flatMap((arg) => {
    const [, name, port] = /^--(secure-port|port)=([1-9]\d*)$/.exec(arg) ?? [];
    return port === undefined ? [] : [`${name === "port" ? "http" : "https"}:${port}`];
  });
  return [...new Set([...declared, ...flagged, ...usual])];
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
