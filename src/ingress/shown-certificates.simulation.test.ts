import { webcrypto } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import type { WallMs } from "../environment/clock.ts";
import { type KeyPair, makeAuthority } from "../lab/apiserver/certificate-authority.ts";
import { maxNamedWatches } from "../sources/secret-source.ts";
import { type IngressWorld, inIngressWorld, type WorldCluster } from "./ingress-world.contract.ts";

const secrets = "/api/v1/namespaces/default/secrets";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";

let first: KeyPair;
let second: KeyPair;

beforeAll(async () => {
  const clock = { wallMs: () => Date.now() as WallMs, monotonicMs: () => 0 as never };
  const authority = await makeAuthority({ clock, crypto: webcrypto, name: "test" });
  first = await authority.issueServer(["web.example"]);
  second = await authority.issueServer(["web.example"]);
});

function dataOf({ cert, key }: KeyPair) {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return { "tls.crt": base64(cert), "tls.key": base64(key) };
}

async function secret(cluster: WorldCluster, name: string, pair: KeyPair): Promise<void> {
  const type = "kubernetes.io/tls";
  await cluster.create(secrets, { metadata: { name }, type, data: dataOf(pair) });
}

async function ingress(cluster: WorldCluster, name: string, secretNames: readonly string[]) {
  const tls = secretNames.map((secretName) => ({ hosts: ["web.example"], secretName }));
  await cluster.create(ingresses, {
    metadata: { name },
    spec: {
      ingressClassName: "lockstep",
      tls,
      rules: [{ host: "web.example" }],
      defaultBackend: { service: { name: "web", port: { number: 80 } } },
    },
  });
}

/** `name ← secret first|second`, and what the owners are told of it. */
function shown({ loop }: IngressWorld) {
  const { certificates, serverNames } = loop.decisions.certificates.table;
  return {
    names: [...serverNames].map(([name, key]) => {
      const { chain = "" } = certificates.get(key) ?? {};
      const which = chain.trim() === first.cert.trim() ? "first" : "second";
      return `${name} ← ${key} ${which}`;
    }),
    problems: loop.decisions.routes.problems
      .filter(({ reason }) => reason !== "BackendMissing")
      .map(({ message }) => message),
  };
}

test("the first decision has the certificates, and a changed secret is the next", () =>
  inIngressWorld(
    async (world) => {
      const { clusters, told, nextTold } = world;
      expect(told.map(({ routes }) => routes)).toEqual([true]);
      expect(shown(world)).toEqual({ names: ["web.example ← default/web first"], problems: [] });
      const changed = nextTold();
      await clusters.east.update(`${secrets}/web`, { data: dataOf(second) });
      expect((await changed).routes).toBe(true);
      expect(shown(world).names).toEqual(["web.example ← default/web second"]);
    },
    {
      before: async ({ east }) => {
        await secret(east, "web", first);
        await ingress(east, "web", ["web"]);
      },
    },
  ));

test("a secret that comes after its Ingress is shown when it is there", () =>
  inIngressWorld(
    async (world) => {
      expect(shown(world)).toEqual({
        names: [],
        problems: ["spec.tls[0]: there is no secret default/web of type kubernetes.io/tls"],
      });
      const changed = world.nextTold();
      await secret(world.clusters.east, "web", first);
      await changed;
      expect(shown(world)).toEqual({ names: ["web.example ← default/web first"], problems: [] });
    },
    { before: ({ east }) => ingress(east, "web", ["web"]) },
  ));

test("only secrets that an Ingress names are read, each by its name", () =>
  inIngressWorld(
    async ({ simulation, clusters, loop }) => {
      await simulation.sleep(1_000);
      expect(loop.secrets.get({ namespace: "default", name: "web" }).kind).toBe("present");
      expect(loop.secrets.get({ namespace: "default", name: "other" }).kind).toBe("unread");
      await clusters.east.update(`${ingresses}/web`, { spec: { tls: null } });
      await simulation.sleep(1_000);
      expect(loop.secrets.get({ namespace: "default", name: "web" }).kind).toBe("unread");
    },
    {
      before: async ({ east }) => {
        await secret(east, "web", first);
        await secret(east, "other", second);
        await ingress(east, "web", ["web"]);
      },
    },
  ));

test("with very many names one watch of all TLS secrets takes their place", () =>
  inIngressWorld(
    async (world) => {
      const { simulation, clusters, loop } = world;
      const many = Array.from({ length: maxNamedWatches + 1 }, (_, index) => `absent-${index}`);
      await ingress(clusters.east, "many", many);
      await simulation.sleep(2_000);
      const { serverNames } = loop.decisions.certificates.table;
      expect([...serverNames]).toEqual([["web.example", "default/web"]]);
      expect(loop.secrets.get({ namespace: "default", name: "other" }).kind).toBe("present");
      expect(loop.secrets.get({ namespace: "default", name: "absent-1" }).kind).toBe("absent");
    },
    {
      before: async ({ east }) => {
        await secret(east, "web", first);
        await secret(east, "other", second);
        await ingress(east, "web", ["web"]);
      },
    },
  ));

test("without permission the routes go on, and the owner is told", () =>
  inIngressWorld(
    async (world) => {
      await world.simulation.sleep(2_000);
      expect(shown(world)).toEqual({
        names: [],
        problems: ["spec.tls[0]: the secret default/web may not be read: secrets is forbidden"],
      });
      expect(world.told.length).toBe(1);
    },
    { forbidden: "secrets", before: ({ east }) => ingress(east, "web", ["web"]) },
  ));
