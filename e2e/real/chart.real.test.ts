// The Helm chart, judged by real helm: the plain manifests are those that it gives, wrong values are
// refused in words, and a cluster is as it was after install, upgrade, rollback and uninstall; on a real
// kube-apiserver and on the lab.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LabProcess, startLabProcess } from "../lab-process.ts";
import { realProgram } from "./harness/real-binaries.ts";
import { type RealCluster, startRealCluster, usualControllers } from "./harness/real-cluster.ts";
import { chart, HelmCluster, helmProgram, namespace, release, runProgram } from "./helm.ts";

/** helm waits for the address of a load balancer, which these clusters do not have. */
const nodePort = ["--set", "ingress.service.type=NodePort", "--wait", "--timeout", "10m"];
const install = ["install", release, chart, ...nodePort];
const upgrade = ["upgrade", release, chart, ...nodePort];

it("passes helm lint with every part switched on", async () => {
  const parts = ["reader", "observer", "doctor", "sync", "assist"];
  const needed = ["sync.kubeconfigSecret=clusters", "sync.sources={shop-1}", "sync.target=edge"];
  const values = [...parts.map((part) => `${part}.enabled=true`), ...needed];
  const all = values.flatMap((value) => ["--set", value]);
  const run = await runProgram(helmProgram(), ["lint", "--strict", chart, ...all]);
  expect([run.code, run.output]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
});

it("gives the plain manifests in deploy/", async () => {
  const run = await runProgram(process.execPath, ["scripts/render-manifests.mjs", "--check"]);
  expect(run).toEqual({ code: 0, output: "", errorOutput: "" });
});

it.each([
  ["ingress.kind=Pod", "at '/ingress/kind': value must be one of 'Deployment', 'DaemonSet'"],
  ["ingress.replicas=0", "at '/ingress/replicas': minimum: got 0, want 1"],
  ["ingress.replica=3", "at '/ingress': additional properties 'replica' not allowed"],
  ["ingress.ports.http=80", "at '/ingress/ports/http': minimum: got 80, want 1,024"],
  ["ingress.gatewayPorts.http={80}", "at '/ingress/gatewayPorts/http/0': minimum: got 80"],
  ["ingress.drainTimeoutSeconds=60", "at '/ingress/drainTimeoutSeconds': maximum: got 60, want 30"],
  ["ingress.settings.accessLog=no", "value must be one of 'file', 'stdout', 'off'"],
  ["ingress.settings.class=web", "additional properties 'class' not allowed"],
  ["ingress.secrets.scope=shop", "value must be one of 'all', 'namespaces', 'names', 'none'"],
  ["ingress.secrets.scope=names", "ingress.secrets.names is empty: name the Secrets"],
  ["ingress.secrets.scope=namespaces", "ingress.secrets.namespaces is empty: name the namespaces"],
  ["ingress.clusters.contexts={shop-1}", "ingress.clusters.kubeconfigSecret is missing"],
  ["sync.enabled=true", "sync.kubeconfigSecret is empty: name a Secret"],
  ["assist.services={web}", "at '/assist/services/0': 'web' does not match pattern"],
  ["assist.enabled=true,assist.allNamespaces=true,assist.namespaces={shop}", "exclude each other"],
  ["image.digest=latest", "at '/image/digest': 'latest' does not match pattern"],
  ["observer.extraArgs={watch}", "at '/observer/extraArgs/0': 'watch' does not match pattern"],
])("refuses %s in words", async (value, sentence) => {
  const args = ["template", release, chart, "--kube-version", "1.36.0", "--set", value];
  const run = await runProgram(helmProgram(), args);
  expect(run.code).not.toBe(0);
  expect(run.errorOutput).toContain(sentence);
});

it("opens ports for listeners of Gateways in nginx, the Service and the NetworkPolicy", async () => {
  const ports = "ingress.gatewayPorts.http={9000},ingress.gatewayPorts.https={9443}";
  const args = ["template", release, chart, "--kube-version", "1.36.0", "--set", ports];
  const { output } = await runProgram(helmProgram(), args);
  for (const line of [
    "gatewayPorts:\n    - 9000",
    "gatewayHttpsPorts:\n    - 9443",
    "- { name: gateway-9000, port: 9000, targetPort: 9000 }",
    "- { name: gateway-9443, port: 9443, targetPort: 9443 }",
    "- { port: 9000, protocol: TCP }",
    "- { port: 9443, protocol: TCP }",
  ]) {
    expect(output).toContain(line);
  }
});

describe("on a real kube-apiserver", () => {
  let cluster: RealCluster;
  let helm: HelmCluster;
  beforeAll(async () => {
    const controllers = [...usualControllers, "disruption-controller", "daemonset-controller"];
    cluster = await startRealCluster({ name: "real", nodes: 2, controllers });
    helm = new HelmCluster(cluster.plane.kubeconfig, realProgram("kubectl"));
  });
  afterAll(async () => {
    helm?.close();
    await cluster?.stop();
  });

  it("is installed, upgraded, rolled back and uninstalled, and leaves nothing", async () => {
    await helm.kubectl(["apply", "-f", "-"], serviceMonitorDefinition);
    const { before, after } = await lifeOf(helm, {
      ingress: { serviceMonitor: { enabled: true } },
    });
    expect(after).toEqual(before);
  });

  it("becomes a DaemonSet and a Deployment again", async () => {
    await helm.kubectl(["create", "namespace", namespace]).catch(() => undefined);
    const before = await helm.everything();
    await helm.helm(install);
    await helm.helm(upgrade, {
      ingress: { kind: "DaemonSet", hostPorts: { http: 80, https: 443 } },
    });
    expect(await helm.names("deployments,daemonsets")).toEqual(["daemonset.apps/lockstep-ingress"]);
    await helm.helm(["rollback", release, "1", "--wait", "--timeout", "10m"]);
    expect(await helm.names("deployments,daemonsets")).toEqual([
      "deployment.apps/lockstep-ingress",
    ]);
    await helm.helm(["uninstall", release, "--wait"]);
    expect(await helm.everything()).toEqual(before);
  });

  it("lets the accounts do what the scopes of Secrets say, and no more", async () => {
    for (const name of ["shop", "pay"]) await helm.kubectl(["create", "namespace", name]);
    const may = async (verb: string, what: string, inNamespace: string) => {
      const account = `system:serviceaccount:${namespace}:lockstep-ingress`;
      const args = ["auth", "can-i", verb, what, "-n", inNamespace, "--as", account];
      return (await helm.kubectl(args).catch(() => "no")).trim() === "yes";
    };
    const secrets = async () => [
      await may("list", "secrets", "shop"),
      await may("watch", "secrets/shop-tls", "shop"),
      await may("list", "secrets", "pay"),
    ];
    const scoped = (settings: object) => ({ ingress: { secrets: settings } });
    await helm.helm(install, scoped({ scope: "all" }));
    expect(await secrets()).toEqual([true, true, true]);
    await helm.helm(upgrade, scoped({ scope: "namespaces", namespaces: ["shop"] }));
    expect(await secrets()).toEqual([true, true, false]);
    await helm.helm(upgrade, scoped({ scope: "names", names: { shop: ["shop-tls"] } }));
    expect(await secrets()).toEqual([false, true, false]);
    await helm.helm(upgrade, scoped({ scope: "none" }));
    expect(await secrets()).toEqual([false, false, false]);
    // Without an address the status is not written, and its roles are not there.
    expect(await may("patch", "ingresses.networking.k8s.io/web", "shop")).toBe(false);
    expect(await may("create", "leases.coordination.k8s.io", namespace)).toBe(false);
    await helm.helm(["uninstall", release, "--wait"]);
  });
});

describe("on the lab", () => {
  let folder: string;
  let lab: LabProcess;
  let helm: HelmCluster;
  beforeAll(async () => {
    // A file of its own: a lab outside of this process namespace takes the lab's folder for a leftover.
    folder = mkdtempSync(join(tmpdir(), "lockstep-chart-"));
    lab = await startLabProcess("--kubeconfig", join(folder, "lab.yaml"));
    helm = new HelmCluster(lab.kubeconfig, realProgram("kubectl"));
  });
  afterAll(async () => {
    helm?.close();
    await lab?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("is installed, upgraded, rolled back and uninstalled, and leaves nothing", async () => {
    // The lab refuses kinds that none of its controllers runs.
    const notRun = { podDisruptionBudget: { enabled: false }, networkPolicy: { enabled: false } };
    const observer = { networkPolicy: { enabled: false } };
    const sync = { enabled: true, networkPolicy: { enabled: false } };
    const { before, after } = await lifeOf(helm, {
      ingress: notRun,
      observer,
      sync,
      assist: notRun,
    });
    expect(after).toEqual(before);
  });
});

interface Values {
  readonly ingress?: object;
  readonly observer?: object;
  readonly sync?: object;
  readonly assist?: object;
}

interface Contents {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** What was in the cluster before the install and after the end. */
async function lifeOf(
  helm: HelmCluster,
  { ingress, observer, sync, assist }: Values,
): Promise<Contents> {
  await helm.kubectl(["create", "namespace", namespace]);
  await helm.until("the namespace has its own objects", async () => {
    return (
      (await helm.names("configmaps")).length + (await helm.names("serviceaccounts")).length > 0
    );
  });
  const before = await helm.everything();
  const first = { ingress: { ...ingress, publishAddresses: ["192.0.2.10"] }, observer };
  await helm.helm(install, first);
  expect(await ready(helm, "lockstep-ingress")).toBe("2/2");
  const second = {
    ingress: { ...first.ingress, replicas: 3, settings: { workers: 4 } },
    observer: { ...observer, enabled: true },
    doctor: { enabled: true, logNamespaces: ["kube-system"] },
    reader: { enabled: true },
    assist: { ...assist, enabled: true },
    sync: { ...sync, sources: ["shop-1"], target: "edge", kubeconfigSecret: "clusters" },
  };
  const installed = await helm.everything();
  await helm.helm(upgrade, second);
  const parts = ["ingress", "observer", "assist"].map((part) => ready(helm, `lockstep-${part}`));
  expect(await Promise.all(parts)).toEqual(["3/3", "1/1", "2/2"]);
  await helm.helm(["rollback", release, "1", "--wait", "--timeout", "10m"]);
  // helm waits for enough ready pods; the third one may still be ending.
  await helm.until("two pods are left", async () => {
    return (await ready(helm, "lockstep-ingress")) === "2/2";
  });
  expect(withoutReleases(await helm.everything())).toEqual(withoutReleases(installed));
  await helm.helm(["uninstall", release, "--wait", "--timeout", "10m"]);
  await helm.until("the pods are gone", async () => (await helm.names("pods")).length === 0);
  return { before, after: await helm.everything() };
}

async function ready(helm: HelmCluster, name: string): Promise<string> {
  const format = "-o=jsonpath={.status.readyReplicas}/{.spec.replicas}";
  return await helm.kubectl(["get", "deployment", name, "-n", namespace, format]);
}

/** helm keeps a Secret for each revision. */
function withoutReleases(objects: readonly string[]): readonly string[] {
  return objects.filter((one) => !one.includes("/sh.helm.release."));
}

const serviceMonitorDefinition = JSON.stringify({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "servicemonitors.monitoring.coreos.com" },
  spec: {
    group: "monitoring.coreos.com",
    names: { kind: "ServiceMonitor", plural: "servicemonitors" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
});
