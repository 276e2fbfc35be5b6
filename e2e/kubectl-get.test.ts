// kubectl's views of a cluster with running pods: get in all its forms, describe, logs, raw paths
// and discovery.
import { expect, it } from "vitest";
import { cells, describeKubectl } from "./kubectl-lab.ts";

describeKubectl("shows", ["--nodes", "1"], (lab) => {
  const { kubectl, refused, watched, file } = lab;

  it("applies what the others look at", async () => {
    const path = file(
      "shop.yaml",
      `apiVersion: v1
kind: Service
metadata: { name: shop }
spec:
  selector: { app: shop }
  ports: [{ name: http, port: 80, targetPort: 8080 }]
---
apiVersion: v1
kind: Pod
metadata: { name: shop-1, labels: { app: shop, tier: gold } }
spec: { containers: [{ name: shop, image: "shop:1", ports: [{ containerPort: 8080 }] }] }
---
apiVersion: v1
kind: Pod
metadata: { name: shop-2, labels: { app: shop } }
spec: { containers: [{ name: shop, image: "shop:2", ports: [{ containerPort: 8080 }] }] }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: front }
spec:
  ingressClassName: lockstep
  rules:
    - host: shop.example
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: shop, port: { number: 80 } } } }
`,
    );
    expect(await kubectl("apply", "-f", path)).toBe(
      "service/shop created\npod/shop-1 created\npod/shop-2 created\n" +
        "ingress.networking.k8s.io/front created\n",
    );
    await kubectl("wait", "pod", "-l", "app=shop", "--for=condition=Ready", "--timeout=90s");
    const addresses = "jsonpath={.subsets[*].addresses[*].ip}";
    const published = () => kubectl("get", "endpoints", "shop", "-o", addresses);
    await expect.poll(published, { timeout: 90_000 }).toMatch(/^\S+ \S+$/);
    const inSlices = "jsonpath={.items[*].endpoints[?(@.conditions.ready)].addresses[0]}";
    const selected = ["endpointslices", "-l", "kubernetes.io/service-name=shop"];
    const sliced = () => kubectl("get", ...selected, "-o", inSlices);
    await expect.poll(sliced, { timeout: 90_000 }).toMatch(/^\S+ \S+$/);
  });

  it("shows tables", async () => {
    expect(cells(await kubectl("get", "pods"))).toEqual([
      "NAME | READY | STATUS | RESTARTS | AGE",
      "shop-1 | 1/1 | Running | 0 | AGE",
      "shop-2 | 1/1 | Running | 0 | AGE",
    ]);
    expect(cells(await kubectl("get", "pod", "shop-1", "-o", "wide"))).toEqual([
      "NAME | READY | STATUS | RESTARTS | AGE | IP | NODE | NOMINATED NODE | READINESS GATES",
      "shop-1 | 1/1 | Running | 0 | AGE | POD-IP | lab-1-node-1 | <none> | <none>",
    ]);
    expect(
      cells(await kubectl("get", "svc,ep,ing", "--field-selector=metadata.name!=kubernetes")),
    ).toEqual([
      "NAME | TYPE | CLUSTER-IP | EXTERNAL-IP | PORT(S) | AGE",
      "service/shop | ClusterIP | CLUSTER-IP | <none> | 80/TCP | AGE",
      "",
      "NAME | ENDPOINTS | AGE",
      "endpoints/shop | POD-IP:8080,POD-IP:8080 | AGE",
      "",
      "NAME | CLASS | HOSTS | ADDRESS | PORTS | AGE",
      "ingress.networking.k8s.io/front | lockstep | shop.example | 80 | AGE",
    ]);
    expect(cells(await kubectl("get", "nodes"))).toEqual([
      "NAME | STATUS | ROLES | AGE | VERSION",
      "control-plane | Ready | <none> | AGE | v1.33.0+lockstep",
      "lab-1-node-1 | Ready | <none> | AGE | v1.33.0+lockstep",
    ]);
    expect(cells(await kubectl("get", "pods", "-A", "--chunk-size=2"))).toEqual([
      "NAMESPACE | NAME | READY | STATUS | RESTARTS | AGE",
      "default | shop-1 | 1/1 | Running | 0 | AGE",
      "default | shop-2 | 1/1 | Running | 0 | AGE",
      "kube-system | kube-apiserver-control-plane | 1/1 | Running | 0 | AGE",
      "kube-system | kube-controller-manager-control-plane | 1/1 | Running | 0 | AGE",
      "kube-system | kube-scheduler-control-plane | 1/1 | Running | 0 | AGE",
    ]);
  });

  it("shows labels, and sorts and selects by them and by fields", async () => {
    expect(cells(await kubectl("get", "pods", "--show-labels", "-L", "tier"))).toEqual([
      "NAME | READY | STATUS | RESTARTS | AGE | TIER | LABELS",
      "shop-1 | 1/1 | Running | 0 | AGE | gold | app=shop,tier=gold",
      "shop-2 | 1/1 | Running | 0 | AGE | app=shop",
    ]);
    const names = async (...args: string[]) =>
      (await kubectl("get", "pods", "-o", "name", ...args)).split("\n").slice(0, -1);
    expect(await names("-l", "app=shop,tier!=gold")).toEqual(["pod/shop-2"]);
    expect(await names("-l", "tier in (gold,silver)")).toEqual(["pod/shop-1"]);
    expect(await names("--field-selector=metadata.name=shop-2,status.phase=Running")).toEqual([
      "pod/shop-2",
    ]);
    expect(await names("--sort-by={.spec.containers[0].image}")).toEqual([
      "pod/shop-1",
      "pod/shop-2",
    ]);
    expect(await refused("get", "pods", "--field-selector=spec.colour=blue")).toContain(
      "field label not supported: spec.colour",
    );
  });

  it("prints objects in every format", async () => {
    const image = "{.spec.containers[0].image}";
    expect(await kubectl("get", "pod", "shop-1", "-o", `jsonpath=${image}`)).toBe("shop:1");
    const template = "{{range .items}}{{.metadata.name}} {{end}}";
    expect(await kubectl("get", "pods", "-o", `go-template=${template}`)).toBe("shop-1 shop-2 ");
    const columns = "custom-columns=POD:.metadata.name,IMAGE:.spec.containers[*].image";
    expect(cells(await kubectl("get", "pods", "-o", columns))).toEqual([
      "POD | IMAGE",
      "shop-1 | shop:1",
      "shop-2 | shop:2",
    ]);
    const object: unknown = JSON.parse(await kubectl("get", "pod", "shop-1", "-o", "json"));
    expect(object).toMatchObject({ kind: "Pod", metadata: { name: "shop-1" } });
    expect(await kubectl("get", "pods", "-o", "yaml")).toMatch(/^apiVersion: v1\nitems:\n- /);
  });

  it("watches as tables, with the events when asked", async () => {
    const watch = ["get", "pods", "-l", "watched=yes", "--watch", "--output-watch-events"];
    await kubectl("run", "seen", "--image=i", "--labels=watched=yes");
    const lines = await watched(2, watch, () => kubectl("delete", "pod", "seen", "--now"));
    expect(cells(lines.join("\n")).map((line) => line.split(" | ").slice(0, 2))).toEqual([
      ["EVENT", "NAME"],
      ["ADDED", "seen"],
    ]);
    const plain = await watched(3, ["get", "pods", "-w"], () => Promise.resolve());
    expect(cells(plain.join("\n"))).toEqual([
      "NAME | READY | STATUS | RESTARTS | AGE",
      "shop-1 | 1/1 | Running | 0 | AGE",
      "shop-2 | 1/1 | Running | 0 | AGE",
    ]);
  });

  it("describes", async () => {
    const pod = await kubectl("describe", "pod", "shop-1");
    expect(pod).toMatch(/^Name: +shop-1\nNamespace: +default\n/);
    expect(pod).toMatch(/^Node: +lab-1-node-1\/127\./m);
    expect(pod).toMatch(/^ {4}State: +Running$/m);
    const service = await kubectl("describe", "service", "shop");
    expect(service).toMatch(/^Endpoints: +127\.[\d.]+:8080,127\.[\d.]+:8080$/m);
    const node = await kubectl("describe", "node", "lab-1-node-1");
    expect(node).toMatch(/^ {2}default +shop-1 +0 \(0%\)/m);
    expect(await kubectl("describe", "ingress", "front")).toMatch(/\/ +shop:80 \(127\./);
    expect(await kubectl("describe", "endpointslices")).toMatch(/TargetRef: +Pod\/shop-1/);
    expect(await kubectl("describe", "namespace", "default")).toMatch(/^Status: +Active$/m);
  });

  it("shows logs", async () => {
    expect(await kubectl("logs", "shop-1")).toMatch(/^listening on 127\.[\d.]+, ports 8080\n$/);
    // kubectl shows the pods of a selector in no order of its own.
    const byPod = await kubectl("logs", "-l", "app=shop", "--tail=1", "--prefix");
    expect(byPod.trimEnd().split("\n").sort()).toEqual([
      expect.stringMatching(/^\[pod\/shop-1\/shop\] listening/),
      expect.stringMatching(/^\[pod\/shop-2\/shop\] listening/),
    ]);
    expect(await refused("logs", "absent")).toContain('(NotFound): pods "absent" not found');
  });

  it("discovers what there is", async () => {
    expect(await kubectl("api-versions")).toContain("discovery.k8s.io/v1\n");
    const resources = cells(await kubectl("api-resources", "--api-group=networking.k8s.io"));
    expect(resources).toEqual([
      "NAME | SHORTNAMES | APIVERSION | NAMESPACED | KIND",
      "ingressclasses | networking.k8s.io/v1 | false | IngressClass",
      "ingresses | ing | networking.k8s.io/v1 | true | Ingress",
    ]);
    expect(await kubectl("cluster-info")).toContain("Kubernetes control plane");
    expect(await kubectl("get", "--raw", "/api/v1/namespaces/default/pods/shop-1")).toContain(
      '"kind":"Pod"',
    );
    expect(await refused("get", "unicorns")).toBe(
      'error: the server doesn\'t have a resource type "unicorns"\n',
    );
    expect(await refused("top", "pods")).toBe("error: Metrics API not available\n");
  });

  it("explains fields", async () => {
    const text = await kubectl("explain", "deployment.spec.strategy");
    expect(text).toMatch(/^GROUP: +apps\nKIND: +Deployment\nVERSION: +v1\n/);
    expect(text).toMatch(/^ {2}rollingUpdate\t<RollingUpdateDeployment>$/m);
    expect(await refused("explain", "pod.spec.colour")).toBe(
      'error: field "colour" does not exist\n',
    );
  });
});
