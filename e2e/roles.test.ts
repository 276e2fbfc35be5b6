// The roles in deploy/rbac, judged by the audit log of API servers that enforce them: every part of the
// product does all its work with its own account, no request is refused, and no role grants what was
// never requested without a reason that is stated here.
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { AuditLog } from "../src/apiserver/audit/audit-log.ts";
import { PeerAddresses } from "../src/apiserver/audit/peer-addresses.ts";
import { objectsAt, textAt } from "../src/apiserver/kinds/fields.ts";
import { runProgram } from "../src/cli/program.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { parseJson } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { freePort } from "../src/lab/free-port.ts";
import { gatewayDefinitions } from "../src/lab/gateway-definitions.ts";
import { kubeconfig } from "../src/lab/kubeconfig.ts";
import { type Lab, startLab } from "../src/lab/lab.ts";
import { objectsIn, type Right, rightsIn } from "../tests/rights/deployed-rights.ts";
import {
  exportDefinition,
  importDefinition,
  multiclusterPath,
} from "../tests/syncing/multicluster-definitions.ts";
import { RecordedTerminal } from "../tests/terminal/recorded-terminal.ts";
import { withoutNginx } from "./proxy-world.ts";

/** What no run here can need, and why a role grants it all the same. */
const notRequested: Readonly<Record<string, string>> = {
  "lockstep-reader list endpoints": "clusters without EndpointSlices, before 1.19",
  "lockstep-reader watch endpoints": "clusters without EndpointSlices, before 1.19",
  "lockstep-observer list endpoints": "clusters without EndpointSlices, before 1.19",
  "lockstep-observer watch endpoints": "clusters without EndpointSlices, before 1.19",
  "lockstep-doctor watch endpoints": "clusters without EndpointSlices, before 1.19",
  "lockstep-sync get services": "read again when another writer was faster",
  "lockstep-sync get endpointslices": "read again when another writer was faster",
  "lockstep-sync get serviceimports": "read again when another writer was faster",
  "lockstep-sync-ingresses get ingresses": "read again when another writer was faster",
  "lockstep-sync-secret-web-tls get secrets": "read again when another writer was faster",
  "lockstep-assist get services": "read again when another writer was faster",
  "lockstep-assist get endpointslices": "read again when another writer was faster",
};

const files = [
  "business-cluster",
  "export-status",
  "business-cluster-ingresses",
  "access-cluster-ingress",
  "access-cluster-gateways",
  "access-cluster-sync",
  "access-cluster-sync-ingresses",
  "observer",
  "doctor",
  "assist",
];

const plurals: Readonly<Record<string, string>> = {
  Namespace: "/api/v1/namespaces",
  ServiceAccount: "/api/v1/namespaces/*/serviceaccounts",
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  Role: "/apis/rbac.authorization.k8s.io/v1/namespaces/*/roles",
  RoleBinding: "/apis/rbac.authorization.k8s.io/v1/namespaces/*/rolebindings",
};

const longestWaitMs = 240_000;
const account = "system:serviceaccount:lockstep:";
const shop = "/api/v1/namespaces/shop";
const services = `${shop}/services`;
const ingresses = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses";
const deployments = "/apis/apps/v1/namespaces/shop/deployments";
const leases = "/apis/coordination.k8s.io/v1/namespaces/lockstep/leases";
const gatewayApi = "/apis/gateway.networking.k8s.io/v1";

/** A line of the audit log. */
interface AuditLine {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username?: string };
  readonly objectRef?: { readonly resource: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
}

const environment = nodeEnvironment({ log: { write: () => undefined } });
const refused = new Set<string>();
/** `ACCOUNT VERB RESOURCE` */
const requested = new Set<string>();
const running: { readonly stop: () => Promise<string> }[] = [];
let lab: Lab;
let folder: string;

function note(line: string): void {
  const { verb, user, objectRef, responseStatus, requestURI } = JSON.parse(line) as AuditLine;
  if (user.username?.startsWith(account) !== true) return;
  const name = user.username.slice(account.length);
  const { code, message } = responseStatus ?? {};
  if (code === 401 || code === 403) refused.add(message ?? requestURI);
  const { resource = requestURI, subresource } = objectRef ?? {};
  requested.add(`${name} ${verb} ${resource}${subresource ? `/${subresource}` : ""}`);
}

beforeAll(async () => {
  folder = await environment.files.temporaryDirectory("lockstep-e2e-roles-");
  const audit = { ...environment, form: "v1", peers: new PeerAddresses(), write: note } as const;
  const size = { clusters: 2, apiservers: 1, nodes: 1, host: "127.0.0.1", firstPort: 0 };
  const observers = [new AuditLog(audit)];
  lab = await startLab({ environment, crypto: webcrypto, ...size, observers });
});

afterAll(async () => {
  for (const one of running.toReversed()) await one.stop();
  await lab?.stop();
  await environment.files.remove(folder);
});

it.skipIf(withoutNginx !== false)(
  "every part works with its role, and no role grants what is never requested",
  async () => {
    const both = ["lab-1", "lab-2"];
    for (const cluster of both) await install(cluster);
    await createShop();
    const reader = await token("lab-1", "lockstep-reader");
    const writer = await token("lab-2", "lockstep-sync");
    const clusters = await configFile("ingress", {
      "lab-1": await token("lab-1", "lockstep-ingress"),
      "lab-2": await token("lab-2", "lockstep-reader"),
    });
    const settings = {
      kubeconfig: await configFile("sync", { "lab-1": reader, "lab-2": writer }),
      sources: ["lab-1"],
      target: "lab-2",
      namespaces: ["shop"],
      exports: true,
      ingresses: { classes: { lockstep: "edge" }, tlsSecrets: ["shop/web-tls"] },
      lease: "lockstep/lockstep-sync",
    };
    await environment.files.write(`${folder}/sync.yaml`, JSON.stringify(settings));
    const sync = start("sync", "--config", `${folder}/sync.yaml`);
    start("assist", "--lease", "lockstep/lockstep-assist", ...(await as("lockstep-assist")));
    start("watch", "--access-log=pod:shop/web-log@lab-1", ...(await as("lockstep-observer", both)));
    const doctor = await as("lockstep-doctor", both);
    await call("lab-1", "POST", "/api/v1/namespaces/kube-system/configmaps", oldLock);
    start("doctor", "--for", "3s", ...doctor, "--compare", "lab-1");
    const ports = async () => String(await freePort(environment, "127.0.0.1"));
    const ingress = async () => [
      "--listen",
      "127.0.0.1",
      "--http-port",
      await ports(),
      "--status-port",
      "0",
      "--prefix",
      `${folder}/nginx`,
      "--publish-address",
      "192.0.2.10",
      "--lease",
      "lockstep/lockstep-ingress-lockstep",
      "--drain-delay",
      "0",
      "--kubeconfig",
      clusters,
      "--context",
      "lab-1",
      "--context",
      "lab-2",
    ];
    const first = start("ingress", ...(await ingress()));
    await shown("lab-1", `${ingresses}/web`, /192\.0\.2\.10/);
    await shown("lab-2", services, /"name":"web"/);
    await shown("lab-1", services, /"name":"web-lockstep"/);
    // A change before that would be part of the copy.
    for (const copies of ["serviceimports", "ingresses", "secrets"]) {
      await wasRequested(`lockstep-sync create ${copies}`);
    }
    await wasRequested("lockstep-ingress create events");
    // An upgrade: another process, which reports the same problems.
    await first.stop();
    start("ingress", ...(await ingress()));
    await call("lab-1", "PATCH", `${deployments}/web`, { spec: { replicas: 1 } });
    await call("lab-1", "PATCH", `${services}/web`, {
      spec: { ports: [{ name: "http", port: 81, targetPort: 8080 }] },
    });
    await call("lab-1", "PATCH", `${ingresses}/web`, {
      spec: { tls: [{ secretName: "web-tls" }] },
    });
    await call("lab-1", "PATCH", `${shop}/secrets/web-tls`, { data: { "tls.key": btoa("new") } });
    await wasRequested("lockstep-sync patch ingresses");
    await wasRequested("lockstep-sync patch secrets");
    await wasRequested("lockstep-sync patch services");
    await wasRequested("lockstep-sync patch serviceimports");
    await wasRequested("lockstep-assist patch services");
    await wasRequested("lockstep-assist patch endpointslices");
    // Kubernetes serves the twin for a while, and makes Endpoints for it.
    await call("lab-1", "PATCH", `${services}/web`, label("false"));
    await wasRequested("lockstep-assist delete endpointslices");
    await call("lab-1", "PATCH", `${services}/web`, label("true"));
    await wasRequested("lockstep-assist delete endpoints");
    await wasRequested("lockstep-ingress patch events");
    for (const path of [`${services}/web`, `${ingresses}/web`, `${shop}/secrets/web-tls`]) {
      await call("lab-1", "DELETE", path);
    }
    for (const copies of ["services", "endpointslices", "serviceimports", "ingresses", "secrets"]) {
      await wasRequested(`lockstep-sync delete ${copies}`);
    }
    // Sync writes it only when it has proved that its watches are current.
    await shown("lab-2", leases, /lockstep-source-lab-1/);
    // It is refused while an instance may write.
    await sync.stop();
    start("sync", "prune", "--yes", "--config", `${folder}/sync.yaml`);
    expect(await unused()).toEqual([]);
    expect([...refused]).toEqual([]);
  },
  600_000,
);

/** Rights that no audit line shows, without those that have a reason; the first empty list ends it. */
async function unused(): Promise<readonly string[]> {
  const granted = rightsIn(files).filter((right) => !(textOf(right) in notRequested));
  const missing = () => granted.filter((right) => !isRequested(right)).map(textOf);
  await until(() => missing().length === 0).catch(() => undefined);
  return missing();
}

function textOf({ role, verb, resource }: Right): string {
  return `${role} ${verb} ${resource}`;
}

/** By an account that has the role: its own, or the one that a binding gives it. */
function isRequested({ role, verb, resource }: Right): boolean {
  const accounts = bindings.filter(([bound]) => bound === role).map(([, name]) => name);
  return accounts.some((name) => requested.has(`${name} ${verb} ${resource}`));
}

/** The ingress of a cluster with its own pods has the reader's role. */
const ownCluster = parseAllDocuments(readFileSync("deploy/ingress/ingress.yaml", "utf8"))
  .map((document) => document.toJS() as object)
  .filter((object) => textAt(object, "kind") === "ClusterRoleBinding");

/** Bound by the operator, where a log or a metrics page may be read. */
const byHand = [
  ["lockstep-observer-logs", "lockstep-observer", "shop"],
  ["lockstep-doctor-logs", "lockstep-doctor", "kube-system"],
  ["lockstep-doctor-metrics", "lockstep-doctor", "kube-system"],
].map(([role = "", name = "", namespace = ""]) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name: role, namespace },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
  subjects: [{ kind: "ServiceAccount", name, namespace: "lockstep" }],
}));

const objects = [...objectsIn(files), ...ownCluster, ...byHand];

const bindings = objects
  .filter((object) => textAt(object, "kind").endsWith("Binding"))
  .flatMap((object) =>
    objectsAt(object, "subjects").map(
      (subject) => [textAt(object, "roleRef", "name"), textAt(subject, "name")] as const,
    ),
  );

async function install(cluster: string): Promise<void> {
  await call(cluster, "POST", "/api/v1/namespaces", { metadata: { name: "shop" } });
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const gateways = gatewayDefinitions();
  for (const definition of [exportDefinition, importDefinition, ...gateways]) {
    await call(cluster, "POST", definitions, definition);
  }
  for (const object of objects) {
    const path = plurals[textAt(object, "kind")] ?? "";
    await call(cluster, "POST", path.replace("*", textAt(object, "metadata", "namespace")), object);
  }
}

/** Two pods, their Service with a twin, an Ingress with a secret and a mistake, and a Gateway. */
async function createShop(): Promise<void> {
  const labels = { app: "web" };
  const container = { name: "web", image: "web", ports: [{ containerPort: 8080 }] };
  const template = { metadata: { labels }, spec: { containers: [container] } };
  await call("lab-1", "POST", deployments, {
    metadata: { name: "web" },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  });
  await call("lab-1", "POST", `${shop}/pods`, {
    metadata: { name: "web-log" },
    spec: { containers: [container] },
  });
  await call("lab-1", "POST", services, {
    metadata: { name: "web", ...label("true").metadata },
    spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  });
  await call("lab-1", "POST", `${multiclusterPath}/serviceexports`, {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: { name: "web" },
  });
  const backend = { service: { name: "web", port: { name: "http" } } };
  const paths = [{ path: "/", pathType: "Prefix", backend }];
  await call("lab-1", "POST", ingresses, {
    metadata: { name: "web", annotations: { "lockstep.dev/server-snippet": "return 200;" } },
    spec: {
      ingressClassName: "lockstep",
      rules: [{ host: "web.example", http: { paths } }],
      tls: [{ hosts: ["web.example"], secretName: "web-tls" }],
    },
  });
  await call("lab-1", "POST", `${shop}/secrets`, {
    metadata: { name: "web-tls" },
    type: "kubernetes.io/tls",
    data: { "tls.crt": btoa("chain"), "tls.key": btoa("key") },
  });
  await createGateway();
}

async function createGateway(): Promise<void> {
  const ofKind = (kind: string) => ({ apiVersion: "gateway.networking.k8s.io/v1", kind });
  await call("lab-1", "POST", `${gatewayApi}/gatewayclasses`, {
    ...ofKind("GatewayClass"),
    metadata: { name: "lockstep" },
    spec: { controllerName: "lockstep.dev/gateway" },
  });
  await call("lab-1", "POST", `${gatewayApi}/namespaces/shop/gateways`, {
    ...ofKind("Gateway"),
    metadata: { name: "edge" },
    spec: {
      gatewayClassName: "lockstep",
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  });
  await call("lab-1", "POST", `${gatewayApi}/namespaces/shop/httproutes`, {
    ...ofKind("HTTPRoute"),
    metadata: { name: "web" },
    spec: {
      parentRefs: [{ name: "edge" }],
      hostnames: ["route.example"],
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    },
  });
  await call("lab-1", "POST", `${gatewayApi}/namespaces/shop/backendtlspolicies`, {
    ...ofKind("BackendTLSPolicy"),
    metadata: { name: "web" },
    spec: { targetRefs: [{ group: "", kind: "Service", name: "web" }] },
  });
  await call("lab-1", "POST", `${gatewayApi}/namespaces/shop/grpcroutes`, {
    ...ofKind("GRPCRoute"),
    metadata: { name: "calls" },
    spec: {
      parentRefs: [{ name: "edge" }],
      hostnames: ["calls.example"],
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    },
  });
}

/** The lock of an old controller, as before leases. */
const oldLock = {
  metadata: {
    name: "old-controller",
    annotations: {
      "control-plane.alpha.kubernetes.io/leader": JSON.stringify({
        holderIdentity: "old-controller-0",
        leaseDurationSeconds: 15,
        acquireTime: "2026-01-01T00:00:00Z",
        renewTime: "2026-01-01T00:00:00Z",
        leaderTransitions: 0,
      }),
    },
  },
};

function label(value: string) {
  return { metadata: { labels: { "lockstep.dev/assist": value } } };
}

/** Runs a command in this process until it is stopped; its code and what it wrote. */
function start(...args: readonly string[]) {
  const terminal = new RecordedTerminal();
  const stop = new AbortController();
  const variables = {
    ...environment.processes.variables,
    POD_NAME: "lockstep-0",
    POD_NAMESPACE: "lockstep",
    POD_UID: "7c1d4c0e-0000-4000-8000-000000000000",
  };
  const inPod = { ...environment, processes: { ...environment.processes, variables } };
  const context = { environment: inPod, terminal, stop: stop.signal };
  const done = runProgram(context, "0.0.0", args).then(
    (code) => `${args[0]} ended with ${code}: ${terminal.out}${terminal.error}`,
    (error: unknown) => `${args[0]} failed: ${String(error)}`,
  );
  const one = {
    stop: async () => {
      stop.abort(new Error("stopped by the test"));
      return await done;
    },
  };
  running.push(one);
  return one;
}

/** Flags for a kubeconfig with the account of each of these clusters. */
async function as(name: string, clusters = ["lab-1"]): Promise<readonly string[]> {
  const tokens = await Promise.all(clusters.map(async (one) => [one, await token(one, name)]));
  const file = await configFile(name, Object.fromEntries(tokens));
  return ["--kubeconfig", file, ...clusters.flatMap((one) => ["--context", one])];
}

async function configFile(name: string, tokens: Readonly<Record<string, string>>) {
  const contexts = lab.contexts.flatMap((one) => {
    const own = tokens[one.name];
    return own === undefined ? [] : [{ ...one, token: own }];
  });
  const path = `${folder}/${name}.kubeconfig`;
  await environment.files.write(path, kubeconfig(contexts), { mode: 0o600 });
  return path;
}

async function token(cluster: string, name: string): Promise<string> {
  const path = `/api/v1/namespaces/lockstep/serviceaccounts/${name}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  return textAt(await call(cluster, "POST", path, body), "status", "token");
}

async function shown(cluster: string, path: string, text: RegExp): Promise<void> {
  await until(async () => text.test(JSON.stringify(await call(cluster, "GET", path))), path);
}

async function wasRequested(what: string): Promise<void> {
  await until(() => requested.has(what), what);
}

async function until(holds: () => boolean | Promise<boolean>, what = "it holds"): Promise<void> {
  const deadline = environment.clock.monotonicMs() + longestWaitMs;
  while (!(await holds())) {
    if (environment.clock.monotonicMs() > deadline) {
      throw new Error(`waited in vain until ${what}; refused: ${[...refused].join("\n")}`);
    }
    await environment.timers.sleep(50);
  }
}

/** A request of the administrator. */
async function call(
  cluster: string,
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  body?: object,
): Promise<unknown> {
  const access = lab.clusters.find(({ name }) => name === cluster)?.access;
  if (access === undefined) throw new Error(`the lab has no cluster ${cluster}`);
  const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "e2e" });
  const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const request = { verb: "get", method, path, contentType } as const;
  return parseJson(await client.request(body === undefined ? request : { ...request, body }));
}
