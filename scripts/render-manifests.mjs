#!/usr/bin/env node
// Writes the plain manifests in deploy/ from the chart. Each file names the hash of the chart that it
// was made from, so a test without helm sees that a file is outdated.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { helmProgram, renderedKubeVersion } from "./helm.mjs";

const usage = `Usage: node scripts/render-manifests.mjs [--check]

Writes the plain manifests in deploy/ from deploy/chart with real helm, which is built once with Go.

  --check  write nothing; exit 1 if a file differs
`;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const chart = join(root, "deploy", "chart");

const namespace = `apiVersion: v1
kind: Namespace
metadata:
  name: lockstep
`;

const account = (name) =>
  `Get a token for the kubeconfig with:\n  kubectl -n lockstep create token ${name}`;

/** Two business clusters; the user replaces their names. */
const sync = {
  enabled: true,
  kubeconfigSecret: "lockstep-clusters",
  sources: ["shop-1", "shop-2"],
  target: "edge",
};

const ingresses = { classes: { nginx: "nginx" }, tlsSecrets: ["shop/web-tls"] };
const readIngresses = { ingresses: true, tlsSecrets: ingresses.tlsSecrets };

/** Each file: its purpose, the templates it is made from, and their values. */
export const manifests = [
  {
    file: "rbac/access-cluster-ingress.yaml",
    purpose:
      "Permissions of `lockstep ingress` in the cluster with the Ingresses: read them, write their\n" +
      "status and Events, and elect a leader for this. If this cluster also runs the pods, apply\n" +
      "business-cluster.yaml too; ingress/ingress.yaml binds lockstep-reader to this account.",
    templates: ["ingress/roles"],
    values: {
      ingress: {
        publishAddresses: ["192.0.2.10"],
        clusters: { kubeconfigSecret: "lockstep-clusters" },
      },
    },
    hasNamespace: true,
  },
  {
    file: "rbac/access-cluster-gateways.yaml",
    purpose:
      "Permissions of `lockstep ingress` for the Gateway API, beside access-cluster-ingress.yaml. They\n" +
      "are not needed where its definitions are not installed. docs/gateway.md says what is supported.",
    templates: ["ingress/gateways"],
    values: { ingress: { gateways: true, publishAddresses: ["192.0.2.10"] } },
  },
  {
    file: "rbac/business-cluster.yaml",
    purpose:
      "Permissions of `lockstep ingress` and `lockstep sync` in a cluster with pods: read only. The\n" +
      `observer has its own role in observer.yaml. ${account("lockstep-reader --duration 8760h")}`,
    templates: ["reader/roles"],
    values: { ingress: { enabled: false }, reader: { enabled: true } },
    hasNamespace: true,
  },
  {
    file: "rbac/export-status.yaml",
    purpose:
      "Optional, after business-cluster.yaml: lets `lockstep sync` write the status of ServiceExports,\n" +
      "which shows their owners whether they are valid, imported, and in conflict with other exports. It\n" +
      "is the only thing that Lockstep writes in a cluster that it copies from.",
    templates: ["reader/export-status"],
    values: { ingress: { enabled: false }, reader: { enabled: true, exportStatus: true } },
  },
  {
    file: "rbac/observer.yaml",
    purpose:
      "Permissions of `lockstep watch` in each observed cluster: list and watch only. If one is\n" +
      "missing, the start prints which hop becomes unknown. " +
      account("lockstep-observer --duration 8760h"),
    templates: ["observer/roles"],
    values: { ingress: { enabled: false }, observer: { enabled: true } },
    hasNamespace: true,
  },
  {
    file: "rbac/doctor.yaml",
    purpose:
      "Permissions of `lockstep doctor --context` in each examined cluster: get, list and watch only.\n" +
      'If one is missing, the report names it under "Could not be examined". ' +
      account("lockstep-doctor --duration 1h"),
    templates: ["doctor/roles"],
    values: { ingress: { enabled: false }, doctor: { enabled: true } },
    hasNamespace: true,
  },
  {
    file: "rbac/access-cluster-sync.yaml",
    purpose:
      "Permissions of `lockstep sync` in the target cluster: write copies of services and slices. Lockstep\n" +
      "changes only objects that it created; RBAC cannot express this rule.",
    templates: ["sync/roles"],
    values: { ingress: { enabled: false }, sync },
    hasNamespace: true,
  },
  {
    file: "rbac/access-cluster-sync-ingresses.yaml",
    purpose:
      "Permissions of `lockstep sync` in the target cluster to deliver Ingresses, and the TLS secret\n" +
      "shop/web-tls as an example. Apply it only with `ingresses` in the config file, after\n" +
      "access-cluster-sync.yaml; remove or repeat the role of the secret.",
    templates: ["sync/ingresses"],
    values: { ingress: { enabled: false }, sync: { ...sync, settings: { ingresses } } },
  },
  {
    file: "rbac/business-cluster-ingresses.yaml",
    purpose:
      "Permissions of `lockstep sync` in a business cluster to read Ingresses, and the TLS secret\n" +
      "shop/web-tls as an example. Apply it only with `ingresses` in the config file, after\n" +
      "business-cluster.yaml; remove or repeat the role of the secret.",
    templates: ["reader/ingresses"],
    values: { ingress: { enabled: false }, reader: { enabled: true, ...readIngresses } },
  },
  {
    file: "sync/sync.yaml",
    purpose:
      "`lockstep sync` as a Deployment of two instances in the access cluster: one writes, the other is\n" +
      "the standby. Apply rbac/access-cluster-sync.yaml first, and rbac/business-cluster.yaml in each\n" +
      "business cluster. Replace the names of the clusters, and put a kubeconfig with these contexts\n" +
      "into the Secret lockstep-clusters.",
    templates: ["sync/workload"],
    values: { ingress: { enabled: false }, sync },
  },
  {
    file: "rbac/assist.yaml",
    purpose:
      "Permissions of `lockstep assist`: read services, pods, nodes and slices; write twins, their\n" +
      "slices, its Lease and its counts. Lockstep changes only objects that it created; RBAC cannot\n" +
      "express this rule. The watches are for the whole cluster, so RoleBindings in single namespaces\n" +
      "are not enough.",
    templates: ["assist/roles"],
    values: { ingress: { enabled: false }, assist: { enabled: true } },
    hasNamespace: true,
  },
  {
    file: "assist/assist.yaml",
    purpose:
      "`lockstep assist` as a Deployment of two replicas: one leads, the other stands by. Apply\n" +
      "rbac/assist.yaml first, and build the image with scripts/build-image.mjs.\n\n" +
      "Only Services with the label lockstep.dev/assist=true get a twin here. docs/assist.md has the\n" +
      "steps.",
    templates: ["assist/workload"],
    values: { ingress: { enabled: false }, assist: { enabled: true } },
  },
  {
    file: "ingress/ingress.yaml",
    purpose:
      "`lockstep ingress` as a Deployment of two replicas, for a cluster with both the Ingresses and\n" +
      "the pods. Apply rbac/access-cluster-ingress.yaml and rbac/business-cluster.yaml first. Replace\n" +
      "192.0.2.10 by the address of your load balancer, and build the image with\n" +
      "scripts/build-image.mjs.\n\n" +
      "Try the shadow first: with `shadow: true` in the ConfigMap, Lockstep serves and writes nothing.\n" +
      "Its log shows where pods and EndpointSlices differ for the ingress you have.",
    templates: ["ingress/own-cluster", "ingress/config", "ingress/workload", "ingress/network"],
    values: { ingress: { publishAddresses: ["192.0.2.10"] } },
  },
  {
    file: "observer/observer.yaml",
    purpose:
      "`lockstep watch` as a Deployment: measures every endpoint change at every hop, for Prometheus,\n" +
      "for a trace store, and for `lockstep journeys` inside the pod. It only reads, and works beside\n" +
      "any ingress. Apply rbac/observer.yaml first.\n\n" +
      "It observes its own cluster. For several clusters, put a kubeconfig with a context for each into\n" +
      "a Secret, mount it, and add --kubeconfig and --all-contexts. Each cluster needs\n" +
      "rbac/observer.yaml. Use one observer for all, so that all hops are on one clock.",
    templates: ["observer/workload"],
    values: { ingress: { enabled: false }, observer: { enabled: true } },
  },
];

/** Of everything that the files depend on. */
export function chartHash() {
  const hash = createHash("sha256");
  const files = readdirSync(chart, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const path of files) hash.update(path.slice(chart.length)).update(readFileSync(path));
  return hash.digest("hex").slice(0, 16);
}

/** The text of one file. */
export function rendered(helm, { purpose, templates, values, hasNamespace }) {
  const shown = templates.flatMap((name) => ["--show-only", `templates/${name}.yaml`]);
  const target = [
    "lockstep",
    chart,
    "--namespace",
    "lockstep",
    "--kube-version",
    renderedKubeVersion,
  ];
  const args = ["template", ...target, "--values", "-", ...shown];
  const run = spawnSync(helm, args, { input: JSON.stringify(values), encoding: "utf8" });
  if (run.status !== 0) throw new Error(`helm template failed:\n${run.stderr}`);
  const objects = run.stdout
    .replace(/^---\n# Source: .*\n/gm, "---\n")
    // Nothing here was installed by helm.
    .replace(/^ *app\.kubernetes\.io\/managed-by: .*\n/gm, "");
  const head = `${purpose}\n\nMade by scripts/render-manifests.mjs from deploy/chart (${chartHash()}); do not edit.`;
  const comment = head.replace(/^(.*)$/gm, (line) => (line === "" ? "#" : `# ${line}`));
  return `${comment}\n${hasNamespace ? namespace : ""}${objects.replace(hasNamespace ? /^$/ : /^---\n/, "")}`;
}

function main(args) {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(usage);
    return 0;
  }
  const unknown = args.find((one) => one !== "--check");
  if (unknown !== undefined) {
    process.stderr.write(`There is no option ${unknown}.\n\n${usage}`);
    return 2;
  }
  const helm = helmProgram((line) => process.stderr.write(`${line}\n`));
  let outdated = 0;
  for (const manifest of manifests) {
    const path = join(root, "deploy", manifest.file);
    const text = rendered(helm, manifest);
    if (args.includes("--check")) {
      if (readFileSync(path, "utf8") === text) continue;
      process.stderr.write(`deploy/${manifest.file} is not what the chart gives\n`);
      outdated += 1;
    } else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
  }
  return outdated === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = main(process.argv.slice(2));
}
