// Effects over several requests: deletion that waits, pods that end with grace, namespaces that
// close, owners, bindings, scales.
import type { CaseWorld, ContractCase } from "../contract-case.ts";

export const lifecycleCases: readonly ContractCase[] = [
  lifeCase("an object with a finalizer waits for it", finalizer),
  lifeCase("no finalizer is added to an object being deleted", lateFinalizer),
  lifeCase("the deletion policy becomes a finalizer", deletionPolicies),
  lifeCase("preconditions of a deletion", preconditions),
  lifeCase("a pod that nobody runs goes at once", unscheduledPod),
  lifeCase("a pod on a node is given time", gracefulPod),
  lifeCase("a pod's time may only be shortened", shortenedGrace),
  lifeCase("a pod is bound to a node once", binding),
  lifeCase("a pod's spec is nearly fixed", podUpdates),
  lifeCase("a pod's status has its rules", podStatus),
  lifeCase("a namespace closes before it goes", namespaceLife),
  lifeCase("a namespace of the system stays", systemNamespace),
  lifeCase("owners are checked", owners),
  lifeCase("a deployment is scaled", scale),
  lifeCase("frozen settings stay frozen", frozen),
  lifeCase("a secret keeps its type", secretType),
  lifeCase("a lease is written with its version", lease),
  lifeCase("a selector cannot change", selectors),
  lifeCase("generations count changes of the spec", generations),
  lifeCase("secrets of known types need their keys", secretTypes),
];

function lifeCase(name: string, run: (world: CaseWorld) => Promise<void>): ContractCase {
  return {
    area: "lifecycles",
    name,
    async run(world) {
      await world.open();
      await run(world);
    },
  };
}

const merge = { contentType: "application/merge-patch+json" };

function path({ name }: CaseWorld, resource: string, group = ""): string {
  return `${group === "" ? "/api/v1" : `/apis/${group}`}/namespaces/${name}/${resource}`;
}

function configMap(name: string, metadata: object = {}, rest: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, ...rest };
}

function pod(name: string, spec: object = {}, metadata: object = {}): object {
  const containers = [{ name: "web", image: "nginx:1" }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...metadata },
    spec: { containers, ...spec },
  };
}

async function finalizer(world: CaseWorld): Promise<void> {
  const maps = path(world, "configmaps");
  await world.call("POST", maps, configMap("a", { finalizers: ["example.com/hold"] }));
  await world.call("DELETE", `${maps}/a`);
  await world.call("DELETE", `${maps}/a`);
  await world.call("PATCH", `${maps}/a`, { data: { still: "there" } }, merge);
  await world.call("PATCH", `${maps}/a`, { metadata: { finalizers: [] } }, merge);
  await world.call("GET", `${maps}/a`);
  await world.call("POST", maps, configMap("b", { finalizers: ["hold"] }));
  await world.call("POST", maps, configMap("b", { finalizers: ["Bad_/x", "orphan"] }));
}

async function lateFinalizer(world: CaseWorld): Promise<void> {
  const maps = path(world, "configmaps");
  await world.call("POST", maps, configMap("a", { finalizers: ["example.com/hold"] }));
  await world.call("DELETE", `${maps}/a`);
  const finalizers = ["example.com/hold", "example.com/more"];
  await world.call("PATCH", `${maps}/a`, { metadata: { finalizers } }, merge);
}

async function deletionPolicies(world: CaseWorld): Promise<void> {
  const maps = path(world, "configmaps");
  for (const [name, options] of [
    ["a", { propagationPolicy: "Foreground" }],
    ["b", { propagationPolicy: "Orphan" }],
    ["c", { propagationPolicy: "Background" }],
    ["d", { orphanDependents: true }],
    ["e", { orphanDependents: false }],
  ] as const) {
    await world.call("POST", maps, configMap(name));
    await world.call("DELETE", `${maps}/${name}`, options);
    await world.call("GET", `${maps}/${name}`);
  }
}

async function preconditions(world: CaseWorld): Promise<void> {
  const maps = path(world, "configmaps");
  const made = await world.call("POST", maps, configMap("a"));
  const { uid, resourceVersion } = (made.body as { metadata: Record<string, string> }).metadata;
  await world.call("DELETE", `${maps}/a`, { preconditions: { uid: "other" } });
  await world.call("DELETE", `${maps}/a`, { preconditions: { uid, resourceVersion: "3" } });
  await world.call("DELETE", `${maps}/a`, { preconditions: { uid, resourceVersion } });
}

async function unscheduledPod(world: CaseWorld): Promise<void> {
  const pods = path(world, "pods");
  await world.call("POST", pods, pod("a"));
  await world.call("DELETE", `${pods}/a`);
  await world.call("GET", `${pods}/a`);
}

async function gracefulPod(world: CaseWorld): Promise<void> {
  const pods = path(world, "pods");
  await world.call("POST", pods, pod("a", { nodeName: "node-1" }));
  await world.call("DELETE", `${pods}/a`);
  await world.call("GET", `${pods}/a`);
  await world.call("DELETE", `${pods}/a?gracePeriodSeconds=0`);
  await world.call("GET", `${pods}/a`);
  await world.call(
    "POST",
    pods,
    pod("b", { nodeName: "node-1", terminationGracePeriodSeconds: 0 }),
  );
  await world.call("DELETE", `${pods}/b`);
  await world.call("POST", pods, pod("c", { nodeName: "node-1" }));
  await world.call("PATCH", `${pods}/c/status`, { status: { phase: "Succeeded" } }, merge);
  await world.call("DELETE", `${pods}/c`);
}

async function shortenedGrace(world: CaseWorld): Promise<void> {
  const pods = path(world, "pods");
  await world.call("POST", pods, pod("a", { nodeName: "node-1" }));
  await world.call("DELETE", `${pods}/a?gracePeriodSeconds=100`);
  await world.call("DELETE", `${pods}/a?gracePeriodSeconds=200`);
  await world.call("DELETE", `${pods}/a`, { gracePeriodSeconds: 50 });
  await world.call("DELETE", `${pods}/a`, { gracePeriodSeconds: -1 });
  await world.call("DELETE", `${pods}/a`, { gracePeriodSeconds: 0, preconditions: { uid: "x" } });
}

async function binding(world: CaseWorld): Promise<void> {
  const pods = path(world, "pods");
  await world.call("POST", pods, pod("a"));
  const body = {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "a" },
    target: { kind: "Node", name: "node-1" },
  };
  await world.call("POST", `${pods}/a/binding`, { ...body, target: { kind: "Node" } });
  await world.call("POST", `${pods}/a/binding`, body);
  await world.call("GET", `${pods}/a`);
  await world.call("POST", `${pods}/a/binding`, body);
  await world.call("POST", `${pods}/absent/binding`, { ...body, metadata: { name: "absent" } });
}

async function podUpdates(world: CaseWorld): Promise<void> {
  const pods = path(world, "pods");
  await world.call("POST", pods, pod("a"));
  for (const spec of [
    { containers: [{ name: "web", image: "nginx:2" }] },
    { containers: [{ name: "other", image: "nginx:2" }] },
    { terminationGracePeriodSeconds: 5 },
    { activeDeadlineSeconds: 60 },
    { activeDeadlineSeconds: 90 },
    { nodeName: "node-9" },
    { tolerations: [{ key: "a", operator: "Exists" }] },
    { hostNetwork: true },
    { restartPolicy: "Never" },
  ]) {
    await world.call("PATCH", `${pods}/a`, { spec }, merge);
  }
}

async function podStatus(world: CaseWorld): Promise<void> {
  const pods = path(world, "pods");
  await world.call("POST", pods, pod("a", { nodeName: "node-1" }));
  const conditions = [{ type: "Ready", status: "True" }];
  for (const status of [
    { phase: "Running", podIP: "10.1.2.3", conditions },
    { podIPs: [{ ip: "10.1.2.4" }] },
    { podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }, { ip: "2001:db8::7" }] },
    { podIP: "not-an-ip", podIPs: [{ ip: "not-an-ip" }] },
    { hostIP: "10.0.0.1" },
    { qosClass: "Guaranteed" },
    { phase: "Sleeping" },
    { conditions: [{ type: "Ready", status: "Maybe" }] },
    {
      containerStatuses: [
        {
          name: "web",
          image: "nginx:1",
          imageID: "",
          ready: true,
          restartCount: 0,
          state: { running: { startedAt: "2026-01-02T03:04:05Z" } },
        },
      ],
    },
  ]) {
    await world.call("PATCH", `${pods}/a/status`, { status }, merge);
  }
}

async function namespaceLife(world: CaseWorld): Promise<void> {
  const namespace = `/api/v1/namespaces/${world.name}`;
  await world.call("GET", namespace);
  await world.call("DELETE", namespace);
  await world.call("GET", namespace);
  await world.call("DELETE", namespace);
  await world.call("POST", path(world, "configmaps"), configMap("late"));
  await world.call("POST", path(world, "deployments", "apps/v1"), {
    metadata: { name: "late" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "i" }] },
      },
    },
  });
  await world.call("PUT", `${namespace}/finalize`, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: world.name },
    spec: { finalizers: [] },
  });
  await world.call("GET", namespace);
}

async function systemNamespace(world: CaseWorld): Promise<void> {
  for (const name of ["default", "kube-system", "kube-public"]) {
    await world.call("DELETE", `/api/v1/namespaces/${name}`);
  }
  await world.call("GET", "/api/v1/namespaces/default", undefined, { project: labelsAndSpec });
  await world.call("GET", "/api/v1/namespaces/kube-system", undefined, { project: labelsAndSpec });
  await world.call("GET", "/api/v1/namespaces/kube-public", undefined, { project: labelsAndSpec });
  await world.call("GET", "/api/v1/namespaces/kube-node-lease", undefined, {
    project: labelsAndSpec,
  });
}

function labelsAndSpec(body: unknown): unknown {
  const { metadata, spec, status } = body as Record<string, Record<string, unknown>>;
  return { labels: metadata?.["labels"], spec, status };
}

async function owners(world: CaseWorld): Promise<void> {
  const maps = path(world, "configmaps");
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u-1" };
  for (const ownerReferences of [
    [owner],
    [{ ...owner, controller: true, blockOwnerDeletion: true }],
    [
      { ...owner, controller: true },
      { ...owner, uid: "u-2", controller: true },
    ],
    [{ ...owner, uid: "" }],
    [{ ...owner, name: "" }],
    [{ ...owner, kind: "" }],
    [{ ...owner, apiVersion: "" }],
    [{ ...owner, apiVersion: "a/b/c" }],
    [{ ...owner, apiVersion: "v1", kind: "Event" }],
    [owner, owner],
  ]) {
    await world.call("POST", `${maps}?dryRun=All`, configMap("a", { ownerReferences }));
  }
}

async function scale(world: CaseWorld): Promise<void> {
  const deployments = path(world, "deployments", "apps/v1");
  const labels = { app: "a" };
  await world.call("POST", deployments, {
    metadata: { name: "a" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  });
  const got = await world.call("GET", `${deployments}/a/scale`);
  const body = got.body as Record<string, unknown>;
  await world.call("PUT", `${deployments}/a/scale`, { ...body, spec: { replicas: 3 } });
  await world.call("PUT", `${deployments}/a/scale`, { ...body, spec: { replicas: 4 } });
  await world.call("PATCH", `${deployments}/a/scale`, { spec: { replicas: 5 } }, merge);
  await world.call("PATCH", `${deployments}/a/scale`, { spec: { replicas: -5 } }, merge);
  await world.call("GET", `${deployments}/a`);
  await world.call("GET", `${deployments}/absent/scale`);
}

async function frozen(world: CaseWorld): Promise<void> {
  const maps = path(world, "configmaps");
  await world.call("POST", maps, configMap("a", {}, { data: { a: "1" }, immutable: true }));
  await world.call("PATCH", `${maps}/a`, { data: { a: "2" } }, merge);
  await world.call("PATCH", `${maps}/a`, { immutable: false }, merge);
  await world.call("PATCH", `${maps}/a`, { binaryData: { b: "AA==" } }, merge);
  await world.call("PATCH", `${maps}/a`, { metadata: { labels: { a: "b" } } }, merge);
}

async function secretType(world: CaseWorld): Promise<void> {
  const secrets = path(world, "secrets");
  await world.call("POST", secrets, { metadata: { name: "a" }, stringData: { a: "1" } });
  await world.call("PATCH", `${secrets}/a`, { type: "example.com/other" }, merge);
  await world.call("PATCH", `${secrets}/a`, { stringData: { b: "2" } }, merge);
  await world.call("PATCH", `${secrets}/a`, { immutable: true }, merge);
  await world.call("PATCH", `${secrets}/a`, { data: { a: "AA==" } }, merge);
}

async function lease(world: CaseWorld): Promise<void> {
  const leases = path(world, "leases", "coordination.k8s.io/v1");
  const body = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "a" },
    spec: { holderIdentity: "one" },
  };
  await world.call("PUT", `${leases}/a`, body);
  await world.call("PUT", `${leases}/a`, { ...body, spec: { holderIdentity: "two" } });
  await world.call("PATCH", `${leases}/a`, { spec: { holderIdentity: "three" } }, merge);
  await world.call("PATCH", `${leases}/a`, { spec: { leaseDurationSeconds: 0 } }, merge);
}

async function selectors(world: CaseWorld): Promise<void> {
  const deployments = path(world, "deployments", "apps/v1");
  const spec = { containers: [{ name: "c", image: "i" }] };
  await world.call("POST", deployments, {
    metadata: { name: "a" },
    spec: {
      selector: { matchLabels: { app: "a" } },
      template: { metadata: { labels: { app: "a", b: "c" } }, spec },
    },
  });
  await world.call(
    "PATCH",
    `${deployments}/a`,
    { spec: { selector: { matchLabels: { b: "c" } } } },
    merge,
  );
  await world.call("PATCH", `${deployments}/a`, { spec: { selector: null } }, merge);
}

async function generations(world: CaseWorld): Promise<void> {
  const ingresses = path(world, "ingresses", "networking.k8s.io/v1");
  const backend = (name: string) => ({ service: { name, port: { number: 80 } } });
  await world.call("POST", ingresses, {
    metadata: { name: "a" },
    spec: { defaultBackend: backend("one") },
    status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
  });
  await world.call("PATCH", `${ingresses}/a`, { spec: { defaultBackend: backend("two") } }, merge);
  await world.call("PATCH", `${ingresses}/a`, { metadata: { labels: { a: "b" } } }, merge);
  const status = {
    loadBalancer: { ingress: [{ ip: "192.0.2.1" }, { hostname: "a.example.com" }] },
  };
  await world.call("PATCH", `${ingresses}/a/status`, { status, spec: null }, merge);
  const bad = { loadBalancer: { ingress: [{ ip: "nowhere" }, { hostname: "A_b" }] } };
  await world.call("PATCH", `${ingresses}/a/status`, { status: bad }, merge);
}

async function secretTypes(world: CaseWorld): Promise<void> {
  const secrets = path(world, "secrets");
  for (const type of [
    "kubernetes.io/tls",
    "kubernetes.io/dockerconfigjson",
    "kubernetes.io/dockercfg",
    "kubernetes.io/basic-auth",
    "kubernetes.io/ssh-auth",
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
  ]) {
    await world.call("POST", `${secrets}?dryRun=All`, { metadata: { name: "a" }, type });
  }
  const type = "kubernetes.io/dockerconfigjson";
  const data = { ".dockerconfigjson": "bm8=" };
  await world.call("POST", `${secrets}?dryRun=All`, { metadata: { name: "a" }, type, data });
}
