// Kinds with lists, subresources and schemas of their own.
import {
  deployment,
  deploymentOf,
  deployments,
  get,
  pod,
  post,
  put,
  service,
  serviceOf,
  widgetOf,
} from "./case-objects.ts";
import { type ApplyCase, apply, mergePatch } from "./steps.ts";
import { widgetsPath } from "./widgets.ts";

const widget = `${widgetsPath}/a`;

export const kindCases: readonly ApplyCase[] = [
  {
    name: "owns a deployment's fields from its creation, defaults included",
    steps: [
      post(deployments, deploymentOf({ replicas: 0 }, { ports: [{ containerPort: 80 }] })),
      put(deployment, deploymentOf({ replicas: 2 }, { env: [{ name: "A", value: "1" }] })),
      mergePatch(deployment, "patcher", {
        spec: { strategy: { type: "Recreate", rollingUpdate: null } },
      }),
      get(deployment),
    ],
  },
  {
    name: "applies lists by their keys",
    steps: [
      apply(
        deployment,
        "one",
        deploymentOf(
          {},
          { ports: [{ containerPort: 80 }, { containerPort: 81, protocol: "UDP" }] },
        ),
      ),
      apply(deployment, "two", deploymentOf({}, { ports: [{ containerPort: 80, name: "web" }] })),
      apply(
        deployment,
        "two",
        deploymentOf(
          {},
          {
            env: [
              { name: "B", value: "1" },
              { name: "A", value: "2" },
            ],
          },
        ),
      ),
      apply(
        deployment,
        "one",
        deploymentOf(
          {},
          {
            env: [
              { name: "A", value: "2" },
              { name: "C", value: "3" },
            ],
          },
        ),
      ),
      apply(
        deployment,
        "one",
        deploymentOf({}, { ports: [{ containerPort: 80 }, { containerPort: 80 }] }),
      ),
      apply(deployment, "one", deploymentOf({}, { ports: [{ name: "none" }] })),
      apply(deployment, "two", deploymentOf({ replicas: 3 }), "&force=true"),
      get(deployment),
    ],
  },
  {
    name: "scales through the scale subresource",
    steps: [
      apply(deployment, "one", deploymentOf({ replicas: 1 })),
      put(`${deployment}/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "a", namespace: "{case}" },
        spec: { replicas: 4 },
      }),
      get(deployment),
      apply(deployment, "one", deploymentOf({ replicas: 1 })),
      apply(`${deployment}/scale`, "two", {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "a" },
        spec: { replicas: 5 },
      }),
      apply(
        `${deployment}/scale`,
        "two",
        {
          apiVersion: "autoscaling/v1",
          kind: "Scale",
          metadata: { name: "a" },
          spec: { replicas: 5 },
        },
        "&force=true",
      ),
      get(deployment),
      mergePatch(`${deployment}/scale`, "three", { spec: { replicas: 6 } }),
      mergePatch(`${deployment}/scale`, "three", { spec: { replicas: 6 } }),
      get(deployment),
      apply(deployment, "one", deploymentOf({})),
      get(deployment),
    ],
  },
  {
    name: "keeps spec and status apart",
    steps: [
      apply(deployment, "one", { ...deploymentOf({}), status: { replicas: 3 } }),
      apply(`${deployment}/status`, "two", {
        ...deploymentOf({ replicas: 9 }),
        status: {
          replicas: 3,
          conditions: [
            {
              type: "Available",
              status: "True",
              lastTransitionTime: "2026-01-01T00:00:00Z",
              lastUpdateTime: "2026-01-01T00:00:00Z",
            },
          ],
        },
      }),
      mergePatch(`${deployment}/status`, "three", {
        metadata: { annotations: { seen: "yes" }, labels: { by: "status" } },
        status: { observedGeneration: 1 },
      }),
      apply(`${deployment}/status`, "two", {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "a" },
      }),
      get(deployment),
    ],
  },
  {
    name: "applies services, whose ports have two keys and whose address is given",
    steps: [
      apply(service, "one", serviceOf([{ port: 80 }])),
      apply(
        service,
        "two",
        serviceOf([
          { port: 80, protocol: "TCP", name: "web" },
          { port: 53, protocol: "UDP", name: "dns" },
        ]),
      ),
      apply(service, "one", serviceOf([{ port: 80, targetPort: "web" }])),
      apply(
        service,
        "one",
        serviceOf([{ port: 80, targetPort: "web" }], { selector: { app: "b" } }),
      ),
      apply(
        service,
        "one",
        serviceOf([{ port: 80, targetPort: "web" }], { selector: { app: "b" } }),
        "&force=true",
      ),
      apply(
        service,
        "one",
        serviceOf([], { type: "ExternalName", externalName: "a.example" }),
        "&force=true",
      ),
      get(service),
    ],
  },
  {
    name: "applies pods",
    steps: [
      apply(pod, "one", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a", finalizers: ["example.com/b", "example.com/a"] },
        spec: {
          containers: [{ name: "web", image: "web:1", resources: { limits: { cpu: "1" } } }],
          nodeSelector: { zone: "a" },
          tolerations: [{ key: "a", operator: "Exists" }],
        },
      }),
      apply(pod, "two", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a", finalizers: ["example.com/c", "example.com/b"] },
      }),
      apply(pod, "one", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a", finalizers: ["example.com/a"] },
        spec: {
          containers: [{ name: "web", image: "web:2", resources: { limits: { cpu: 1 } } }],
          nodeSelector: { zone: "a" },
          tolerations: [{ key: "a", operator: "Exists" }],
        },
      }),
      mergePatch(`${pod}/status`, "kubelet", {
        status: {
          phase: "Running",
          podIP: "10.0.0.1",
          podIPs: [{ ip: "10.0.0.1" }],
          conditions: [{ type: "Ready", status: "True" }],
        },
      }),
      apply(pod, "three", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a" },
        spec: { containers: [{ name: "web", resources: { limits: { cpu: "much" } } }] },
      }),
      get(pod),
    ],
  },
  {
    name: "applies custom resources by their schema",
    steps: [
      apply(
        widget,
        "one",
        widgetOf({
          size: 1,
          ports: [{ port: 1 }, { port: 2, protocol: "UDP" }],
          tags: ["b", "a"],
          order: ["x"],
          place: { x: 1 },
          labels: { l: "1" },
          open: { a: { b: [1] } },
        }),
      ),
      apply(
        widget,
        "two",
        widgetOf({
          ports: [{ port: 1, protocol: "TCP", note: "n" }],
          tags: ["c", "a"],
          labels: { m: "2" },
          open: { a: { c: 1 } },
        }),
      ),
      apply(widget, "two", widgetOf({ order: ["y"], place: { y: 2 } })),
      apply(widget, "two", widgetOf({ order: ["y"], place: { y: 2 } }), "&force=true"),
      apply(widget, "one", widgetOf({ nested: {}, tags: [], limit: "5%" })),
      apply(widget, "one", widgetOf({ nested: null, unknown: 1 })),
      apply(widget, "one", widgetOf({ nested: null, limit: 5 })),
      apply(widget, "one", widgetOf({ tags: ["a", "a"] })),
      mergePatch(widget, "patcher", { spec: { tags: ["d", "e"], open: null } }),
      apply(`${widget}/status`, "one", {
        ...widgetOf({ size: 7 }),
        status: { ready: { now: true } },
      }),
      get(widget),
    ],
  },
];
