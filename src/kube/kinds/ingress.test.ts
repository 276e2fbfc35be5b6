import { expect, test } from "vitest";
import { MalformedObjectError } from "./fields.ts";
import { ingressKind } from "./ingress.ts";
import { ingressClassKind } from "./ingress-class.ts";

const raw = { name: "web", namespace: "shop", uid: "u1", resourceVersion: "7" };

const metadata = {
  namespace: "shop",
  name: "web",
  uid: "u1",
  resourceVersion: "7",
  creationTimestamp: undefined,
  deletionTimestamp: undefined,
  deletionGracePeriodSeconds: undefined,
  labels: {},
};

test("an ingress keeps its hosts, paths and backends as they were written", () => {
  const ingress = ingressKind.project({
    metadata: { ...raw, annotations: { a: "b" } },
    spec: {
      ingressClassName: "lockstep",
      defaultBackend: { service: { name: "fallback", port: { number: 80 } } },
      tls: [{ hosts: ["shop.example"] }],
      rules: [
        {
          host: "shop.example",
          http: {
            paths: [
              {
                path: "/cart",
                pathType: "Prefix",
                backend: { service: { name: "cart", port: { name: "http" } } },
              },
              { pathType: "ImplementationSpecific", backend: { resource: { kind: "Bucket" } } },
            ],
          },
        },
        { host: null },
      ],
    },
    status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }, { hostname: "edge.example" }] } },
  });
  expect(ingress).toEqual({
    metadata,
    annotations: { a: "b" },
    ingressClassName: "lockstep",
    defaultBackend: { service: { name: "fallback", port: 80 } },
    rules: [
      {
        host: "shop.example",
        paths: [
          {
            path: "/cart",
            pathType: "Prefix",
            backend: { service: { name: "cart", port: "http" } },
          },
          { path: "", pathType: "ImplementationSpecific", backend: { service: undefined } },
        ],
      },
      { host: "", paths: [] },
    ],
    tls: [{ hosts: ["shop.example"], secretName: "" }],
    loadBalancer: [
      { ip: "192.0.2.1", hostname: "" },
      { ip: "", hostname: "edge.example" },
    ],
  });
});

test("an ingress whose rules are not a list is malformed", () => {
  expect(() => ingressKind.project({ metadata: raw, spec: { rules: "all" } })).toThrow(
    MalformedObjectError,
  );
});

test("an ingress class says whose it is, whether it is the default, and whether it has parameters", () => {
  const project = (annotations: Readonly<Record<string, string>>, spec: object = {}) =>
    ingressClassKind.project({
      metadata: { name: "lockstep", uid: "u2", resourceVersion: "8", annotations },
      spec: { controller: "lockstep.dev/ingress", ...spec },
    });
  const expected = {
    metadata: { ...metadata, namespace: "", name: "lockstep", uid: "u2", resourceVersion: "8" },
    controller: "lockstep.dev/ingress",
    isDefault: false,
    hasParameters: false,
  };
  const mark = "ingressclass.kubernetes.io/is-default-class";
  expect(project({ [mark]: "true" })).toEqual({ ...expected, isDefault: true });
  expect(project({ [mark]: "yes" })).toEqual(expected);
  const parameters = { kind: "Settings", name: "edge" };
  expect(project({}, { parameters })).toEqual({ ...expected, hasParameters: true });
});
