// The controllers of ingress-nginx among workloads, with the flags they were started with. The flags
// name the ConfigMaps and the classes that count.
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
} from "../kube/kinds/fields.ts";

export interface IngressNginx {
  /** `Deployment ingress-nginx/ingress-nginx-controller`. */
  readonly name: string;
  readonly namespace: string;
  /** By name without dashes; a flag without a value is `true`. */
  readonly flags: ReadonlyMap<string, string>;
}

/** The value of IngressClass.spec.controller that it serves unless a flag says otherwise. */
export const usualController = "k8s.io/ingress-nginx";

/** The class of the annotation that it serves unless a flag says otherwise. */
export const usualClass = "nginx";

/** The program in its image, and a part of the image's name. */
const program = "nginx-ingress-controller";
const image = "ingress-nginx/controller";

/** Undefined for any other workload. */
export function ingressNginxOf(kind: string, raw: RawRecord): IngressNginx | undefined {
  const spec = recordAt(raw, "spec");
  const pod = kind === "Pod" ? spec : recordAt(recordAt(spec, "template"), "spec");
  const metadata = recordAt(raw, "metadata");
  const namespace = optionalString(metadata, "namespace") ?? "";
  for (const container of listAt(pod, "containers").filter(isRecord)) {
    const words = [...textsAt(container, "command"), ...textsAt(container, "args")];
    const isOne =
      words.some((word) => word.split("/").at(-1) === program) ||
      (optionalString(container, "image") ?? "").includes(image);
    if (!isOne) continue;
    const name = `${kind} ${namespace}/${optionalString(metadata, "name") ?? ""}`;
    return { name, namespace, flags: flagsOf(words, namespace) };
  }
  return undefined;
}

function textsAt(record: RawRecord, field: string): readonly string[] {
  return listAt(record, field).filter((one) => typeof one === "string");
}

/** `--name=value`, `--name value` or `--name`. */
function flagsOf(words: readonly string[], namespace: string): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (const [index, word] of words.entries()) {
    const [, name, given] = /^--?([a-z0-9-]+)(?:=([\s\S]*))?$/i.exec(word) ?? [];
    if (name === undefined) continue;
    const next = words[index + 1];
    const following = next === undefined || next.startsWith("-") ? "true" : next;
    // The variables of the manifests that ingress-nginx publishes.
    const value = (given ?? following).replace(/\$\(POD_NAMESPACE\)/g, namespace);
    flags.set(name, value);
  }
  return flags;
}
