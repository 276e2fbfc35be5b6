import { expect, test } from "vitest";
import {
  exportService,
  installExports,
  installImports,
  multiclusterPath,
} from "../../../../tests/syncing/multicluster-definitions.ts";
import { startSyncProgram } from "../../../../tests/syncing/sync-program.ts";
import {
  inSyncWorld,
  type SyncWorld,
  servicesPath,
  slicesPath,
} from "../../../../tests/syncing/sync-world.ts";

const settings = `
sources: [lab-1, { context: lab-2, unreachable: drop }]
target: edge
namespaces: [shop]
unreachableAfter: 60s
lease: shop/sync
statusPort: 9411
`;

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/shop/leases";

function start(
  world: SyncWorld,
  host: string,
  args: readonly string[] = [],
  file: string = settings,
) {
  return startSyncProgram(world, host, file, args);
}

async function metrics(world: SyncWorld, host: string): Promise<readonly string[]> {
  const { network } = world.simulation.host(host);
  const { body } = await network.request({ method: "GET", url: "http://127.0.0.1:9411/metrics" });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8").split("\n");
}

async function gauges(world: SyncWorld, host: string): Promise<readonly string[]> {
  const lines = await metrics(world, host);
  return lines.filter((line) => /^lockstep_sync_(writing|target_fresh)\{/.test(line));
}

/** How old the knowledge of that source is. */
async function ageSeconds(world: SyncWorld, source: string): Promise<number> {
  const start = `lockstep_sync_source_age_seconds{source="${source}"} `;
  const line = (await metrics(world, "one")).find((one) => one.startsWith(start)) ?? "";
  return Number(line.slice(start.length).replace("+Inf", "Infinity"));
}

async function addressesOf(world: SyncWorld) {
  return (await world.copies()).slices;
}

test("one of two writes, the other takes over with only the differences, and a Lease says how fresh", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    const first = await start(world, "one");
    await world.simulation.sleep(10_000);
    const second = await start(world, "two");
    await world.simulation.sleep(10_000);
    expect(await addressesOf(world)).toEqual({
      "web-lab-1-0": ["10.1.0.1"],
      "web-lab-2-0": ["10.2.0.1"],
    });
    const status = async (host: string) =>
      (await (await start(world, host, ["status"])).done()).out;
    expect(await status("one")).toContain("edge: up to date, writing");
    expect(await status("two")).toContain("edge: up to date, standby");
    expect(await status("one")).toMatch(
      /^lab-1: up to date as of \S+ m?s ago, 1 service in this cluster$/m,
    );
    expect(await status("one")).toContain("\n1 service synced, 0 pending, 0 blocked\n");
    expect(await status("two")).toContain("\n1 service synced, 0 blocked\n");
    expect(await gauges(world, "one")).toEqual([
      'lockstep_sync_writing{target="edge"} 1',
      'lockstep_sync_target_fresh{target="edge"} 1',
    ]);
    expect(await gauges(world, "two")).toEqual([
      'lockstep_sync_writing{target="edge"} 0',
      'lockstep_sync_target_fresh{target="edge"} 1',
    ]);
    const versions = async () =>
      (await world.slices()).map(({ metadata }) => metadata.resourceVersion);
    const before = await versions();
    await first.stop();
    await world.simulation.sleep(30_000);
    expect(await versions()).toEqual(before);
    await world.republish("lab-1", "web", ["10.1.0.2"]);
    await world.simulation.sleep(100);
    expect((await addressesOf(world))["web-lab-1-0"]).toEqual(["10.1.0.2"]);
    expect(await status("two")).toContain("edge: up to date, writing");
    const lease = await world.call("edge", "GET", `${leasesPath}/lockstep-source-lab-1`);
    expect(lease).toMatchObject({ spec: { holderIdentity: "lab-1", leaseDurationSeconds: 60 } });
    await second.stop();
  }));

test("a silent cluster is dropped or kept as its policy says, also after a restart", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    const first = await start(world, "one");
    await world.simulation.sleep(10_000);
    for (const cluster of ["lab-1", "lab-2"]) world.simulation.network.partition("one", cluster);
    await world.simulation.sleep(50_000);
    expect((await addressesOf(world))["web-lab-2-0"]).toEqual(["10.2.0.1"]);
    await world.simulation.sleep(120_000);
    const dropped = { "web-lab-1-0": ["10.1.0.1"], "web-lab-2-0": [] };
    expect(await addressesOf(world)).toEqual(dropped);
    expect(await ageSeconds(world, "lab-2")).toBeGreaterThan(160);
    const blind = await (await start(world, "one", ["status"])).done();
    expect(blind.code).toBe(1);
    expect(blind.out).toMatch(
      /^lab-2: unreachable, last up to date \d min( \d+ s)? ago, 1 service/m,
    );
    world.simulation.network.heal("one", "lab-2");
    await world.simulation.sleep(60_000);
    expect(await ageSeconds(world, "lab-2")).toBeLessThan(30);
    expect(await addressesOf(world)).toEqual({ ...dropped, "web-lab-2-0": ["10.2.0.1"] });
    await first.stop();
    world.simulation.network.partition("one", "lab-2");
    const second = await start(world, "one");
    await world.simulation.sleep(30_000);
    expect((await addressesOf(world))["web-lab-2-0"]).toEqual(["10.2.0.1"]);
    await world.simulation.sleep(120_000);
    expect(await addressesOf(world)).toEqual(dropped);
    await second.stop();
  }));

test("prune shows all copies of the sources, removes them with --yes, and leaves the rest", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("edge", "local", ["10.9.0.1"]);
    const running = await start(world, "one");
    await world.simulation.sleep(10_000);
    const refused = await start(world, "two", ["prune", "--yes"]);
    await expect(refused.done()).rejects.toThrow(
      "writes to edge (Lease shop/sync). Stop it first.",
    );
    const whileRunning = await (await start(world, "two", ["prune"])).done();
    await running.stop();
    const shown = await (await start(world, "two", ["prune"])).done();
    expect(shown).toEqual({
      code: 0,
      out: [
        "delete Service shop/web: a copy that sync made",
        "delete EndpointSlice shop/web-lab-1-0: a copy that sync made",
        "delete Lease shop/lockstep-source-lab-1: it says how fresh the copies are",
        "delete Lease shop/lockstep-source-lab-2: it says how fresh the copies are",
        "",
      ].join("\n"),
      errors: "4 objects to remove; --yes removes them.\n",
    });
    expect(whileRunning).toEqual(shown);
    expect((await world.copies()).services).toEqual(["local", "web"]);
    const removed = await (await start(world, "two", ["prune", "--yes"])).done();
    expect(removed.errors).toBe("4 objects removed.\n");
    await expect(
      world.call("edge", "GET", `${leasesPath}/lockstep-source-lab-1`),
    ).rejects.toMatchObject({ code: 404 });
    expect(await world.copies()).toEqual({
      slices: { "local-x1": ["10.9.0.1"] },
      services: ["local"],
    });
    await world.call("edge", "GET", `${servicesPath}/local`);
    await world.call("edge", "GET", `${slicesPath}/local-x1`);
  }));

test("clusters import from each other by a file each; the statuses follow, and prune removes all", () =>
  inSyncWorld(async (world) => {
    const both = ["lab-1", "lab-2"] as const;
    for (const cluster of both) {
      await installExports(world, cluster);
      await installImports(world, cluster);
      await world.publish(cluster, "web", ["10.1.0.1"]);
    }
    await world.simulation.sleep(5_000);
    await exportService(world, "lab-1", "web");
    const fileOf = (target: string) =>
      `sources: [lab-1, lab-2]\ntarget: ${target}\nexports: true\nimports: derived\nlease: shop/sync\n`;
    const plan = await (await start(world, "plan", ["--dry-run"], fileOf("lab-1"))).done();
    expect(plan.out).toContain("create Service shop/web-clusterset");
    const running = [];
    for (const cluster of both) running.push(await start(world, cluster, [], fileOf(cluster)));
    await world.simulation.sleep(10_000);
    const imports = async (cluster: (typeof both)[number]) =>
      await world.call(cluster, "GET", `${multiclusterPath}/serviceimports`);
    for (const cluster of both) {
      expect(await imports(cluster)).toMatchObject({ items: [{ metadata: { name: "web" } }] });
    }
    const exported = await world.call("lab-1", "GET", `${multiclusterPath}/serviceexports/web`);
    expect(exported).toMatchObject({
      status: { conditions: [{ type: "Valid" }, { type: "Ready" }, { type: "Conflict" }] },
    });
    for (const one of running) await one.stop();
    for (const cluster of both) {
      const pruned = await start(world, "prune", ["prune", "--yes"], fileOf(cluster));
      expect((await pruned.done()).errors).toContain("3 objects removed");
      expect(await imports(cluster)).toMatchObject({ items: [] });
    }
    const services = await world.call("lab-2", "GET", servicesPath);
    expect(services).toMatchObject({ items: [{ metadata: { name: "web" } }] });
  }));

const ingressesPath = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses";
const secretsPath = "/api/v1/namespaces/shop/secrets";

const withIngresses = `${settings}
ingresses:
  classes: { nginx: edge-nginx }
  hosts:
    - { from: "*.business.example", to: "*.example" }
  tlsSecrets: [shop/web-tls]
`;

async function createIngress(world: SyncWorld, name: string, host: string, service: string) {
  const backend = { service: { name: service, port: { name: "http" } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  const tls = [{ hosts: [host], secretName: `${name}-tls` }];
  const spec = { ingressClassName: "nginx", rules: [{ host, http }], tls };
  await world.call("lab-1", "POST", ingressesPath, { metadata: { name }, spec });
  await world.call("lab-1", "POST", secretsPath, {
    metadata: { name: `${name}-tls` },
    type: "kubernetes.io/tls",
    data: { "tls.crt": btoa(`chain of ${name}`), "tls.key": btoa(`key of ${name}`) },
  });
}

async function namesAt(world: SyncWorld, path: string): Promise<readonly string[]> {
  const { items } = Object(await world.call("edge", "GET", path));
  return items.map((item: object) => Object(item).metadata.name);
}

test("an Ingress and its allowed secret are planned, delivered, shown and pruned", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await createIngress(world, "web", "shop.business.example", "web");
    await createIngress(world, "pay", "pay.business.example", "pay");
    const begin = (args: readonly string[]) => start(world, "one", args, withIngresses);
    const missing =
      "Ingress shop/pay of lab-1: host pay.business.example: the Service shop/pay is not synced";
    const planned = await (await begin(["--dry-run"])).done();
    expect(planned).toEqual({
      code: 0,
      out: [
        "create Service shop/web: synced from lab-1",
        "create EndpointSlice shop/web-lab-1-0: 1 endpoint of lab-1",
        "create Secret shop/web-tls: TLS secret of lab-1",
        "create Ingress shop/web: 1 rule of lab-1",
        `not delivered: ${missing}`,
        "4 writes to edge.",
        "",
      ].join("\n"),
      errors: "",
    });
    const json = (await (await begin(["--dry-run", "--json"])).done()).out;
    expect(json).toContain('"data":"hidden"');
    expect(json).not.toContain(btoa("key of web"));
    const running = await begin([]);
    await world.simulation.sleep(10_000);
    expect(await world.call("edge", "GET", `${ingressesPath}/web`)).toMatchObject({
      spec: { ingressClassName: "edge-nginx", rules: [{ host: "shop.example" }] },
    });
    expect(await world.call("edge", "GET", `${secretsPath}/web-tls`)).toMatchObject({
      data: { "tls.key": btoa("key of web") },
    });
    expect(await namesAt(world, secretsPath)).toEqual(["web-tls"]);
    const status = (await (await begin(["status"])).done()).out;
    expect(status).toContain(`1 Ingress delivered, 0 pending, 1 problem\n  ${missing}\n`);
    await running.stop();
    const again = await (await begin(["--dry-run"])).done();
    expect(again.out).toBe(
      `not delivered: ${missing}\nNothing to write to edge: 1 service up to date.\n`,
    );
    const pruned = await (await begin(["prune", "--yes"])).done();
    expect(pruned.errors).toBe("4 objects removed.\n");
    expect(await namesAt(world, ingressesPath)).toEqual([]);
    expect(await namesAt(world, secretsPath)).toEqual([]);
  }));

test("where Ingresses cannot be read, services are synced, and the status names the problem", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    for (const cluster of ["lab-1", "edge"] as const) {
      const match = { userAgent: "lockstep-sync", resource: "ingresses" };
      world.server(cluster).faults.setRules([{ match, errors: { rate: 1, code: 503 } }]);
    }
    const running = await start(world, "one", [], withIngresses);
    await world.simulation.sleep(30_000);
    expect(await addressesOf(world)).toEqual({ "web-lab-1-0": ["10.1.0.1"] });
    const status = await (await start(world, "one", ["status"], withIngresses)).done();
    expect(status.code).toBe(0);
    expect(status.out).toMatch(/ingresses of edge: .*unable to handle/);
    await running.stop();
  }));

test("sources divided among instances with a Lease each make one service; each cleans up its own", () =>
  inSyncWorld(async (world) => {
    const shards = ["lab-1", "lab-2"] as const;
    const fileOf = (source: string) =>
      `sources: [${source}]\ntarget: edge\nnamespaces: [shop]\nlease: shop/sync-${source}\n`;
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    await world.call("lab-2", "PATCH", `${servicesPath}/web`, {
      spec: { ports: [{ name: "http", port: 8081, targetPort: 8080 }] },
    });
    const [first, second] = [
      await start(world, "one", [], fileOf("lab-1")),
      await start(world, "two", [], fileOf("lab-2")),
    ];
    await world.simulation.sleep(20_000);
    const both = { "web-lab-1-0": ["10.1.0.1"], "web-lab-2-0": ["10.2.0.1"] };
    expect(await addressesOf(world)).toEqual(both);
    const holders = shards.map(async (source) => {
      const lease = await world.call("edge", "GET", `${leasesPath}/sync-${source}`);
      return Object(lease).spec.holderIdentity;
    });
    expect(new Set(await Promise.all(holders)).size).toBe(2);
    const version = async () =>
      Object(await world.call("edge", "GET", `${servicesPath}/web`)).metadata.resourceVersion;
    const before = await version();
    await world.simulation.sleep(60_000);
    expect(await version()).toBe(before);
    await second.stop();
    await world.republish("lab-1", "web", ["10.1.0.2"]);
    await world.simulation.sleep(100);
    expect(await addressesOf(world)).toEqual({ ...both, "web-lab-1-0": ["10.1.0.2"] });
    await first.stop();
    await (await start(world, "one", ["prune", "--yes"], fileOf("lab-1"))).done();
    expect(await world.copies()).toEqual({
      slices: { "web-lab-2-0": ["10.2.0.1"] },
      services: ["web"],
    });
    await (await start(world, "two", ["prune", "--yes"], fileOf("lab-2"))).done();
    expect(await world.copies()).toEqual({ slices: {}, services: [] });
  }));
