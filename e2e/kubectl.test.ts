// The ordinary kubectl against `lockstep lab`: reads and writes without any node.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { kubectlCases } from "../tests/credentials/kubectl-answers.ts";
import { describeKubectl } from "./kubectl-lab.ts";

describeKubectl("without nodes", ["--apiservers", "2", "--nodes", "0"], (lab) => {
  const { kubectl, kubectlWith, refused, watched, file } = lab;

  it.each(kubectlCases)("reads kubeconfig files as recorded: $title", async (one) => {
    const folder = file(`case-${kubectlCases.indexOf(one)}`, "");
    rmSync(folder);
    for (const [name, text] of Object.entries(one.files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const variables = { KUBECONFIG: one.kubeconfig.map((name) => join(folder, name)).join(":") };
    const context = one.context === undefined ? [] : ["--context", one.context];
    const view = ["config", "view", "--raw", "--flatten", "--minify", "-o", "json", ...context];
    const answer = kubectlWith(variables, ...view).then(viewed, () => "refused");
    expect(await answer).toEqual(one.answer);
  });

  it("lists what every cluster has", async () => {
    expect(await kubectl("get", "namespaces", "-o", "name")).toBe(
      "namespace/default\nnamespace/kube-node-lease\nnamespace/kube-public\nnamespace/kube-system\n",
    );
    expect(await kubectl("version", "-o", "json")).toContain('"gitVersion": "v1.33.0+lockstep"');
    expect(await kubectl("api-resources", "-o", "name")).toContain(
      "endpointslices.discovery.k8s.io\n",
    );
  });

  it("dumps the cluster, components with their logs included, laid out as a recording is", async () => {
    const dump = file("dump", "");
    rmSync(dump);
    await kubectl("cluster-info", "dump", "--all-namespaces", `--output-directory=${dump}`);
    expect(readdirSync(join(dump, "kube-system")).sort()).toEqual([
      "daemonsets.json",
      "deployments.json",
      "events.json",
      "kube-apiserver-control-plane",
      "kube-apiserver-control-plane-2",
      "kube-controller-manager-control-plane",
      "kube-scheduler-control-plane",
      "pods.json",
      "replicasets.json",
      "replication-controllers.json",
      "services.json",
    ]);
    const logs = join(dump, "kube-system", "kube-scheduler-control-plane", "logs.txt");
    const title = "for container kube-scheduler of pod kube-system/kube-scheduler-control-plane";
    const lines = readFileSync(logs, "utf8").split("\n");
    expect(lines.map((line) => line.replace(/^I\d{4} [\d:.]{15}/, "I"))).toEqual([
      `==== START logs ${title} ====`,
      'I       1 server.go:171] "Starting Kubernetes Scheduler" version="v1.33.0"',
      `==== END logs ${title} ====`,
      "",
    ]);
  });

  it("creates from a file of several documents, gets in several forms, and deletes", async () => {
    const path = file(
      "shop.yaml",
      `apiVersion: v1
kind: Service
metadata: { name: shop }
spec:
  selector: { app: shop }
  ports: [{ port: 80, targetPort: 8080 }]
---
apiVersion: v1
kind: Pod
metadata: { name: shop-1, labels: { app: shop } }
spec: { containers: [{ name: shop, image: shop }] }
`,
    );
    expect(await kubectl("create", "-f", path)).toBe("service/shop created\npod/shop-1 created\n");
    expect(await kubectl("get", "pods", "-l", "app=shop", "-o", "name")).toBe("pod/shop-1\n");
    expect(
      await kubectl("get", "pods", "--field-selector", "status.phase=Pending", "-o", "name"),
    ).toBe("pod/shop-1\n");
    expect(await kubectl("get", "service", "shop", "-o", "jsonpath={.spec.ports[0]}")).toBe(
      '{"port":80,"protocol":"TCP","targetPort":8080}',
    );
    expect(await kubectl("describe", "pod", "shop-1")).toMatch(/^Name: +shop-1\n/);
    expect(await refused("create", "-f", path)).toContain('services "shop" already exists');
    expect(await kubectl("delete", "-f", path)).toMatch(
      /^service "shop" deleted.*\npod "shop-1" deleted.*\n$/,
    );
    expect(await refused("get", "pod", "shop-1")).toBe(
      'Error from server (NotFound): pods "shop-1" not found\n',
    );
  });

  it("creates typed objects, which kubectl sends in protobuf", async () => {
    await kubectl("create", "configmap", "settings", "--from-literal=colour=blue");
    expect(await kubectl("get", "configmap", "settings", "-o", "jsonpath={.data}")).toBe(
      '{"colour":"blue"}',
    );
    await kubectl("create", "secret", "generic", "password", "--from-literal=value=hidden");
    expect(await kubectl("get", "secret", "password", "-o", "jsonpath={.data.value}")).toBe(
      Buffer.from("hidden").toString("base64"),
    );
    await kubectl("create", "deployment", "web", "--image=web", "--replicas=2");
    await kubectl("scale", "deployment", "web", "--replicas=5");
    expect(await kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}")).toBe("5");
    await kubectl("delete", "deployment/web", "configmap/settings", "secret/password");
  });

  it("watches through one server what is written through another", async () => {
    await kubectl("create", "namespace", "watched");
    const create = (name: string) =>
      kubectl("--context", "lab-1-server-2", "-n", "watched", "create", "secret", "generic", name);
    await create("first");
    const watch = ["get", "secrets", "-n", "watched", "--watch", "-o", "name"];
    expect(await watched(2, watch, () => create("second"))).toEqual([
      "secret/first",
      "secret/second",
    ]);
  });

  it("labels, annotates and patches", async () => {
    await kubectl("create", "configmap", "patched", "--from-literal=a=1");
    await kubectl("label", "configmap", "patched", "tier=gold");
    await kubectl("annotate", "configmap", "patched", "note=kept");
    await kubectl("patch", "configmap", "patched", "--type=merge", "-p", '{"data":{"b":"2"}}');
    const removal = '[{"op":"remove","path":"/data/a"}]';
    await kubectl("patch", "configmap", "patched", "--type=json", "-p", removal);
    const shown = "jsonpath={.metadata.labels} {.metadata.annotations} {.data}";
    expect(await kubectl("get", "configmap", "patched", "-o", shown)).toBe(
      '{"tier":"gold"} {"note":"kept"} {"b":"2"}',
    );
    await kubectl("delete", "configmap", "patched");
  });

  it("reads raw paths", async () => {
    expect(await kubectl("get", "--raw", "/healthz")).toBe("ok");
    expect(await kubectl("get", "--raw", "/metrics")).toContain("apiserver_request_total{");
    const list: unknown = JSON.parse(
      await kubectl("get", "--raw", "/api/v1/namespaces/kube-public/secrets"),
    );
    expect(list).toMatchObject({ kind: "SecretList", apiVersion: "v1", items: [] });
  });

  it("explains what is wrong with an object", async () => {
    const misspelt = file(
      "misspelt.yaml",
      `apiVersion: v1
kind: Pod
metadata: { name: wrong }
spec: { containers: [{ name: c, image: i, prots: [] }] }
`,
    );
    expect(await refused("create", "-f", misspelt)).toContain(
      'unknown field "spec.containers[0].prots"',
    );
    const invalid = file(
      "invalid.yaml",
      `apiVersion: v1
kind: Service
metadata: { name: wrong }
spec: { ports: [{ port: 70000 }] }
`,
    );
    expect(await refused("create", "-f", invalid)).toBe(
      'The Service "wrong" is invalid: \n' +
        "* spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive\n" +
        "* spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive\n",
    );
  });
});

/** The two entries of a kubeconfig that `kubectl config view --minify` printed. */
function viewed(text: string): unknown {
  const { "current-context": context, clusters, users } = JSON.parse(text);
  return { context, cluster: clusters[0].cluster, user: users[0].user };
}
