// Lockstep with exactly the rights of deploy/rbac, or with one less, in virtual time: an ingress
// with its leader, a syncer and an observer between a business and an access cluster.
import { Registry } from "prom-client";
import { ApiServer } from "../../src/apiserver/api-server.ts";
import {
  serviceAccountGroups,
  serviceAccountName,
  type User,
} from "../../src/apiserver/http/authentication.ts";
import type { RequestObserver } from "../../src/apiserver/http/request-record.ts";
import { objectsAt, textAt } from "../../src/apiserver/kinds/fields.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { RoutingDecision } from "../../src/decide/decision.ts";
import { IngressLoop } from "../../src/ingress/ingress-loop.ts";
import { Leadership } from "../../src/ingress/leadership.ts";
import { ingressPermissionEffects } from "../../src/ingress/permission-effects.ts";
import { takenHosts } from "../../src/ingress/shown-gateways.ts";
import { type KubeRequest, parseJson } from "../../src/kube/client/client.ts";
import { DirectKubeClient } from "../../src/kube/client/direct-client.ts";
import { HttpKubeClient, type HttpKubeClientOptions } from "../../src/kube/client/http-client.ts";
import { MissingPermissions } from "../../src/kube/client/missing-permissions.ts";
import { type ClusterAccess, fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { podIdentity } from "../../src/kube/leader/leader-identity.ts";
import { definitionsPath, gatewayDefinitions } from "../../src/lab/gateway-definitions.ts";
import { kubeconfig } from "../../src/lab/kubeconfig.ts";
import { ClusterWitness } from "../../src/observe/cluster-witness.ts";
import { openWatches } from "../../src/observe/observed-watch.ts";
import { EventWriter } from "../../src/outputs/events/event-writer.ts";
import type { DecidedGateways } from "../../src/outputs/status/gateway-status-writer.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { Timeline } from "../../src/timeline/timeline.ts";
import {
  exportDefinition,
  importDefinition,
  multiclusterPath,
} from "../syncing/multicluster-definitions.ts";
import { RecordedTerminal } from "../terminal/recorded-terminal.ts";
import { accessFiles, businessFiles, lessened, objectsIn, type Right } from "./deployed-rights.ts";

export interface ProductRun {
  /** The servers' refusals, each message once, in the order of the first time. */
  readonly refusals: readonly string[];
  /** Lockstep's log lines about refusals, each once. */
  readonly complaints: readonly string[];
  /** The effect of each missing permission by its log line, as the ingress reports it. */
  readonly missing: Readonly<Record<string, string>>;
  /** The same, as the sync reports it. */
  readonly missingInSync: Readonly<Record<string, string>>;
  /** The results at the end, before permissions were removed again. */
  readonly hosts: readonly string[];
  readonly endpoints: readonly string[];
  readonly copies: readonly string[];
  readonly status: string;
  /** The condition types in the status of the GatewayClass, the Gateway, the HTTPRoute, the GRPCRoute and the policy. */
  readonly gateways: readonly string[];
  /** The Events for the author of the Ingress. */
  readonly events: readonly string[];
}

const tokens: ReadonlyMap<string, User> = new Map([
  ["admin", { name: "admin", groups: ["system:masters"] }],
  ...["lockstep-reader", "lockstep-ingress", "lockstep-sync"].map((name): [string, User] => {
    const user = serviceAccountName("lockstep", name);
    return [name, { name: user, groups: serviceAccountGroups("lockstep") }];
  }),
]);

const settleMs = 3_000;
const gatewayApi = "/apis/gateway.networking.k8s.io/v1";

/** A service with two endpoints becomes routed and copied, changes, and is taken away. */
export async function runProduct(options: { readonly without?: Right } = {}): Promise<ProductRun> {
  let result: ProductRun | undefined;
  await simulate({ seed: 1 }, async (simulation) => {
    const world = new RightsWorld(simulation, options.without);
    await world.start();
    result = await world.play();
    await world.stop();
  });
  if (result === undefined) throw new Error("the run has no result");
  return result;
}

class RightsWorld {
  readonly #simulation: Simulation;
  readonly #without: Right | undefined;
  readonly #servers: ApiServer[] = [];
  readonly #refusals = new Set<string>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #witness: ClusterWitness;
  readonly #loop: IngressLoop;
  readonly #events: EventWriter;
  readonly #noteMissing: NonNullable<HttpKubeClientOptions["onForbidden"]>;
  readonly #decided = new Set<() => void>();
  #active: readonly string[] = [];

  constructor(simulation: Simulation, without: Right | undefined) {
    this.#simulation = simulation;
    this.#without = without;
    const host = simulation.host("lockstep");
    const missing = new MissingPermissions({ ...host, effects: ingressPermissionEffects });
    this.#noteMissing = (cluster, error) => missing.note(cluster, error);
    const direct = (name: string, token: string) => ({
      name,
      client: new DirectKubeClient({
        ...host,
        cluster: this.#access(name, token),
        userAgent: "lockstep-ingress",
        metrics: new Registry(),
        onForbidden: this.#noteMissing,
      }),
    });
    const note = (services: RoutingDecision["services"]): void => {
      this.#active = [...services.values()].flatMap((endpoints) =>
        endpoints
          .filter(({ state }) => state === "active")
          .map(({ address, port }) => `${address}:${port}`),
      );
    };
    this.#loop = new IngressLoop({
      ...host,
      clusters: [direct("lab", "lockstep-reader")],
      access: direct("edge", "lockstep-ingress"),
      className: "lockstep",
      policy: { followSlices: false },
      output: {
        *applying({ services }) {
          yield;
          note(services);
        },
      },
      onTruth: () => undefined,
      ports: { http: new Map([[80, 80]]), https: new Map() },
      onRoutes: ({ problems }) => {
        this.#events.note(problems);
        for (const follower of this.#decided) follower();
      },
    });
    this.#events = this.#eventWriter();
    this.#witness = new ClusterWitness({
      ...host,
      openWatch: openWatches({ ...host, client: this.#client("lab", "lockstep-reader") }),
      cluster: "lab",
      form: "endpointslices",
      sink: new Timeline({ onEvent: () => undefined }),
    });
  }

  async start(): Promise<void> {
    await this.#startServer("lab", businessFiles);
    await this.#startServer("edge", accessFiles);
    for (const cluster of ["lab", "edge"]) {
      await this.#call(cluster, "POST", "/api/v1/namespaces", { metadata: { name: "shop" } });
    }
    await this.#call("lab", "POST", definitionsPath, exportDefinition);
    for (const definition of [importDefinition, ...gatewayDefinitions()]) {
      await this.#call("edge", "POST", definitionsPath, definition);
    }
    const pod = await this.#call("edge", "POST", "/api/v1/namespaces/lockstep/pods", {
      metadata: { name: "lockstep-ingress-0" },
      spec: { containers: [{ name: "c", image: "lockstep" }] },
    });
    const { signal } = this.#stop;
    const host = this.#simulation.host("lockstep");
    const leadership = new Leadership({
      ...host,
      watchedLocks: [],
      publish: {
        addresses: [{ ip: "192.0.2.10", hostname: "" }],
        lease: { namespace: "lockstep", name: "lockstep-ingress-lockstep" },
        identity: podIdentity("lockstep-ingress-0", textAt(pod, "metadata", "uid")),
        podNamespace: "lockstep",
        deposeGhosts: false,
      },
      cluster: this.#access("edge", "lockstep-ingress"),
      asked: this.#loop.asked,
      gateways: this.#gateways(),
      className: "lockstep",
      metrics: new Registry(),
      onForbidden: this.#noteMissing,
    });
    this.#witness.start();
    const parts = [this.#loop, leadership, this.#events];
    this.#running.push(...parts.map((part) => part.run(signal)), this.#sync(signal));
  }

  /** `lockstep sync` as a command, one of two instances. */
  async #sync(signal: AbortSignal): Promise<void> {
    const environment = this.#simulation.host("sync");
    const users = { lab: "lockstep-reader", edge: "lockstep-sync" };
    const contexts = Object.entries(users).map(([name, token]) => ({
      name,
      server: `https://${name}:6443`,
      token,
    }));
    await environment.files.write("/kubeconfig", kubeconfig(contexts));
    const settings = {
      kubeconfig: "/kubeconfig",
      sources: ["lab"],
      target: "edge",
      namespaces: ["shop"],
      exports: true,
      lease: "lockstep/lockstep-sync",
    };
    await environment.files.write("/sync.yaml", JSON.stringify(settings));
    const context = { environment, terminal: new RecordedTerminal(), stop: signal };
    const code = await runProgram(context, "0.0.0", ["sync", "--config", "/sync.yaml"]);
    if (code !== 0) throw new Error(`lockstep sync ended with ${code}`);
  }

  /** As a replica gives them to its leader. */
  #gateways(): DecidedGateways | undefined {
    const loop = this.#loop;
    const source = loop.gateways;
    return (
      source && {
        source,
        decision: () => loop.decisions.gateways.decision,
        isDecided: () => loop.isReady,
        takenHosts: (route) => takenHosts(loop.decisions.routes, route),
        follow: (listener) => {
          this.#decided.add(listener);
          return () => void this.#decided.delete(listener);
        },
      }
    );
  }

  async play(): Promise<ProductRun> {
    await this.#publish();
    await this.#publishGateway();
    await this.#simulation.sleep(settleMs);
    // Another replica tells the same.
    const another = this.#eventWriter();
    another.note(this.#loop.decisions.routes.problems);
    this.#running.push(another.run(this.#stop.signal));
    const slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
    await this.#call("lab", "PATCH", `${slices}/web-1`, { endpoints: [ready("10.0.0.1")] });
    await this.#call("lab", "PATCH", "/api/v1/namespaces/shop/services/web", {
      spec: { ports: [{ name: "http", port: 81, targetPort: 8080 }] },
    });
    await this.#simulation.sleep(settleMs);
    const names = async (path: string): Promise<readonly string[]> =>
      objectsAt(await this.#call("edge", "GET", path), "items").map((one) =>
        textAt(one, "metadata", "name"),
      );
    const copies = [...(await names("/api/v1/namespaces/shop/services")), ...(await names(slices))];
    const ingress = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web";
    const balancer = objectsAt(
      await this.#call("edge", "GET", ingress),
      "status",
      "loadBalancer",
      "ingress",
    );
    const shown = {
      hosts: [...this.#loop.decisions.routes.hosts.keys()],
      endpoints: this.#active,
      copies,
      status: textAt(balancer[0], "ip"),
      gateways: await this.#gatewayStatuses(),
      events: objectsAt(
        await this.#call("edge", "GET", "/api/v1/namespaces/shop/events"),
        "items",
      ).map((one) => textAt(one, "message")),
    };
    await this.#call("lab", "DELETE", "/api/v1/namespaces/shop/services/web");
    await this.#call("lab", "DELETE", `${slices}/web-1`);
    await this.#simulation.sleep(settleMs);
    const complaints = this.#complaints();
    const missing = this.#missing("lockstep");
    const missingInSync = this.#missing("sync");
    return { refusals: [...this.#refusals], complaints, missing, missingInSync, ...shown };
  }

  /** Routes of another namespace's service, as such and as a ServiceImport, which a grant allows. */
  async #publishGateway(): Promise<void> {
    const apiVersion = "gateway.networking.k8s.io/v1";
    await this.#call("edge", "POST", "/api/v1/namespaces", { metadata: { name: "team" } });
    await this.#call("edge", "POST", `${gatewayApi}/gatewayclasses`, {
      apiVersion,
      kind: "GatewayClass",
      metadata: { name: "lockstep" },
      spec: { controllerName: "lockstep.dev/gateway" },
    });
    await this.#call("edge", "POST", `${gatewayApi}/namespaces/team/gateways`, {
      apiVersion,
      kind: "Gateway",
      metadata: { name: "edge" },
      spec: {
        gatewayClassName: "lockstep",
        listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
      },
    });
    await this.#call("edge", "POST", `${gatewayApi}/namespaces/team/httproutes`, {
      apiVersion,
      kind: "HTTPRoute",
      metadata: { name: "web" },
      spec: {
        parentRefs: [{ name: "edge" }],
        hostnames: ["team.example"],
        rules: [{ backendRefs: [{ name: "web", namespace: "shop", port: 80 }] }],
      },
    });
    await this.#call("edge", "POST", `${gatewayApi}/namespaces/team/grpcroutes`, {
      apiVersion,
      kind: "GRPCRoute",
      metadata: { name: "calls" },
      spec: {
        parentRefs: [{ name: "edge" }],
        hostnames: ["calls.example"],
        rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
      },
    });
    const imported = { group: "multicluster.x-k8s.io", kind: "ServiceImport", name: "web" };
    await this.#call("edge", "POST", `${gatewayApi}/namespaces/team/httproutes`, {
      apiVersion,
      kind: "HTTPRoute",
      metadata: { name: "imported" },
      spec: {
        parentRefs: [{ name: "edge" }],
        hostnames: ["imported.example"],
        rules: [{ backendRefs: [{ ...imported, namespace: "shop", port: 81 }] }],
      },
    });
    await this.#call("edge", "POST", `${gatewayApi}/namespaces/team/httproutes`, {
      apiVersion,
      kind: "HTTPRoute",
      metadata: { name: "secure" },
      spec: {
        parentRefs: [{ name: "edge" }],
        hostnames: ["secure.team.example"],
        rules: [{ backendRefs: [{ name: "secure", port: 80 }] }],
      },
    });
    await this.#call("edge", "POST", `${gatewayApi}/namespaces/team/backendtlspolicies`, {
      apiVersion,
      kind: "BackendTLSPolicy",
      metadata: { name: "secure" },
      spec: { targetRefs: [{ group: "", kind: "Service", name: "secure" }] },
    });
    const grants = "/apis/gateway.networking.k8s.io/v1beta1/namespaces/shop/referencegrants";
    await this.#call("edge", "POST", grants, {
      apiVersion: "gateway.networking.k8s.io/v1beta1",
      kind: "ReferenceGrant",
      metadata: { name: "team" },
      spec: {
        from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "team" }],
        to: [
          { group: "", kind: "Service" },
          { group: "multicluster.x-k8s.io", kind: "ServiceImport" },
        ],
      },
    });
  }

  async #gatewayStatuses(): Promise<readonly string[]> {
    const objectAt = async (path: string) => await this.#call("edge", "GET", gatewayApi + path);
    const route = await objectAt("/namespaces/team/httproutes/web");
    const calls = await objectAt("/namespaces/team/grpcroutes/calls");
    const policy = await objectAt("/namespaces/team/backendtlspolicies/secure");
    const withConditions = [
      objectsAt(await objectAt("/gatewayclasses/lockstep"), "status", "conditions"),
      objectsAt(await objectAt("/namespaces/team/gateways/edge"), "status", "conditions"),
      objectsAt(objectsAt(route, "status", "parents")[0], "conditions"),
      objectsAt(objectsAt(calls, "status", "parents")[0], "conditions"),
      objectsAt(objectsAt(policy, "status", "ancestors")[0], "conditions"),
    ];
    return withConditions.map((conditions) =>
      conditions.map((one) => `${textAt(one, "type")}=${textAt(one, "status")}`).join(" "),
    );
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the run is over"));
    await Promise.all([...this.#running, this.#witness.stop()]);
    for (const server of this.#servers) await server.stop();
  }

  async #publish(): Promise<void> {
    const labels = { app: "web" };
    await this.#call("lab", "POST", "/api/v1/namespaces/shop/services", {
      metadata: { name: "web" },
      spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    });
    const pods = "/api/v1/namespaces/shop/pods";
    await this.#call("lab", "POST", pods, {
      metadata: { name: "web-1", labels },
      spec: { nodeName: "n", containers: [{ name: "c", image: "web" }] },
    });
    await this.#call("lab", "PATCH", `${pods}/web-1/status`, {
      status: {
        phase: "Running",
        podIP: "10.0.0.1",
        podIPs: [{ ip: "10.0.0.1" }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    });
    await this.#call("lab", "POST", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices", {
      metadata: { name: "web-1", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: [ready("10.0.0.1"), ready("10.0.0.2")],
    });
    await this.#call("lab", "POST", `${multiclusterPath}/serviceexports`, {
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceExport",
      metadata: { name: "web" },
    });
    const backend = { service: { name: "web", port: { name: "http" } } };
    const paths = [{ path: "/", pathType: "Prefix", backend }];
    await this.#call("edge", "POST", "/apis/networking.k8s.io/v1/namespaces/shop/ingresses", {
      metadata: { name: "web", annotations: { "lockstep.dev/server-snippet": "return 200;" } },
      spec: {
        ingressClassName: "lockstep",
        rules: [{ host: "web.example", http: { paths } }],
        tls: [{ hosts: ["web.example"], secretName: "web-tls" }],
      },
    });
  }

  async #startServer(name: string, files: readonly string[]): Promise<void> {
    const environment = this.#simulation.host(name);
    const observer: RequestObserver = {
      finished: (_, { code, failure }) => {
        if (code === 401 || code === 403) this.#refusals.add(failure?.message ?? "");
      },
    };
    const server = new ApiServer({
      ...environment,
      storage: new MemoryStorage(environment),
      name,
      gitVersion: "v1.33.1",
      authentication: { tokens },
      authorization: "RBAC",
      observers: [observer],
      objects: objectsIn(files).map((object) => lessened(object, this.#without)),
    });
    await server.start({ host: name, port: 6443 });
    this.#servers.push(server);
  }

  #eventWriter(): EventWriter {
    return new EventWriter({
      ...this.#simulation.host("lockstep"),
      client: this.#client("edge", "lockstep-ingress", this.#noteMissing),
      isLeader: () => true,
      uidOf: ({ namespace, name }) => this.#loop.asked.ingress(namespace, name)?.metadata.uid,
    });
  }

  #access(name: string, token: string): ClusterAccess {
    return fixedAccess({ name, server: `https://${name}:6443`, token });
  }

  #client(
    name: string,
    token: string,
    onForbidden?: HttpKubeClientOptions["onForbidden"],
  ): HttpKubeClient {
    const environment = this.#simulation.host("lockstep");
    return new HttpKubeClient({
      ...environment,
      cluster: this.#access(name, token),
      userAgent: token,
      onForbidden,
    });
  }

  async #call(
    cluster: string,
    method: KubeRequest["method"],
    path: string,
    body?: object,
  ): Promise<unknown> {
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const request = { verb: "get", method, path, contentType } as const;
    const client = this.#client(cluster, "admin");
    return parseJson(await client.request(body === undefined ? request : { ...request, body }));
  }

  #missing(machine: string): Readonly<Record<string, string>> {
    const lines = this.#simulation
      .logLines()
      .filter(({ host }) => host === machine)
      .filter(({ message }) => message.startsWith("missing permission: "));
    return Object.fromEntries(
      lines.map(({ message, fields }) => [message, String(fields["effect"])]),
    );
  }

  #complaints(): readonly string[] {
    const lines = this.#simulation
      .logLines()
      .filter(({ host, level }) => host === "lockstep" && (level === "warn" || level === "error"))
      .filter(({ fields }) => JSON.stringify(printable(fields)).includes("cannot"))
      .map(({ message }) => message);
    return [...new Set(lines)];
  }
}

function ready(address: string): object {
  return { addresses: [address], conditions: { ready: true } };
}

/** Errors are printed by their message. */
function printable(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      value instanceof Error ? value.message : value,
    ]),
  );
}
