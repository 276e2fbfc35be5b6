// Pods as a real server sends them, 5 kB each of which two fifths are managedFields, or the same without
// these; and the same ones for the same numbers: Deployments of twenty on nodes of a hundred.

const podsPerDeployment = 20;
const podsPerNode = 100;
const firstVersion = 1_000_000;

/** With managedFields, which the reflector skips, or without. */
export type PodForm = "whole" | "lean";

export function podJson(
  form: PodForm,
  index: number,
  resourceVersion: number,
  ready = true,
): string {
  const { metadata, ...rest } = pod(index, resourceVersion, ready);
  const { managedFields: _, ...lean } = metadata;
  return JSON.stringify({ metadata: form === "whole" ? metadata : lean, ...rest });
}

/** The bodies of a list in pages; a page ends with the token of the next. */
export function listPages(form: PodForm, count: number, pageSize: number): readonly Buffer[] {
  const pages: Buffer[] = [];
  for (let from = 0; from < count; from += pageSize) {
    const items: string[] = [];
    for (let index = from; index < Math.min(from + pageSize, count); index += 1) {
      items.push(podJson(form, index, firstVersion + index));
    }
    const next = from + pageSize < count ? { continue: String(from + pageSize) } : {};
    const metadata = JSON.stringify({ resourceVersion: listVersion(count), ...next });
    pages.push(
      Buffer.from(
        `{"kind":"PodList","apiVersion":"v1","metadata":${metadata},"items":[${items.join(",")}]}\n`,
      ),
    );
  }
  return pages;
}

export function listVersion(count: number): string {
  return String(firstVersion + count);
}

/** The lines of a watch after the list: every pod changes in turn. */
export function watchBytes(form: PodForm, pods: number, events: number): Buffer {
  const lines: string[] = [];
  for (let event = 0; event < events; event += 1) {
    const object = podJson(form, event % pods, firstVersion + pods + 1 + event, event % 2 === 1);
    lines.push(`{"type":"MODIFIED","object":${object}}\n`);
  }
  return Buffer.from(lines.join(""));
}

function pod(index: number, resourceVersion: number, ready: boolean) {
  const deployment = Math.floor(index / podsPerDeployment);
  const app = `service-${deployment}`;
  const hash = ((deployment * 2_654_435_761) % 4_294_967_296).toString(16).padStart(8, "0");
  const suffix = ((index * 40_503) % 60_466_176).toString(36).padStart(5, "0");
  const uid = `${hash}-4c1e-4f0a-9b1d-${index.toString(16).padStart(12, "0")}`;
  const ip = `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
  const time = new Date(1_767_225_600_000 + index * 1_000).toISOString().replace(".000", "");
  return {
    metadata: {
      name: `${app}-${hash}-${suffix}`,
      generateName: `${app}-${hash}-`,
      namespace: `team-${deployment % 50}`,
      uid,
      resourceVersion: String(resourceVersion),
      creationTimestamp: time,
      labels: {
        app,
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/part-of": "shop",
        "pod-template-hash": hash,
      },
      annotations: { "prometheus.io/scrape": "true", "checksum/config": `${hash}${hash}${hash}` },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: `${app}-${hash}`,
          uid,
          controller: true,
        },
      ],
      managedFields: [managedFields("kube-controller-manager", time), statusFields(time)],
    },
    spec: spec(app, `node-${Math.floor(index / podsPerNode)}.example.internal`),
    status: status(ip, time, ready),
  };
}

function spec(app: string, nodeName: string) {
  const probe = { httpGet: { path: "/healthz", port: "http", scheme: "HTTP" }, periodSeconds: 10 };
  return {
    volumes: [{ name: "kube-api-access-x", projected: { sources: [], defaultMode: 420 } }],
    containers: [
      {
        name: "main",
        image: `registry.example.com/shop/${app}:1.42.0`,
        ports: [
          { name: "http", containerPort: 8080, protocol: "TCP" },
          { name: "metrics", containerPort: 9090, protocol: "TCP" },
        ],
        env: ["A", "B", "C", "D"].map((name) => ({
          name: `SETTING_${name}`,
          value: `${app}-value`,
        })),
        resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "100m" } },
        readinessProbe: probe,
        livenessProbe: probe,
        terminationMessagePath: "/dev/termination-log",
        imagePullPolicy: "IfNotPresent",
      },
    ],
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    serviceAccountName: "default",
    nodeName,
    schedulerName: "default-scheduler",
    tolerations: ["not-ready", "unreachable"].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    })),
  };
}

function status(ip: string, time: string, ready: boolean) {
  const condition = (type: string, value: boolean) => ({
    type,
    status: value ? "True" : "False",
    lastProbeTime: null,
    lastTransitionTime: time,
  });
  return {
    phase: "Running",
    conditions: [
      condition("Initialized", true),
      condition("Ready", ready),
      condition("ContainersReady", ready),
      condition("PodScheduled", true),
    ],
    hostIP: "192.168.0.1",
    podIP: ip,
    podIPs: [{ ip }],
    startTime: time,
    containerStatuses: [
      {
        name: "main",
        state: { running: { startedAt: time } },
        lastState: {},
        ready,
        restartCount: 0,
        image: "registry.example.com/shop/main:1.42.0",
        imageID: `registry.example.com/shop/main@sha256:${"0123456789abcdef".repeat(4)}`,
        containerID: `containerd://${"fedcba9876543210".repeat(4)}`,
        started: true,
      },
    ],
    qosClass: "Burstable",
  };
}

/**
 * The controller manager's managedFields of a pod with these containers, as the server records
 * them.
 */
function managedFields(manager: string, time: string) {
  const probe = {
    ...leaves([".", "f:failureThreshold", "f:periodSeconds", "f:successThreshold"]),
    "f:httpGet": leaves([".", "f:path", "f:port", "f:scheme"]),
  };
  const port = leaves([".", "f:containerPort", "f:name", "f:protocol"]);
  const container = {
    ...leaves([".", "f:image", "f:imagePullPolicy", "f:name", "f:terminationMessagePath"]),
    "f:env": entries("name", ["SETTING_A", "SETTING_B", "SETTING_C", "SETTING_D"], () =>
      leaves([".", "f:name", "f:value"]),
    ),
    "f:livenessProbe": probe,
    "f:ports": {
      ".": {},
      'k:{"containerPort":8080,"protocol":"TCP"}': port,
      'k:{"containerPort":9090,"protocol":"TCP"}': port,
    },
    "f:readinessProbe": probe,
    "f:resources": {
      ".": {},
      "f:limits": leaves([".", "f:cpu", "f:memory"]),
      "f:requests": leaves([".", "f:cpu"]),
    },
  };
  const labels = ["f:app", "f:app.kubernetes.io/name", "f:pod-template-hash"];
  return {
    manager,
    operation: "Update",
    apiVersion: "v1",
    time,
    fieldsType: "FieldsV1",
    fieldsV1: {
      "f:metadata": {
        "f:annotations": leaves([".", "f:prometheus.io/scrape", "f:checksum/config"]),
        "f:generateName": {},
        "f:labels": leaves([".", ...labels]),
        "f:ownerReferences": leaves([".", 'k:{"uid":"bb3da0ba-4c1e-4f0a-9b1d-00000000110f"}']),
      },
      "f:spec": {
        "f:containers": { 'k:{"name":"main"}': container },
        ...leaves(["f:dnsPolicy", "f:restartPolicy", "f:schedulerName", "f:serviceAccountName"]),
      },
    },
  };
}

function leaves(names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, {}]));
}

function entries(key: string, values: readonly string[], content: () => object) {
  const pairs = values.map((value) => [`k:${JSON.stringify({ [key]: value })}`, content()]);
  return { ".": {}, ...Object.fromEntries(pairs) };
}

function statusFields(time: string) {
  const condition = { ".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {} };
  return {
    manager: "kubelet",
    operation: "Update",
    apiVersion: "v1",
    time,
    fieldsType: "FieldsV1",
    subresource: "status",
    fieldsV1: {
      "f:status": {
        "f:conditions": {
          'k:{"type":"ContainersReady"}': condition,
          'k:{"type":"Initialized"}': condition,
          'k:{"type":"Ready"}': condition,
        },
        "f:containerStatuses": {},
        "f:phase": {},
        "f:podIP": {},
        "f:podIPs": { ".": {}, 'k:{"ip":"10.0.0.1"}': { ".": {}, "f:ip": {} } },
      },
    },
  };
}
