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
import {
  lessened,
  objectsIn,
  type Right,
  rightsIn,
} from "../../../tests/rights/deployed-rights.ts";
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
    "Missing permission: list configmaps. Effect: leader locks of older controllers are not examined. All permissions are in deploy/rbac/doctor.yaml.",
    "Missing permission: get pods/log. Effect: logs of the control plane and of ingress controllers are not read. All permissions are in deploy/rbac/doctor.yaml.",
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

/** Read again in each sample, with the pod that it names. */
const lock = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "lock",
    namespace: "kube-system",
    annotations: {
      "control-plane.alpha.kubernetes.io/leader":
        '{"holderIdentity":"web-0","renewTime":"2026-01-01T00:00:00Z"}',
    },
  },
};

function examineWithRights(without?: Right): Promise<Examined> {
  const roles = objectsIn(["doctor"]).map((one) => lessened(one, without));
  const objects = [...roles, ...bindings, lock];
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

test("without one permission the report names it, with its effect", async () => {
  const without = { role: account, resource: "pods", verb: "watch" };
  expect((await examineWithRights(without)).problems).toEqual([
    "Missing permission: list/watch pods in blue. Effect: pod times are unknown; timing starts at the EndpointSlice, after the endpoint controller.",
  ]);
});

/** Contexts of one cluster are recognised before an examination. */
const beforehand = ["namespaces"];

/** The observer reads the one where it may not read the other. */
const replaced = ["watch endpoints", "list endpointslices", "watch endpointslices"];

test.runIf(isThorough(process.env))("every permission is named when it is missing", async () => {
  const rights = rightsIn(["doctor"]).filter(({ resource }) => !beforehand.includes(resource));
  const report: string[] = [];
  const unnoticed: string[] = [];
  for (const right of rights) {
    const { problems } = await examineWithRights(right);
    const name = `${right.verb} ${right.resource}`;
    report.push(name, ...problems.map((problem) => `  ${problem}`));
    if (problems.length === 0) unnoticed.push(name);
  }
  expect(unnoticed).toEqual(replaced);
  expect(report.join("\n")).toMatchInlineSnapshot(`
    "list nodes
      Missing permission: list nodes. Effect: heartbeats in the status of nodes are not examined. All permissions are in deploy/rbac/doctor.yaml.
    list events
      Missing permission: list events. Effect: Events are not examined. All permissions are in deploy/rbac/doctor.yaml.
    list leases
      Missing permission: list leases. Effect: heartbeats of nodes and leader locks are not examined. All permissions are in deploy/rbac/doctor.yaml.
    get configmaps
      Missing permission: get configmaps. Effect: leader locks of older controllers are not examined. All permissions are in deploy/rbac/doctor.yaml.
    list configmaps
      Missing permission: list configmaps. Effect: leader locks of older controllers are not examined. All permissions are in deploy/rbac/doctor.yaml.
    get endpoints
      Missing permission: get endpoints. Effect: published Endpoints, leader locks in them, and the addresses of the service kubernetes are not examined. All permissions are in deploy/rbac/doctor.yaml.
    list endpoints
      Missing permission: list endpoints. Effect: published Endpoints, leader locks in them, and the addresses of the service kubernetes are not examined. All permissions are in deploy/rbac/doctor.yaml.
    watch endpoints
    list endpointslices
    watch endpointslices
    list services
      Missing permission: list services. Effect: services are not compared with their pods and endpoints. All permissions are in deploy/rbac/doctor.yaml.
      Missing permission: list/watch services in blue. Effect: pod times are unknown; timing starts at the EndpointSlice.
    watch services
      Missing permission: list/watch services in blue. Effect: pod times are unknown; timing starts at the EndpointSlice.
    get pods
      Missing permission: get pods. Effect: services and leader locks are not compared with pods, and the control plane's pods are not found. All permissions are in deploy/rbac/doctor.yaml.
    list pods
      Missing permission: list pods. Effect: services and leader locks are not compared with pods, and the control plane's pods are not found. All permissions are in deploy/rbac/doctor.yaml.
      Missing permission: list/watch pods in blue. Effect: pod times are unknown; timing starts at the EndpointSlice, after the endpoint controller.
    watch pods
      Missing permission: list/watch pods in blue. Effect: pod times are unknown; timing starts at the EndpointSlice, after the endpoint controller.
    list ingresses
      Missing permission: list ingresses. Effect: an empty status of Ingresses is not found. All permissions are in deploy/rbac/doctor.yaml.
    list clusterroles
      Missing permission: list clusterroles. Effect: cluster roles are not compared with those of the other cluster. All permissions are in deploy/rbac/doctor.yaml.
    list roles
      Missing permission: list roles. Effect: roles are not compared with those of the other cluster. All permissions are in deploy/rbac/doctor.yaml.
    get pods/log
      Missing permission: get pods/log. Effect: logs of the control plane and of ingress controllers are not read. All permissions are in deploy/rbac/doctor.yaml.
    get pods/proxy
      Missing permission: get pods/proxy. Effect: metrics of controller managers are not read. All permissions are in deploy/rbac/doctor.yaml."
  `);
});
