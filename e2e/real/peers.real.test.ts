// Other ingress controllers, unmodified, with what Lockstep writes: a twin of a Service while the Service's
// own slices are late, and the copies of two clusters. Skipped where the controller cannot be built.
import { type ChildProcess, spawn } from "node:child_process";
import { webcrypto } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { withPart } from "../../scripts/docs/marked-part.ts";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { parseJson } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { endpointSliceKind } from "../../src/kube/kinds/endpoint-slice.ts";
import { isRecord, listAt } from "../../src/kube/kinds/fields.ts";
import { kubeconfig } from "../../src/lab/kubeconfig.ts";
import { startLab } from "../../src/lab/lab.ts";
import { lossOf } from "../../src/lab/traffic/tally.ts";
import { CountedTraffic, expectedFrom } from "../counted-traffic.ts";
import { hostOf, ingressClass, ShopsWorld } from "../shops-world.ts";
import { builtPeer, type PeerOptions, peerNames, startPeer } from "./harness/peers.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const documentPath = "docs/assist.md";
const requestsPerSecond = 60;

const businessClusters = 2;
const podsInEach = 2;

/** More than are under way while a proxy learns of a change. */
const calmRequests = 100;

/** In milliseconds: how late the Service's own slices are. */
const lateMs = 30_000;

/** The twin's share of the requests that the Service loses: Traefik alone waits 2 s of the 30. */
const lossShareMax = 0.2;

const service = "shop-1";
const twin = "shop-1-lockstep";

/** Rows of the table in docs/assist.md. */
const measured: (readonly (string | number)[])[] = [];

afterAll(() => {
  if (process.env["LOCKSTEP_WRITE_DOCS"] === undefined || measured.length < peerNames.length)
    return;
  const rows = measured.map((cells) => `| ${cells.join(" | ")} |`);
  const table = [
    "| ingress | requests to each | lost to the Service | lost to its twin |",
    "| --- | --- | --- | --- |",
    ...rows,
    "",
    `Measured ${new Date().toISOString().slice(0, 10)}.`,
    "",
  ].join("\n");
  const document = withPart(readFileSync(documentPath, "utf8"), "real assist", table);
  if (document === undefined) throw new Error(`${documentPath} has no part for the table`);
  writeFileSync(documentPath, document);
});

describe.each(peerNames)("%s", (peer) => {
  const { version, problem } = builtPeer(peer);
  const title = (text: string) => (problem === undefined ? text : `${text} (skipped: ${problem})`);

  it.skipIf(problem !== undefined)(
    title("loses requests to a Service whose slices are late, and hardly any to its twin"),
    async () => {
      const world = await ShopsWorld.start({
        shops: 1,
        replicas: 4,
        flags: {
          "endpoint-updates-batch-period": lateMs,
          "endpointslice-updates-batch-period": lateMs,
        },
      });
      try {
        const config = await world.kubeconfigFile();
        const asked = ["assist", "--service", `default/${service}`, "--kubeconfig", config];
        startLockstep(world, asked);
        const options = optionsIn(world);
        await createIngress(options, twin);
        const replica = await startPeer(peer, options);
        const hosts = [hostOf(service), hostOf(twin)];
        const traffic = await CountedTraffic.start({
          world,
          replicas: [replica],
          requestsPerSecond,
          hosts,
        });
        const pods = await world.pods();
        const reached = [service, twin].flatMap((shop) => pods.map((pod) => ({ ...pod, shop })));
        await traffic.servedThroughEvery(reached);
        const [leaving] = pods;
        if (leaving === undefined) throw new Error("there is no pod");
        const mark = traffic.sent;
        await world.deletePod(leaving);
        await world.until("the Service's own slices are without the pod", async () => {
          const own = await listedIn(options, service);
          return own.size > 0 && !own.has(leaving.address);
        });
        await traffic.finish();
        const [lostBySlices = 0, lostByTwin = 0] = hosts.map(
          (host) => traffic.lost().filter((one) => one.number > mark && one.host === host).length,
        );
        const sent = traffic.results.filter(
          (one) => one.number > mark && one.host === hosts[0],
        ).length;
        measured.push([version, sent, lostBySlices, lostByTwin]);
        expect(lostBySlices).toBeGreaterThan(0);
        expect(lostByTwin).toBeLessThan(lostBySlices * lossShareMax);
      } finally {
        await world.stop();
      }
    },
  );

  it.skipIf(problem !== undefined)(
    title("serves the pods of two clusters from the synced Service, and follows a release"),
    async () => {
      const environment = nodeEnvironment({ log: { write: () => undefined } });
      const size = { clusters: 3, apiservers: 1, nodes: 1, host: "127.0.0.1", firstPort: 0 };
      const lab = await startLab({ environment, crypto: webcrypto, ...size });
      const folder = await environment.files.temporaryDirectory("lockstep-e2e-peers-");
      const worlds: ShopsWorld[] = [];
      try {
        for (const [index, { access }] of lab.clusters.slice(0, businessClusters).entries()) {
          const contexts = lab.contexts.slice(index, index + 1);
          const host = { access, contexts, stop: async () => undefined };
          worlds.push(await ShopsWorld.startIn(host, { shops: 1, replicas: podsInEach }));
        }
        const [world] = worlds;
        const [access] = lab.clusters.slice(businessClusters).map((cluster) => cluster.access);
        const [context] = lab.contexts.slice(businessClusters);
        if (!world || !access || !context) throw new Error("the lab is incomplete");
        const sources = worlds.flatMap((_, index) => ["--from", lab.contexts[index]?.name ?? ""]);
        const clusters = [...sources, "--to", context.name, "--namespace", "default"];
        const config = `${folder}/kubeconfig`;
        await environment.files.write(config, kubeconfig(lab.contexts), { mode: 0o600 });
        startLockstep(world, ["sync", ...clusters, "--kubeconfig", config]);
        const { atStop } = optionsIn(world);
        const edge = { environment, access, context, folder, atStop, className: ingressClass };
        await world.until(
          "all pods are copied",
          async () => (await listedIn(edge, service)).size === businessClusters * podsInEach,
        );
        await createIngress(edge, service);
        const replica = await startPeer(peer, edge);
        const options = { world, replicas: [replica], requestsPerSecond };
        const traffic = await CountedTraffic.start(options);
        const podsNow = async () => (await Promise.all(worlds.map((one) => one.pods()))).flat();
        await traffic.servedThroughEvery(await podsNow());
        await world.roll("2");
        await world.released("2");
        await traffic.servedThroughEvery(await podsNow());
        await world.until("no request is lost any more", () =>
          traffic.results.slice(-calmRequests).every((one) => lossOf(one) === undefined),
        );
        const pods = await podsNow();
        const served = await traffic.servedThroughEvery(pods);
        await traffic.finish();
        expect(served).toEqual(expectedFrom(pods, [replica]));
      } finally {
        for (const world of worlds.reverse()) await world.stop();
        await lab.stop();
        await environment.files.remove(folder);
      }
    },
  );
});

type Place = Pick<PeerOptions, "environment" | "access">;

function optionsIn(world: ShopsWorld): PeerOptions {
  const { environment, access, folder } = world;
  const [context] = world.contexts;
  if (context === undefined) throw new Error("the cluster has no context");
  const atStop = (undo: () => Promise<void>) => world.atStop(undo);
  return { environment, access, context, folder, atStop, className: ingressClass };
}

/** As a user starts it. */
function startLockstep(world: ShopsWorld, words: readonly string[]): void {
  const child = spawn(process.execPath, ["bin/lockstep.mjs", ...words], { stdio: "ignore" });
  world.atStop(() => kill(child));
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** Of its own host, to a Service of this name. */
async function createIngress(place: Place, name: string): Promise<void> {
  const backend = { service: { name, port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  const spec = { ingressClassName: ingressClass, rules: [{ host: hostOf(name), http }] };
  const body = { metadata: { name }, spec };
  await clientOf(place).request({ verb: "create", method: "POST", path: ingresses, body });
}

/** The ready addresses in the slices of a Service. */
async function listedIn(place: Place, name: string): Promise<ReadonlySet<string>> {
  const selector = encodeURIComponent(`kubernetes.io/service-name=${name}`);
  const path = `${slices}?labelSelector=${selector}`;
  const list = parseJson(await clientOf(place).request({ verb: "list", method: "GET", path }));
  const found = (isRecord(list) ? listAt(list, "items") : []).map((raw) =>
    endpointSliceKind.project(raw),
  );
  const ready = found.flatMap(({ endpoints }) => endpoints.filter((one) => one.ready !== false));
  return new Set(ready.flatMap(({ addresses }) => addresses));
}

function clientOf({ environment, access }: Place): HttpKubeClient {
  return new HttpKubeClient({ ...environment, cluster: access, userAgent: "e2e" });
}
