// Pods and the kinds that make them from a template.
import type { JsonObject, Subject } from "./subject.ts";

const container: JsonObject = { name: "web", image: "nginx:1.27" };

/** Uses what manifests commonly use. */
const richSpec: JsonObject = {
  initContainers: [{ name: "setup", image: "busybox", command: ["sh", "-c", "true"] }],
  containers: [
    {
      name: "web",
      image: "nginx:1.27",
      imagePullPolicy: "Always",
      command: ["nginx"],
      args: ["-g", "daemon off;"],
      workingDir: "/srv",
      ports: [
        { name: "http", containerPort: 8080, protocol: "TCP" },
        { name: "dns", containerPort: 53, protocol: "UDP" },
      ],
      env: [
        { name: "PLAIN", value: "text" },
        { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        { name: "KEY", valueFrom: { configMapKeyRef: { name: "settings", key: "key" } } },
        { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "login", key: "password" } } },
      ],
      envFrom: [{ prefix: "P_", configMapRef: { name: "settings" } }],
      resources: {
        limits: { cpu: "1", memory: "256Mi" },
        requests: { cpu: "250m", memory: "128Mi" },
      },
      volumeMounts: [
        { name: "scratch", mountPath: "/tmp" },
        { name: "settings", mountPath: "/etc/settings", readOnly: true, subPath: "web" },
      ],
      livenessProbe: { tcpSocket: { port: 8080 }, initialDelaySeconds: 5 },
      readinessProbe: {
        httpGet: { path: "/ready", port: "http", httpHeaders: [{ name: "X-Probe", value: "1" }] },
        periodSeconds: 3,
        failureThreshold: 2,
        successThreshold: 2,
        timeoutSeconds: 2,
      },
      startupProbe: { exec: { command: ["true"] }, failureThreshold: 30 },
      lifecycle: { preStop: { exec: { command: ["sleep", "5"] } } },
      securityContext: { runAsUser: 1000, runAsNonRoot: true, readOnlyRootFilesystem: true },
      terminationMessagePath: "/dev/log",
      terminationMessagePolicy: "FallbackToLogsOnError",
    },
    { name: "side", image: "registry.test:5000/side@sha256:0123456789abcdef" },
  ],
  volumes: [
    { name: "scratch", emptyDir: { sizeLimit: "1Gi" } },
    {
      name: "settings",
      configMap: { name: "settings", items: [{ key: "a", path: "web/a" }], optional: true },
    },
    { name: "login", secret: { secretName: "login", defaultMode: 256 } },
    { name: "host", hostPath: { path: "/var/log" } },
  ],
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 20,
  dnsPolicy: "ClusterFirst",
  nodeSelector: { "kubernetes.io/os": "linux" },
  serviceAccountName: "web",
  hostname: "web-0",
  subdomain: "web",
  securityContext: { runAsUser: 1000, fsGroup: 2000, supplementalGroups: [3000] },
  imagePullSecrets: [{ name: "registry" }],
  hostAliases: [{ ip: "10.1.2.3", hostnames: ["old.example.com"] }],
  tolerations: [{ key: "dedicated", operator: "Equal", value: "web", effect: "NoSchedule" }],
  readinessGates: [{ conditionType: "example.com/ready" }],
  affinity: {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: {
            topologyKey: "kubernetes.io/hostname",
            labelSelector: { matchLabels: { app: "shop" } },
          },
        },
      ],
    },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "topology.kubernetes.io/zone",
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: { app: "shop" } },
    },
  ],
};

const labels = { app: "shop" };
const selector = { matchLabels: labels };
const minimalTemplate = { metadata: { labels }, spec: { containers: [container] } };
const richTemplate = {
  metadata: { labels: { ...labels, track: "stable" }, annotations: { "example.com/a": "b" } },
  spec: {
    containers: [
      {
        ...container,
        ports: [{ containerPort: 8080 }],
        readinessProbe: { tcpSocket: { port: 80 } },
      },
    ],
    terminationGracePeriodSeconds: 5,
  },
};

export const podSubject: Subject = {
  apiVersion: "v1",
  kind: "Pod",
  resource: "pods",
  namespaced: true,
  minimal: { spec: { containers: [container] } },
  rich: { spec: richSpec },
};

export const workloadSubjects: readonly Subject[] = [
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    resource: "deployments",
    namespaced: true,
    minimal: { spec: { selector, template: minimalTemplate } },
    rich: {
      spec: {
        replicas: 3,
        minReadySeconds: 5,
        paused: true,
        progressDeadlineSeconds: 100,
        revisionHistoryLimit: 2,
        selector: {
          matchLabels: labels,
          matchExpressions: [{ key: "track", operator: "In", values: ["stable", "canary"] }],
        },
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: "20%" } },
        template: richTemplate,
      },
    },
  },
  {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    resource: "replicasets",
    namespaced: true,
    minimal: { spec: { selector, template: minimalTemplate } },
    rich: { spec: { replicas: 2, minReadySeconds: 1, selector, template: richTemplate } },
  },
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    resource: "daemonsets",
    namespaced: true,
    minimal: { spec: { selector, template: minimalTemplate } },
    rich: {
      spec: {
        minReadySeconds: 1,
        revisionHistoryLimit: 3,
        selector,
        template: richTemplate,
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "ReplicationController",
    resource: "replicationcontrollers",
    namespaced: true,
    minimal: { spec: { template: minimalTemplate } },
    rich: { spec: { replicas: 2, minReadySeconds: 1, selector: labels, template: richTemplate } },
  },
];
