import { expect, test } from "vitest";
import { type KubeClient, StatusError } from "../kube/client/client.ts";
import { findServiceUsers } from "./service-users.ts";

const twin = { namespace: "shop", name: "web-lockstep" };
const names = (place: object) => ({ backendRefs: [place] });

/** By path without its query. */
const answers: Readonly<Record<string, unknown>> = {
  "/apis": {
    groups: [
      { name: "gateway.networking.k8s.io", preferredVersion: { version: "v1" } },
      { name: "traefik.io", preferredVersion: { version: "v1alpha1" } },
      { name: "metrics.k8s.io", preferredVersion: { version: "v1beta1" } },
      { name: "broken.example", preferredVersion: { version: "v1" } },
    ],
  },
  "/api/v1": {
    resources: [
      resource("configmaps", "ConfigMap"),
      resource("secrets", "Secret"),
      resource("services", "Service"),
      { ...resource("nodes", "Node"), namespaced: false },
    ],
  },
  "/apis/gateway.networking.k8s.io/v1": { resources: [resource("httproutes", "HTTPRoute")] },
  "/apis/traefik.io/v1alpha1": { resources: [resource("ingressroutes", "IngressRoute")] },
  "/api/v1/namespaces/shop/configmaps": {
    items: [
      object("shop", "named", { data: { url: "http://web-lockstep:80/" } }),
      object("shop", "another", { data: { url: "http://web-lockstep-2/ my-web-lockstep" } }),
    ],
  },
  "/api/v1/namespaces/shop/services": {
    items: [
      object("shop", "web-lockstep", { spec: {} }),
      {
        metadata: { namespace: "shop", name: "web", annotations: { x: "web-lockstep" } },
        spec: { selector: { app: "web" } },
      },
      object("shop", "alias", { spec: { externalName: "web-lockstep.shop.svc.cluster.local" } }),
    ],
  },
  "/apis/gateway.networking.k8s.io/v1/httproutes": {
    items: [
      object("shop", "own", { spec: names({ name: "web-lockstep" }) }),
      object("edge", "granted", { spec: names({ name: "web-lockstep", namespace: "shop" }) }),
      object("edge", "same-name", { spec: names({ name: "web-lockstep" }) }),
      object("shop", "formerly", { status: names({ name: "web-lockstep" }) }),
    ],
  },
};

function resource(name: string, kind: string) {
  return { name, kind, namespaced: true, verbs: ["get", "list"] };
}

function object(namespace: string, name: string, fields: object) {
  return { metadata: { namespace, name }, ...fields };
}

const client: KubeClient = {
  request: async ({ path }) => {
    const answer = answers[path.replace(/\?.*/, "")];
    if (answer === undefined) {
      throw new StatusError({ code: 403, reason: "Forbidden", message: `${path} is forbidden` });
    }
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)) };
  },
  stream: async () => expect.unreachable(),
};

test("objects that name a Service are found in any group, and what cannot be searched is reported", async () => {
  const options = { signal: new AbortController().signal, isIgnored: () => false };
  const { users, unread } = await findServiceUsers(client, [twin], options);
  expect(users.get("shop/web-lockstep")).toEqual([
    { kind: "ConfigMap", namespace: "shop", name: "named" },
    { kind: "Service", namespace: "shop", name: "alias" },
    { kind: "HTTPRoute", namespace: "shop", name: "own" },
    { kind: "HTTPRoute", namespace: "edge", name: "granted" },
  ]);
  expect(unread).toEqual([
    "broken.example/v1: no permission to list",
    "ingressroutes.traefik.io: no permission to list",
  ]);
});
