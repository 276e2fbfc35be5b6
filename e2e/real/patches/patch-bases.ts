// The objects for random patches: one of each of a few kinds, rich in lists that are merged by a
// key, and the places in it for JSON patches.

export type JsonObject = Record<string, unknown>;

export interface PatchBase {
  /** Where it is created. */
  readonly collection: string;
  readonly object: JsonObject;
  readonly pointers: readonly string[];
}

const name = "patched";
const labels = { a: "1", b: "2" };
const metadata = { name, labels, finalizers: ["a/x", "a/y"] };
const container = { terminationMessagePath: "/dev/termination-log" };

export const patchBases: Readonly<Record<string, PatchBase>> = {
  configmap: {
    collection: "/api/v1/namespaces/default/configmaps",
    object: { kind: "ConfigMap", apiVersion: "v1", metadata, data: { a: "1", c: "3" } },
    pointers: ["/data/a", "/data/z", "/metadata/labels", "/metadata/finalizers/0", "/data", "/x/y"],
  },
  deployment: {
    collection: "/apis/apps/v1/namespaces/default/deployments",
    object: {
      kind: "Deployment",
      apiVersion: "apps/v1",
      metadata,
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: {
            containers: [
              {
                ...container,
                name: "web",
                image: "i:0",
                args: ["a"],
                env: [
                  { name: "A", value: "0" },
                  { name: "C", value: "0" },
                ],
                ports: [{ containerPort: 80 }, { containerPort: 82, protocol: "UDP" }],
                volumeMounts: [{ name: "v1", mountPath: "/a" }],
              },
              { ...container, name: "log", image: "i:0", resources: { limits: { cpu: "2" } } },
            ],
            volumes: [{ name: "v1", emptyDir: {} }],
            hostAliases: [{ ip: "10.0.0.1", hostnames: ["a"] }],
            tolerations: [{ key: "c", operator: "Exists" }],
            nodeSelector: { a: "1" },
          },
        },
      },
    },
    pointers: [
      "/spec/replicas",
      "/spec/template/spec/containers/0/env/-",
      "/spec/template/spec/containers/1/image",
      "/spec/template/spec/containers/-1/args",
      "/spec/template/spec/nodeSelector",
      "/metadata/labels/a",
      "/metadata/labels/new",
      "/metadata/finalizers/-",
    ],
  },
  service: {
    collection: "/api/v1/namespaces/default/services",
    object: {
      kind: "Service",
      apiVersion: "v1",
      metadata,
      spec: {
        clusterIP: "None",
        selector: { a: "1" },
        ports: [
          { name: "p80", port: 80 },
          { name: "p443", port: 443, targetPort: "https" },
        ],
      },
    },
    pointers: ["/spec/ports/0", "/spec/ports/-", "/spec/selector/a", "/metadata/labels/b"],
  },
  node: {
    collection: "/api/v1/nodes",
    object: {
      kind: "Node",
      apiVersion: "v1",
      metadata,
      spec: {
        podCIDR: "10.1.0.0/24",
        taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }],
      },
    },
    pointers: [
      "/spec/taints",
      "/spec/unschedulable",
      "/metadata/labels/a",
      "/metadata/finalizers/1",
    ],
  },
};
