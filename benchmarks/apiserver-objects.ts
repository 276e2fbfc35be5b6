// The objects of the API server's benchmark, as controllers send them and the same ones for the
// same numbers. 13,000 of these Endpoints are some 31 MB, which is what the cluster of incident 001
// held.

/** Addresses in one object: with them an Endpoints is about 2.4 kB once it is stored. */
const addressesPerService = 10;
const nodes = 200;

export function endpoints(namespace: string, name: string, number: number): object {
  const addresses = Array.from({ length: addressesPerService }, (_, index) =>
    address(namespace, name, number * addressesPerService + index),
  );
  return {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: {
      name,
      namespace,
      labels: { app: name, "app.kubernetes.io/part-of": "shop" },
      annotations: { "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z" },
    },
    subsets: [
      {
        addresses,
        ports: [
          { name: "http", port: 8080, protocol: "TCP" },
          { name: "metrics", port: 9090, protocol: "TCP" },
        ],
      },
    ],
  };
}

/** As a ReplicaSet controller creates it: no status yet. */
export function pod(namespace: string, name: string): object {
  const probe = { httpGet: { path: "/healthz", port: "http" }, periodSeconds: 10 };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: {
        app: "web",
        "app.kubernetes.io/part-of": "shop",
        "pod-template-hash": "5c689d88bb",
      },
      annotations: { "prometheus.io/scrape": "true" },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: "web-5c689d88bb",
          uid: uid(7),
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      containers: [
        {
          name: "main",
          image: "registry.example.com/shop/web:1.42.0",
          ports: [
            { name: "http", containerPort: 8080 },
            { name: "metrics", containerPort: 9090 },
          ],
          env: ["A", "B", "C", "D"].map((letter) => ({ name: letter, value: `value-${letter}` })),
          resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "100m" } },
          readinessProbe: probe,
          livenessProbe: probe,
          volumeMounts: [{ name: "config", mountPath: "/etc/web", readOnly: true }],
        },
      ],
      volumes: [{ name: "config", configMap: { name: "web" } }],
      nodeSelector: { "kubernetes.io/os": "linux" },
      terminationGracePeriodSeconds: 30,
    },
  };
}

function address(namespace: string, service: string, number: number): object {
  return {
    ip: `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`,
    nodeName: `node-${number % nodes}.example.internal`,
    targetRef: {
      kind: "Pod",
      namespace,
      name: `${service}-5c689d88bb-${number.toString(36).padStart(5, "0")}`,
      uid: uid(number),
    },
  };
}

function uid(number: number): string {
  return `3f2b8c1e-4c1e-4f0a-9b1d-${number.toString(16).padStart(12, "0")}`;
}
