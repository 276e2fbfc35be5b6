// The commands against a cluster with Kubernetes' controllers, as the lab models them.
import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { parseJson } from "../../../kube/client/client.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import type { Credentials } from "../../../kube/credentials/credentials.ts";
import { endpointSliceKind } from "../../../kube/kinds/endpoint-slice.ts";
import { isRecord, listAt, type RawRecord } from "../../../kube/kinds/fields.ts";
import { type Cluster, startCluster } from "../../../lab/cluster.ts";
import { Ledger } from "../../../lab/kubelet/ledger.ts";
import { createShop, createShopIngress, releaseShop } from "../../../lab/shop.ts";
import { type Simulation, simulate } from "../../../simulation/simulation.ts";
import { UsageError } from "../../command.ts";
import { runProgram } from "../../program.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const ingress = "/apis/networking.k8s.io/v1/namespaces/default/ingresses/shop";

const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "prod",
  clusters: [{ name: "prod", cluster: { server: "" } }],
  contexts: [{ name: "prod", context: { cluster: "prod", user: "admin" } }],
  users: [{ name: "admin", user: { token: "" } }],
});

class World {
  readonly simulation: Simulation;
  readonly cluster: Cluster;

  constructor(simulation: Simulation, cluster: Cluster) {
    this.simulation = simulation;
    this.cluster = cluster;
  }

  async call(method: "GET" | "PATCH" | "POST", path: string, body?: object): Promise<RawRecord> {
    const environment = this.simulation.host("person");
    const client = new HttpKubeClient({
      ...environment,
      cluster: this.cluster.access,
      userAgent: "person",
    });
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const request = { verb: "get", method, path, contentType } as const;
    const answer = await client.request(body === undefined ? request : { ...request, body });
    const object = parseJson(answer);
    return isRecord(object) ? object : {};
  }

  /** Runs `lockstep assist` with these words until it ends, or for so long. */
  async assist(words: readonly string[], forMs?: number, stdin?: string) {
    const environment = this.simulation.host("laptop");
    const { server } = this.cluster.access;
    const config = kubeconfig
      .replace('"server":""', `"server":"${server}"`)
      .replace('"token":""', `"token":"${bearer(await this.cluster.access.credentials())}"`);
    await environment.files.write("/kubeconfig", config);
    const terminal = new RecordedTerminal();
    const stop = new AbortController();
    if (forMs !== undefined) {
      environment.timers.after(forMs, () => stop.abort(new Error("stopped by the test")));
    }
    const context = {
      environment,
      terminal,
      stop: stop.signal,
      ...(stdin !== undefined && { stdin: () => bytes(stdin) }),
    };
    const [first = "", ...rest] = words;
    const isSub = !first.startsWith("-");
    const line = isSub
      ? ["assist", first, "--kubeconfig", "/kubeconfig", ...rest]
      : ["assist", "--kubeconfig", "/kubeconfig", ...words];
    const code = await runProgram(context, "0.0.0", line);
    return { code, out: terminal.out, errors: terminal.error };
  }

  /** By writer, how many endpoints the slices of a Service list as ready. */
  async listed(service: string): Promise<Record<string, number>> {
    const { items } = { items: listAt(await this.call("GET", slices), "items") };
    const counts: Record<string, number> = {};
    for (const raw of items) {
      const slice = endpointSliceKind.project(raw);
      const { labels } = slice.metadata;
      if (labels["kubernetes.io/service-name"] !== service) continue;
      const writer = labels["endpointslice.kubernetes.io/managed-by"] ?? "";
      const ready = slice.endpoints.filter((endpoint) => endpoint.ready !== false).length;
      counts[writer] = (counts[writer] ?? 0) + ready;
    }
    return counts;
  }
}

function bearer({ authorization = "" }: Credentials): string {
  return authorization.replace(/^Bearer /, "");
}

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function inCluster(run: (world: World) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const user = simulation.host("user");
    const cluster = await startCluster({
      name: "prod",
      environmentOf: (part) => simulation.host(part),
      hostOf: (part) => part,
      podNetwork: "10.7",
      ports: [6443],
      nodes: 2,
      profile: "1.33",
      ledger: new Ledger(user),
    });
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
    await createShop(client);
    await createShopIngress(client);
    await simulation.sleep(20_000);
    await run(new World(simulation, cluster));
    await cluster.stop();
  });
}

const keep = ["--service", "default/shop"];
const ours = "assist.lockstep.dev";
const kubernetes = "endpointslice-controller.k8s.io";

test("a dry run prints the writes and makes none, a run makes them, and then none is left", () =>
  inCluster(async (world) => {
    expect(await world.assist([...keep, "--dry-run"])).toEqual({
      code: 0,
      out:
        "create Service default/shop-lockstep: the twin of shop\n" +
        "  then its EndpointSlices: 4 endpoints\n1 write to prod.\n",
      errors: "",
    });
    expect(await world.listed("shop-lockstep")).toEqual({});
    const run = await world.assist(keep, 10_000);
    expect(run).toMatchObject({
      code: 0,
      errors: "Keeping twins in prod, with the Lease default/lockstep-assist. Ctrl-C stops it.\n",
    });
    expect(run.out.replaceAll(/\d+ ms/g, "N ms")).toBe(
      "create Service default/shop-lockstep: the twin of shop (N ms)\n" +
        "create EndpointSlice default/shop-lockstep-0: 4 endpoints of prod (N ms)\n",
    );
    expect(await world.listed("shop-lockstep")).toEqual({ [ours]: 4 });
    expect((await world.assist([...keep, "--dry-run"])).out).toBe(
      "Nothing to write to prod: 1 twin up to date.\n",
    );
    expect((await world.assist(["--dry-run", "--namespace", "nowhere"])).errors).toBe("");
  }));

test("a named Service that gets no twin is reported, beside others that get one", () =>
  inCluster(async (world) => {
    await world.call("POST", "/api/v1/namespaces/default/services", {
      metadata: { name: "database" },
      spec: { clusterIP: "None", ports: [{ port: 5432 }] },
    });
    const named = [...keep, "--service", "default/shpo", "--service", "default/database"];
    const problems = [
      "no twin for default/shpo: there is no such Service",
      "no twin for default/database: it has no selector",
      "",
    ].join("\n");
    const planned = await world.assist([...named, "--dry-run"]);
    expect(planned.out).toContain(problems);
    expect((await world.assist([...named, "--dry-run", "--json"])).out).toContain(
      '{"twin":null,"service":"default/shpo","blocked":"there is no such Service","writes":[]}\n',
    );
    expect((await world.assist(named, 10_000)).errors).toContain(problems);
  }));

test("without a replica, off gives twins back to Kubernetes, which lists every endpoint throughout", () =>
  inCluster(async (world) => {
    await world.assist(keep, 10_000);
    const frozen = await world.assist(["status"]);
    expect(frozen.code).toBe(1);
    expect(frozen.out).toContain("FROZEN: no replica lives");
    const stop = await watchTwin(world);
    expect(await world.assist(["off", "--all"])).toEqual({
      code: 0,
      out: "default/shop-lockstep: Kubernetes serves it, as it serves shop: 4 endpoints\n",
      errors: "",
    });
    expect(await world.listed("shop-lockstep")).toEqual({ [kubernetes]: 4 });
    // Again: nothing to do. A replica that starts leaves it alone.
    expect((await world.assist(["off", "default/shop"])).code).toBe(0);
    expect((await world.assist(keep, 20_000)).out).toBe("");
    const status = await world.assist(["status"]);
    expect([status.code, status.out.includes("handed back, Kubernetes serves it")]).toEqual([
      0,
      true,
    ]);
    expect((await world.assist(["on", "default/shop"])).out).toBe(
      "default/shop-lockstep: the replicas of lockstep assist may keep it again\n",
    );
    await world.assist(keep, 20_000);
    expect(await world.listed("shop-lockstep")).toEqual({ [ours]: 4 });
    expect(await stop()).toBe(4);
  }));

test("off leaves the last endpoints while Kubernetes' controllers are behind, and says so", () =>
  inCluster(async (world) => {
    await world.assist(keep, 10_000);
    await world.cluster.controlPlane.stop();
    const first = await world.assist(["off", "default/shop"]);
    expect(first).toMatchObject({
      code: 1,
      out:
        "default/shop-lockstep: handed back, but Kubernetes does not list its endpoints yet: its " +
        "controllers are behind. Until then it keeps the last 4 endpoints\n" +
        "1 twin not complete yet. Run lockstep assist off again later.\n",
    });
    expect(await world.listed("shop-lockstep")).toEqual({ [ours]: 4 });
    // The controller writes this as soon as it can.
    await world.call("POST", slices, {
      metadata: {
        name: "shop-lockstep-x1",
        labels: {
          "kubernetes.io/service-name": "shop-lockstep",
          "endpointslice.kubernetes.io/managed-by": kubernetes,
        },
      },
      addressType: "IPv4",
      ports: [{ name: "", port: 8080 }],
      endpoints: [...(await addresses(world))].map((address) => ({ addresses: [address] })),
    });
    expect((await world.assist(["off", "default/shop"])).code).toBe(0);
    expect(await world.listed("shop-lockstep")).toEqual({ [kubernetes]: 4 });
  }));

test("a twin that an Ingress names is not removed, and one that none names is", () =>
  inCluster(async (world) => {
    await world.assist(keep, 10_000);
    const backend = async (name: string): Promise<void> => {
      const paths = [
        { path: "/", pathType: "Prefix", backend: { service: { name, port: { number: 80 } } } },
      ];
      await world.call("PATCH", ingress, {
        spec: { rules: [{ host: "shop.example", http: { paths } }] },
      });
    };
    await backend("shop-lockstep");
    expect(await world.assist(["off", "--all", "--remove"])).toMatchObject({
      code: 1,
      out:
        "default/shop-lockstep: not removed: Ingress default/shop names it. Write the name of its " +
        "Service there first\n",
    });
    expect((await world.assist(["status", "--json"])).out).toContain(
      '"usedBy":["Ingress default/shop"]',
    );
    expect(await world.listed("shop-lockstep")).toEqual({ [ours]: 4 });
    await backend("shop");
    expect((await world.assist(["off", "default/shop", "--remove"])).code).toBe(0);
    expect(await world.listed("shop-lockstep")).toEqual({});
    expect((await world.assist(["status"])).out).toBe("There are no twins.\n");
  }));

test("status says how late the Service's own slices were, and how many requests that would have hit", () =>
  inCluster(async (world) => {
    await world.cluster.controlPlane.restart({ "endpointslice-updates-batch-period": 10_000 });
    await world.simulation.sleep(5_000);
    const running = world.assist([...keep, "--json"], 80_000);
    await world.simulation.sleep(20_000);
    const user = world.simulation.host("user");
    const client = new HttpKubeClient({
      ...user,
      cluster: world.cluster.access,
      userAgent: "user",
    });
    await releaseShop(client, "2");
    await world.simulation.sleep(45_000);
    const status = await world.assist(["status", "--json"]);
    expect(status.code).toBe(0);
    const [twin] = JSON.parse(status.out).twins;
    expect(twin).toMatchObject({
      twin: "default/shop-lockstep",
      service: "shop",
      state: "kept",
      endpoints: 4,
      published: 4,
      usedBy: [],
      leaves: { count: 4 },
      joins: { count: 4 },
      requests: null,
    });
    expect(twin.leaves.longestMs).toBeGreaterThan(5_000);
    expect(twin.leaves.longestMs).toBeLessThan(40_000);
    const text = await world.assist(["status"]);
    expect(text.out).toContain("requests   unknown: give the ingress's log with --access-log");
    const log = accessLog(world.simulation.host("laptop").clock.wallMs(), [
      ...(await addresses(world)),
    ]);
    const counted = await world.assist(["status", "--json", "--access-log", "-"], undefined, log);
    const { requests } = JSON.parse(counted.out).twins[0];
    expect(requests.windowsOutside).toBe(0);
    // Ten requests a second, for the seconds that each of four pods stayed in the slices.
    expect(requests.count).toBeGreaterThan(20);
    expect(requests.count).toBeLessThan(10 * 4 * 40);
    await running;
  }));

test.each([
  [["off"], "Name a Service, such as shop/web, or use --namespace or --all."],
  [["off", "--all", "shop/web"], "--all means every twin: remove it, or remove the names."],
  [
    ["--all-namespaces", "--namespace", "shop"],
    "--all-namespaces and --namespace cannot be used together: remove one of them.",
  ],
])("%j is refused in words", (words, message) =>
  inCluster(async (world) => {
    await expect(world.assist(words)).rejects.toEqual(new UsageError(message));
  }),
);

test("a Service without a twin is named", () =>
  inCluster(async (world) => {
    expect(await world.assist(["off", "default/none"])).toEqual({
      code: 1,
      out: "default/none: no such twin\n",
      errors: "",
    });
  }));

/** The fewest endpoints that all slices of the twin together ever listed, once it is stopped. */
async function watchTwin(world: World): Promise<() => Promise<number>> {
  let fewest = Number.POSITIVE_INFINITY;
  let isOver = false;
  const looking = (async () => {
    while (!isOver) {
      const counts = Object.values(await world.listed("shop-lockstep"));
      fewest = Math.min(fewest, Math.max(0, ...counts));
      await world.simulation.sleep(20);
    }
  })();
  return async () => {
    isOver = true;
    await looking;
    return fewest;
  };
}

async function addresses(world: World): Promise<ReadonlySet<string>> {
  const items = listAt(await world.call("GET", slices), "items");
  return new Set(
    items
      .map((raw) => endpointSliceKind.project(raw))
      .flatMap(({ endpoints }) => endpoints.flatMap((one) => one.addresses)),
  );
}

/** Ten requests a second in the last five minutes, in the format of ingress-nginx. */
function accessLog(nowMs: number, upstreams: readonly string[]): string {
  const lines = Array.from({ length: 3_000 }, (_, index) => {
    const at = new Date(nowMs - 300_000 + index * 100);
    const upstream = `${upstreams[index % upstreams.length]}:8080`;
    return (
      `192.0.2.1 - - [${stamp(at)}] "GET / HTTP/1.1" 200 5 "-" "curl" 50 0.001 ` +
      `[default-shop-80] [] ${upstream} 5 0.001 200 ${index}`
    );
  });
  return `${lines.join("\n")}\n`;
}

/** `18/Nov/2026:20:20:04 +0000`. */
function stamp(at: Date): string {
  const [, day, month, year, time] =
    /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(at.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
