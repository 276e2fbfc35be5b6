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

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
