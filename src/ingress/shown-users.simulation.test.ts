import { expect, test } from "vitest";
import {
  type IngressWorld,
  inIngressWorld,
  type WorldCluster,
} from "../../tests/ingress/ingress-world.ts";
import { maxNamedWatches } from "../sources/secret-source.ts";

const secrets = "/api/v1/namespaces/default/secrets";

/** Some messages of the network, and the time that changes are gathered for. */
const aMomentMs = 1_500;

const dataOf = (auth: string) => ({ auth: Buffer.from(auth).toString("base64") });

async function protect(
  cluster: WorldCluster,
  name: string,
  annotations: Readonly<Record<string, string>>,
  namespace = "default",
): Promise<void> {
  const own = Object.entries({ "auth-type": "basic", ...annotations }).map(([key, text]) => [
    `nginx.ingress.kubernetes.io/${key}`,
    text,
  ]);
  const backend = { service: { name: "web", port: { number: 80 } } };
  const paths = [{ path: "/", pathType: "Prefix", backend }];
  await cluster.create(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, {
    metadata: { name, annotations: Object.fromEntries(own) },
    spec: { ingressClassName: "lockstep", rules: [{ host: `${name}.example`, http: { paths } }] },
  });
}

/** A secret with a user, and an Ingress of its name that it protects. */
async function keep(cluster: WorldCluster, namespace: string, name: string): Promise<void> {
  const body = { metadata: { name }, data: dataOf("ann:{PLAIN}1") };
  await cluster.create(`/api/v1/namespaces/${namespace}/secrets`, body);
  await protect(cluster, name, { "auth-secret": name }, namespace);
}

/** The proxy's policies of the hosts and lists of users, and the authors of problems. */
function shown({ loop }: IngressWorld) {
  const { hosts, problems } = loop.decisions.routes;
  return {
    asked: [...hosts.values()].map(([rule]) => rule?.policy),
    users: Object.fromEntries(loop.decisions.users.table.users),
    problems: problems
      .filter(({ reason }) => reason !== "BackendMissing")
      .map(({ origin, reason, message }) => `${origin.name} ${reason} ${message}`),
  };
}

const users = "default/people file";
const asked = [{ basicAuth: { users, realm: "Authentication required" } }];

test("the first decision has the users, and a changed secret is the next", () =>
  inIngressWorld(
    async (world) => {
      const { clusters, simulation, nextApplied } = world;
      const ann = [["ann", "{PLAIN}1"]];
      expect(shown(world)).toEqual({ asked, users: { [users]: ann }, problems: [] });
      const changed = nextApplied();
      await clusters.east.update(`${secrets}/people`, {
        data: dataOf("bob:{PLAIN}2\nann:secret\n"),
      });
      expect((await changed).routes).toBe(true);
      const leftOut =
        "web UserIgnored annotation auth-secret: secret default/people has password hashes " +
        'that are not supported or too slow, so these users cannot sign in: "ann"';
      const bob = [["bob", "{PLAIN}2"]];
      expect(shown(world)).toEqual({ asked, users: { [users]: bob }, problems: [leftOut] });
      await clusters.east.update(`${secrets}/people`, { data: { auth: null } });
      await simulation.sleep(aMomentMs);
      const closed =
        "web RouteClosed annotation auth-secret: the secret default/people has no key auth, " +
        "so every request is answered with 503";
      expect(shown(world)).toEqual({ asked, users: {}, problems: [closed] });
    },
    {
      before: async ({ east }) => {
        await east.service("web");
        await east.create(secrets, { metadata: { name: "people" }, data: dataOf("ann:{PLAIN}1") });
        await protect(east, "web", { "auth-secret": "default/people" });
      },
    },
  ));

test.each([
  [
    { "auth-secret": "people" },
    undefined,
    asked,
    "secret default/people does not exist, so every request is answered with 503",
  ],
  [
    { "auth-secret": "people" },
    "secrets",
    asked,
    "no permission to read secret default/people: secrets is forbidden, " +
      "so every request is answered with 503",
  ],
  [
    { "auth-secret": "other/people" },
    undefined,
    [{ closed: true }],
    "the secret is in another namespace, so every request is answered with 503",
  ],
])(
  "users that cannot be read are reported: %j without %s",
  (annotations, forbidden, policy, said) =>
    inIngressWorld(
      async (world) => {
        await world.simulation.sleep(aMomentMs);
        const problems = [`web RouteClosed annotation auth-secret: ${said}`];
        expect(shown(world)).toEqual({ asked: policy, users: {}, problems });
      },
      {
        before: async ({ east }) => {
          await east.service("web");
          await protect(east, "web", annotations);
        },
        ...(forbidden === undefined ? {} : { forbidden }),
      },
    ),
);

test("a namespace that names too many secrets closes its own newest routes, after a restart too", () =>
  inIngressWorld(
    async (world) => {
      await world.simulation.sleep(aMomentMs);
      const { users: lists, problems } = shown(world);
      const own = Object.keys(lists).filter((key) => key.startsWith("busy/"));
      expect(lists[users]).toEqual([["ann", "{PLAIN}1"]]);
      expect(own).toEqual(["busy/p2 file"]);
      expect(problems.filter((one) => one.includes("secret busy/absent")).length).toBe(
        maxNamedWatches - 1,
      );
      const detail = `the namespace uses more than ${maxNamedWatches} secrets of this kind`;
      expect(problems.filter((one) => one.includes(detail))).toEqual([
        `p1 RouteClosed annotation auth-secret: no permission to read secret busy/p1: ${detail}; ` +
          "the newest are ignored, so every request is answered with 503",
      ]);
    },
    {
      before: async ({ east }, simulation) => {
        await east.service("web");
        await east.namespace("busy");
        // Names alone would give p1 the place before p2; the oldest comes first.
        await keep(east, "busy", "p2");
        for (let number = 1; number < maxNamedWatches; number += 1) {
          const name = `absent-${number}`;
          await protect(east, name, { "auth-secret": name }, "busy");
        }
        await simulation.sleep(1_000);
        await keep(east, "busy", "p1");
        await keep(east, "default", "people");
      },
    },
  ));
