// `lockstep sync` that delivers Ingresses and a TLS secret, with exactly the rights of deploy/rbac, and
// with one less.
import { describe, expect, test } from "vitest";
import { ApiServer } from "../../src/apiserver/api-server.ts";
import {
  serviceAccountGroups,
  serviceAccountName,
} from "../../src/apiserver/http/authentication.ts";
import type { RequestObserver } from "../../src/apiserver/http/request-record.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import { namespacePolicy } from "../../src/decide/syncing/sync-policy.ts";
import { type KubeRequest, parseJson } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import {
  MissingPermissions,
  type PermissionEffects,
} from "../../src/kube/client/missing-permissions.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { ServiceSyncer } from "../../src/outputs/slices/service-syncer.ts";
import {
  sourcePermissionEffects,
  targetPermissionEffects,
} from "../../src/outputs/slices/sync-permission-effects.ts";
import { isThorough } from "../../src/simulation/seeds.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { lessened, objectsIn, type Right, rightsIn } from "./deployed-rights.ts";

const files = {
  lab: ["business-cluster", "business-cluster-ingresses"],
  edge: ["access-cluster-sync", "access-cluster-sync-ingresses"],
};
const ingressFiles = ["business-cluster-ingresses", "access-cluster-sync-ingresses"];

const accounts = { lab: "lockstep-reader", edge: "lockstep-sync" };

const rules = {
  classes: { nginx: "edge" },
  hosts: [],
  annotations: [],
  tlsSecrets: [{ namespace: "shop", name: "web-tls" }],
};

const shop = "/api/v1/namespaces/shop";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses";

class World {
  readonly refusals = new Set<string>();
  /** By `missing permission: VERB RESOURCE`, its effect as the log reports it. */
  readonly missing: Record<string, unknown> = {};
  readonly #simulation: Simulation;
  readonly #servers: ApiServer[] = [];
  readonly #missing: Readonly<Record<"lab" | "edge", MissingPermissions>>;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    const reporting = (effects: PermissionEffects): MissingPermissions => {
      const warn = (line: string, { effect }: { readonly effect?: unknown } = {}): void => {
        this.missing[line] = effect;
      };
      const log = { ...simulation.host("lockstep").log, warn };
      return new MissingPermissions({ log, effects });
    };
    this.#missing = {
      lab: reporting(sourcePermissionEffects),
      edge: reporting(targetPermissionEffects),
    };
  }

  async start(without: Right | undefined): Promise<void> {
    const observer: RequestObserver = {
      finished: (_, { code, failure }) => {
        if (code === 401 || code === 403) this.refusals.add(failure?.message ?? "");
      },
    };
    for (const cluster of ["lab", "edge"] as const) {
      const environment = this.#simulation.host(cluster);
      const name = serviceAccountName("lockstep", accounts[cluster]);
      const tokens = new Map([
        ["admin", { name: "admin", groups: ["system:masters"] }],
        ["account", { name, groups: serviceAccountGroups("lockstep") }],
      ]);
      const server = new ApiServer({
        ...environment,
        storage: new MemoryStorage(environment),
        name: cluster,
        gitVersion: "v1.33.1",
        authentication: { tokens },
        authorization: "RBAC",
        observers: [observer],
        objects: [
          { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
          ...objectsIn(files[cluster]).map((object) => lessened(object, without)),
        ],
      });
      await server.start({ host: cluster, port: 6443 });
      this.#servers.push(server);
    }
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await server.stop();
  }

  client(cluster: "lab" | "edge", token: string): HttpKubeClient {
    const access = fixedAccess({ name: cluster, server: `https://${cluster}:6443`, token });
    const environment = this.#simulation.host("lockstep");
    return new HttpKubeClient({
      ...environment,
      cluster: access,
      userAgent: token,
      onForbidden: (name, error) => this.#missing[cluster].note(name, error),
    });
  }

  async call(
    cluster: "lab" | "edge",
    method: KubeRequest["method"],
    path: string,
    body?: object,
  ): Promise<unknown> {
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const request = { verb: "get", method, path, contentType } as const;
    const client = this.client(cluster, "admin");
    return parseJson(await client.request(body === undefined ? request : { ...request, body }));
  }

  async publish(): Promise<void> {
    await this.call("lab", "POST", `${shop}/services`, {
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80 }] },
    });
    const backend = { service: { name: "web", port: { name: "http" } } };
    const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
    const tls = [{ secretName: "web-tls" }];
    const spec = { ingressClassName: "nginx", rules: [{ host: "web.example", http }], tls };
    await this.call("lab", "POST", ingresses, { metadata: { name: "web" }, spec });
    await this.call("lab", "POST", `${shop}/secrets`, {
      metadata: { name: "web-tls" },
      type: "kubernetes.io/tls",
      data: { "tls.crt": btoa("chain"), "tls.key": btoa("key") },
    });
  }

  async change(): Promise<void> {
    const spec = { tls: [{ secretName: "web-tls", hosts: ["web.example"] }] };
    await this.call("lab", "PATCH", `${ingresses}/web`, { spec });
    await this.call("lab", "PATCH", `${shop}/secrets/web-tls`, {
      data: { "tls.key": btoa("another key") },
    });
  }

  async copies(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const path of [ingresses, `${shop}/secrets`]) {
      const { items } = Object(await this.call("edge", "GET", path));
      for (const item of items) {
        const { spec, data } = item;
        found.push(JSON.stringify(spec?.tls ?? atob(data["tls.key"])));
      }
    }
    return found;
  }
}

/** Refusals of the servers, and the copies when all is there, has changed and is gone. */
async function deliver(without?: Right) {
  const copies: (readonly string[])[] = [];
  let refusals: readonly string[] = [];
  let missing: Readonly<Record<string, unknown>> = {};
  await simulate({ seed: 1 }, async (simulation) => {
    const world = new World(simulation);
    await world.start(without);
    await world.publish();
    const stop = new AbortController();
    const syncer = new ServiceSyncer({
      ...simulation.host("lockstep"),
      sources: [{ cluster: "lab", client: world.client("lab", "account") }],
      target: { cluster: "edge", client: world.client("edge", "account") },
      writeClient: world.client("edge", "account"),
      policy: namespacePolicy(new Set(["shop"])),
      rules,
    });
    const done = syncer.run(stop.signal);
    await simulation.sleep(5_000);
    copies.push(await world.copies());
    await world.change();
    await simulation.sleep(5_000);
    copies.push(await world.copies());
    await world.call("lab", "DELETE", `${ingresses}/web`);
    await simulation.sleep(5_000);
    copies.push(await world.copies());
    stop.abort(new Error("the run is over"));
    await done;
    refusals = [...world.refusals];
    missing = world.missing;
    await world.stop();
  });
  return { copies, refusals, missing };
}

test("with the rights of deploy/rbac Ingresses and a secret are delivered and nothing is refused", async () => {
  expect(await deliver()).toEqual({
    copies: [
      ['[{"secretName":"web-tls"}]', '"key"'],
      ['[{"hosts":["web.example"],"secretName":"web-tls"}]', '"another key"'],
      [],
    ],
    refusals: [],
    missing: {},
  });
});

describe.runIf(isThorough(process.env))("every right is needed:", () => {
  test.each(rightsIn(ingressFiles).filter(isUsed))("$role: $verb $resource", async (right) => {
    const { refusals, missing } = await deliver(right);
    const refused = refusals.filter((message) =>
      message.includes(`cannot ${right.verb} resource "${right.resource}"`),
    );
    expect(refused.length).toBeGreaterThan(0);
    const effect = missing[`missing permission: ${right.verb} ${right.resource}`];
    expect(["not known", undefined]).not.toContain(effect);
  });
});

/** After a conflict an object is read again; here no other writer is faster. */
function isUsed({ verb }: Right): boolean {
  return verb !== "get";
}
