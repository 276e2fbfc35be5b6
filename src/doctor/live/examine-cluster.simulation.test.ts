import { expect, test } from "vitest";
import {
  aboveInfo,
  type Examined,
  examine,
  minuteMs,
  savedIn,
  serverAddressOf,
  withCluster,
} from "../../../tests/doctor/examined-cluster.ts";
import { lessened, objectsIn, type Right } from "../../../tests/rights/deployed-rights.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import { createShop, releaseShop } from "../../lab/shop.ts";
import { isThorough } from "../../simulation/seeds.ts";

const versions = [
  "1.9",
  "1.33",
  ...(isThorough(process.env) ? (["1.17.13"] as const) : []),
] as const;

test.each(versions)(
  "in a healthy and busy cluster of %s nothing is found above info",
  async (profile) => {
    const kubernetesService = { reconcilerType: "lease" } as const;
    // No Ingress: without a controller its status would rightly be found empty.
    const options = { profile, ports: [6443, 6443], serverAddressOf, kubernetesService };
    const seen = await withCluster(options, async (_cluster, client, stage) => {
      await createShop(client);
      await stage.sleep(minuteMs);
      const looking = examine(stage.environmentOf("operator"), client, { forMs: minuteMs });
      for (let release = 1; release <= 4; release += 1) {
        await releaseShop(client, String(release));
        await stage.sleep(10_000);
      }
      return looking;
    });
    expect(aboveInfo(seen)).toEqual([]);
    expect(seen.problems).toEqual([]);
  },
);

test("a refused kind is reported with its permission, and the others are read", async () => {
  const seen = await withCluster({}, async (_cluster, client, stage) => {
    await stage.sleep(minuteMs);
    return examine(stage.environmentOf("operator"), refusing(client, /configmaps|\/log/), {
      forMs: 10_000,
    });
  });
  expect(seen.problems).toEqual([
    'configmaps: no permission. Grant "list" on configmaps; deploy/rbac/doctor.yaml has all permissions.',
    'pods/log: no permission. Grant "get" on pods/log; deploy/rbac/doctor.yaml has all permissions.',
  ]);
  expect([...(seen.costs[0]?.objects.keys() ?? [])]).toEqual([
    "nodes",
    "leases",
    "endpoints",
    "services",
    "pods",
    "ingresses",
    "events",
  ]);
});

function refusing(client: KubeClient, paths: RegExp): KubeClient {
  return {
    stream: (request) => client.stream(request),
    request: async (request) => {
      if (!paths.test(request.path)) return client.request(request);
      throw new StatusError({ code: 403, reason: "Forbidden", message: "forbidden" });
    },
  };
}

test("it only reads, never Secrets, and keeps no data of ConfigMaps", async () => {
  const requests: string[] = [];
  const files = await withCluster({}, async (_cluster, client, stage) => {
    const annotations = { "control-plane.alpha.kubernetes.io/leader": '{"holderIdentity":"a"}' };
    await client.request({
      verb: "create",
      method: "POST",
      path: "/api/v1/namespaces/default/configmaps",
      body: { metadata: { name: "lock", annotations }, data: { password: "hidden-word" } },
    });
    const recorded: KubeClient = {
      stream: (request) => client.stream(request),
      request: (request) => {
        requests.push(`${request.method} ${request.path}`);
        return client.request(request);
      },
    };
    const environment = stage.environmentOf("operator");
    await examine(environment, recorded, { forMs: 5_000 });
    const body = await environment.files.read(`${savedIn}/objects/configmaps.json`);
    return Buffer.from(body ?? []).toString("utf8");
  });
  expect(files).toContain('"name": "lock"');
  expect(files).not.toContain("hidden-word");
  // A review of permissions is computed and not stored.
  const isRead = (line: string): boolean =>
    line.startsWith("GET ") || line.endsWith("/selfsubjectaccessreviews");
  expect(requests.filter((line) => !isRead(line) || /secrets/i.test(line))).toEqual([]);
});

const account = "lockstep-doctor";

/** The roles without a binding are bound where their comments say. */
const bindings = ["logs", "metrics"].map((part) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name: `${account}-${part}`, namespace: "kube-system" },
  roleRef: {
    apiGroup: "rbac.authorization.k8s.io",
    kind: "ClusterRole",
    name: `${account}-${part}`,
  },
  subjects: [{ kind: "ServiceAccount", name: account, namespace: "lockstep" }],
}));

function examineWithRights(without?: Right): Promise<Examined> {
  const objects = [...objectsIn(["doctor"]).map((one) => lessened(one, without)), ...bindings];
  return withCluster({ accessControl: true, objects }, async (cluster, client, stage) => {
    await createShop(client);
    await stage.sleep(minuteMs);
    const answer = await client.request({
      verb: "create",
      method: "POST",
      path: `/api/v1/namespaces/lockstep/serviceaccounts/${account}/token`,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    });
    const { status } = parseJson(answer) as { readonly status: { readonly token: string } };
    const { server } = cluster.access;
    const operator = stage.environmentOf("operator");
    const access = fixedAccess({ name: "blue", server, token: status.token });
    const limited = new HttpKubeClient({ ...operator, cluster: access, userAgent: "doctor" });
    return examine(operator, limited, { forMs: 20_000, isCompared: true });
  });
}

test("deploy/rbac/doctor.yaml has all permissions, and no more requests are sent than announced", async () => {
  const { problems, facts, costs, requests } = await examineWithRights();
  expect(problems).toEqual([]);
  expect(facts.metrics.all.map(({ component }) => component)).toEqual([
    "kube-apiserver",
    "kube-controller-manager",
  ]);
  expect(facts.changes.evidence).toBeDefined();
  expect(requests).toBeLessThanOrEqual(costs[0]?.total ?? 0);
});

test.each([
  [
    { role: account, resource: "pods", verb: "watch" },
    "Missing permission: list/watch pods in blue. Effect: pod times are unknown; timing starts at the EndpointSlice, after the endpoint controller.",
  ],
  [
    { role: `${account}-metrics`, resource: "pods/proxy", verb: "get" },
    'pods/proxy: no permission. Grant "get" on pods/proxy; deploy/rbac/doctor.yaml has all permissions.',
  ],
])("without %j the report says so", async (without, problem) => {
  expect((await examineWithRights(without)).problems).toEqual([problem]);
});
