import { webcrypto } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import {
  type IngressWorld,
  inIngressWorld,
  type WorldCluster,
} from "../../tests/ingress/ingress-world.ts";
import { type KeyPair, makeAuthority } from "../apiserver/certificate-authority.ts";
import type { WallMs } from "../environment/clock.ts";
import { maxNamedWatches } from "../sources/secret-source.ts";

const secrets = "/api/v1/namespaces/default/secrets";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const of = (path: string, namespace: string) => path.replace("/default/", `/${namespace}/`);

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

async function secret(
  cluster: WorldCluster,
  name: string,
  pair: KeyPair,
  namespace = "default",
): Promise<void> {
  const type = "kubernetes.io/tls";
  await cluster.create(of(secrets, namespace), { metadata: { name }, type, data: dataOf(pair) });
}

async function ingress(
  cluster: WorldCluster,
  name: string,
  secretNames: readonly string[],
  namespace = "default",
): Promise<void> {
  const tls = secretNames.map((secretName) => ({ hosts: ["web.example"], secretName }));
  await cluster.create(of(ingresses, namespace), {
    metadata: { name },
    spec: {
      ingressClassName: "lockstep",
      tls,
      rules: [{ host: "web.example" }],
      defaultBackend: { service: { name: "web", port: { number: 80 } } },
    },
  });
}

/** `name ← secret first|second`, and the problems of the owners. */
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
      const { clusters, applied, nextApplied } = world;
      expect(applied.map(({ routes }) => routes)).toEqual([true]);
      expect(shown(world)).toEqual({ names: ["web.example ← default/web first"], problems: [] });
      const changed = nextApplied();
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
        problems: ["spec.tls[0]: secret default/web of type kubernetes.io/tls does not exist"],
      });
      const changed = world.nextApplied();
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

/** As a role allows that names secrets: none is listed but by its name. */
const byNameAlone = (path: string) => path.includes("/secrets") && !path.includes("metadata.name");

/** Names that the first ones of a namespace leave no room for. */
const tooMany = Array.from({ length: maxNamedWatches + 1 }, (_, index) => `many-${index + 10}`);

/** Whether each of these is known, and how. */
function known({ loop }: IngressWorld, ...keys: readonly string[]): readonly string[] {
  return keys.map((key) => {
    const [namespace = "", name = ""] = key.split("/");
    const found = loop.secrets.get({ namespace, name });
    return found.kind === "refused" ? `refused: ${found.detail}` : found.kind;
  });
}

const beyond =
  `refused: the namespace uses more than ${maxNamedWatches} secrets of this kind; the ` +
  "newest are ignored";

async function loud(east: WorldCluster): Promise<void> {
  await east.namespace("loud");
  await secret(east, "many-10", second, "loud");
  await secret(east, "many-74", second, "loud");
  await ingress(east, "many", tooMany, "loud");
}

async function quiet(east: WorldCluster): Promise<void> {
  await secret(east, "web", first);
  await ingress(east, "web", ["web"]);
}

test.each([
  ["at the start", loud, async () => undefined],
  ["later", async () => undefined, loud],
])(
  "a namespace with too many names harms its own alone where a role names secrets: %s",
  (_, before, after) =>
    inIngressWorld(
      async (world) => {
        const { simulation, clusters } = world;
        await after(clusters.east);
        await simulation.sleep(2_000);
        const keys = ["loud/many-10", "loud/many-11", "loud/many-74", "default/web"];
        expect(known(world, ...keys)).toEqual(["present", "absent", beyond, "present"]);
        expect(shown(world).names).toEqual(["web.example ← default/web first"]);
        const late = world.nextApplied();
        await clusters.east.update(`${secrets}/web`, { data: dataOf(second) });
        await late;
        expect(shown(world).names).toEqual(["web.example ← default/web second"]);
      },
      {
        forbidden: byNameAlone,
        before: async ({ east }) => {
          await quiet(east);
          await before(east);
        },
      },
    ),
);

test("a list without an answer does not keep certificates waiting that are read by name", () =>
  inIngressWorld(
    async (world) => {
      await world.simulation.sleep(20_000);
      expect(shown(world).names).toEqual(["web.example ← default/web first"]);
    },
    {
      unanswered: byNameAlone,
      before: async ({ east }) => {
        await quiet(east);
        await loud(east);
      },
    },
  ));

test("a namespace whose secrets may be listed has them listed, whatever others may", () =>
  inIngressWorld(
    async (world) => {
      await world.simulation.sleep(2_000);
      const keys = ["loud/many-10", "loud/many-11", "loud/many-74", "default/web"];
      expect(known(world, ...keys)).toEqual(["present", "absent", "present", "present"]);
    },
    {
      forbidden: (path) => byNameAlone(path) && !path.includes("/namespaces/loud/"),
      before: async ({ east }) => {
        await quiet(east);
        await loud(east);
      },
    },
  ));

test("a list that is forbidden while it serves leaves every certificate as it was", () => {
  let isForbidden = false;
  return inIngressWorld(
    async (world) => {
      const { simulation, clusters } = world;
      const keys = ["loud/many-10", "loud/many-74", "default/web"];
      await simulation.sleep(2_000);
      expect(known(world, ...keys)).toEqual(["present", "present", "present"]);
      isForbidden = true;
      simulation.network.resetConnections("lockstep", "api-east");
      await simulation.sleep(200_000);
      expect(known(world, ...keys)).toEqual(["present", "present", "present"]);
      await clusters.east.update(`${secrets}/web`, { data: dataOf(second) });
      await simulation.sleep(2_000);
      expect(shown(world).names).toEqual(["web.example ← default/web second"]);
    },
    {
      forbidden: (path) => isForbidden && byNameAlone(path),
      before: async ({ east }) => {
        await quiet(east);
        await loud(east);
      },
    },
  );
});

test("without permission the routes go on, and the owner gets a problem", () =>
  inIngressWorld(
    async (world) => {
      await world.simulation.sleep(2_000);
      expect(shown(world)).toEqual({
        names: [],
        problems: ["spec.tls[0]: no permission to read secret default/web: secrets is forbidden"],
      });
      expect(world.applied.length).toBe(1);
    },
    { forbidden: "secrets", before: ({ east }) => ingress(east, "web", ["web"]) },
  ));
