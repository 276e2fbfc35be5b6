// Objects whose rows in a Table differ: pods in every state of their containers, services of every
// type, and so on. All carry a label by which their case finds them.

export interface TableObject {
  readonly object: { readonly metadata: { readonly name: string } };
  /** Put after the creation. */
  readonly status?: object;
  /** Deleted last, and held by a finalizer or a node. */
  readonly isDeleted?: boolean;
}

export interface TableSubject {
  readonly name: string;
  readonly collection: (namespace: string) => string;
  readonly objects: (label: string) => readonly TableObject[];
}

type Row = readonly [name: string, fields: object, status?: object, more?: object];

const podStates: readonly Row[] = [
  ["fresh", pod()],
  [
    "running",
    pod({ nodeName: "n1", readinessGates: [gate("a.b/x"), gate("a.b/y")] }),
    {
      phase: "Running",
      podIP: "10.0.0.5",
      podIPs: [{ ip: "10.0.0.5" }],
      conditions: [condition("Ready"), condition("a.b/x"), condition("a.b/y", "False")],
      containerStatuses: [container("c", running(), { ready: true, ...restarted(3) })],
    },
  ],
  ["crashing", pod(), phase("Running", container("c", waiting("CrashLoopBackOff"), restarted(12)))],
  ["pulling", pod(), phase("Pending", container("c", waiting("ImagePullBackOff")))],
  ["waiting", pod(), phase("Pending", container("c", { waiting: {} }))],
  ["done", pod(), phase("Succeeded", container("c", ended(0, { reason: "Completed" })))],
  ["failed", pod(), phase("Failed", container("c", ended(2)))],
  ["signalled", pod(), phase("Failed", container("c", ended(137, { signal: 9 })))],
  ["evicted", pod(), { phase: "Failed", reason: "Evicted" }],
  [
    "half-done",
    pod({ containers: [image("a"), image("b")] }),
    {
      ...phase(
        "Running",
        container("a", ended(0, { reason: "Completed" })),
        container("b", running(), { ready: true }),
      ),
      conditions: [condition("Ready", "False")],
    },
  ],
  [
    "half-failed",
    pod({ containers: [image("a"), image("b")] }),
    phase(
      "Running",
      container("a", ended(0, { reason: "Completed" })),
      container("b", ended(1, { reason: "Error" })),
    ),
  ],
  [
    "initializing",
    pod({ initContainers: [image("i1"), image("i2")] }),
    initial(container("i1", ended(0)), container("i2", running(), { restartCount: 2 })),
  ],
  [
    "init-crashing",
    pod({ initContainers: [image("i1")] }),
    initial(container("i1", waiting("CrashLoopBackOff"), restarted(4))),
  ],
  ["init-failed", pod({ initContainers: [image("i1")] }), initial(container("i1", ended(3)))],
  [
    "sidecar",
    pod({ initContainers: [{ ...image("s"), restartPolicy: "Always" }, image("i2")] }),
    {
      ...phase("Running", container("c", running(), { ready: true })),
      conditions: [condition("Initialized")],
      initContainerStatuses: [
        container("s", running(), { ready: true, started: true, ...restarted(5) }),
        container("i2", ended(0), { restartCount: 7 }),
      ],
    },
  ],
  ["gated", pod({ schedulingGates: [{ name: "a.b/g" }] })],
  ["leaving", pod({ nodeName: "n1" }), phase("Running"), { isDeleted: true }],
  ["lost", pod({ nodeName: "n1" }), { phase: "Running", reason: "NodeLost" }, { isDeleted: true }],
];

const port = { name: "http", port: 80, protocol: "TCP", targetPort: 80 };

const serviceTypes: readonly Row[] = [
  [
    "cluster",
    {
      spec: {
        selector: { b: "2", a: "1" },
        ports: [port, { name: "u", port: 53, protocol: "UDP" }],
      },
    },
  ],
  ["headless", { spec: { clusterIP: "None", selector: { a: "b" } } }],
  [
    "balanced",
    { spec: { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [port] } },
  ],
  [
    "reachable",
    {
      spec: {
        type: "LoadBalancer",
        allocateLoadBalancerNodePorts: false,
        externalIPs: ["7.7.7.7"],
        ports: [port],
      },
    },
    {
      loadBalancer: {
        ingress: [{ ip: "9.9.9.9" }, { hostname: "a.example.com" }, { ip: "1.1.1.1" }],
      },
    },
  ],
  ["outside", { spec: { externalIPs: ["7.7.7.7", "6.6.6.6"], ports: [port] } }],
  ["elsewhere", { spec: { type: "ExternalName", externalName: "db.example.com" } }],
];

const endpointLists: readonly Row[] = [
  ["none", { subsets: [] }],
  ["one", { subsets: [{ addresses: addresses(1), ports: [{ port: 80 }] }] }],
  [
    "many",
    {
      subsets: [
        {
          addresses: addresses(3),
          ports: [
            { name: "a", port: 80 },
            { name: "b", port: 81 },
          ],
        },
        { addresses: [{ ip: "10.1.2.1" }], ports: [{ port: 82 }] },
      ],
    },
  ],
  ["portless", { subsets: [{ addresses: addresses(5) }] }],
  ["unready", { subsets: [{ notReadyAddresses: addresses(2), ports: [{ port: 80 }] }] }],
  ["six", { subsets: [{ addresses: [{ ip: "fd00::5" }], ports: [{ port: 80 }] }] }],
];

const slices: readonly Row[] = [
  ["empty", slice(0, [])],
  ["one", slice(1, [{ name: "http", port: 80 }])],
  [
    "many",
    slice(
      5,
      [1, 2, 3, 4].map((number) => ({ name: `p${number}`, port: number })),
    ),
  ],
  ["named", slice(3, [{ name: "any" }])],
  ["unnamed", slice(3, [{ name: "" }])],
];

const ingresses: readonly Row[] = [
  ["default", { spec: { defaultBackend: backend() } }],
  [
    "hosts",
    {
      spec: {
        ingressClassName: "nginx",
        rules: ["a", "b", "c", "d", "e"].map(rule),
        tls: [{ hosts: ["a.com"] }],
      },
    },
    { loadBalancer: { ingress: [{ ip: "9.9.9.9" }, { hostname: "balancer.example.com" }] } },
  ],
  ["mixed", { spec: { rules: [rule("a"), rule(""), rule("c"), rule("d"), rule("")] } }],
];

const template = {
  metadata: { labels: { app: "x", tier: "a", one: "z", zz: "" } },
  spec: { containers: [image("a"), image("b")], nodeSelector: { z: "1", disk: "ssd" } },
};
const selector = {
  matchLabels: { app: "x" },
  matchExpressions: [
    { key: "tier", operator: "In", values: ["b", "a"] },
    { key: "aa", operator: "NotIn", values: ["q"] },
    { key: "one", operator: "In", values: ["z"] },
    { key: "zz", operator: "Exists" },
    { key: "no", operator: "DoesNotExist" },
  ],
};
const replicas = { replicas: 4, readyReplicas: 2, availableReplicas: 2 };

const events: readonly Row[] = [
  [
    "counted",
    {
      type: "Warning",
      reason: "Failed",
      message: " it failed\n",
      source: { component: "kubelet", host: "n1" },
      firstTimestamp: "2020-01-01T00:00:00Z",
      lastTimestamp: "2020-01-02T00:00:00Z",
      count: 4,
    },
  ],
  ["newer", newEvent()],
  [
    "series",
    { ...newEvent(), series: { count: 9, lastObservedTime: "2020-01-02T00:00:00.000000Z" } },
  ],
  ["bare", { reason: "R", message: "m" }],
];

export const tableSubjects: readonly TableSubject[] = [
  subject("pods", "/api/v1", podStates),
  subject("services", "/api/v1", serviceTypes),
  subject("endpoints", "/api/v1", endpointLists),
  subject("endpointslices", "/apis/discovery.k8s.io/v1", slices),
  subject("ingresses", "/apis/networking.k8s.io/v1", ingresses),
  subject("deployments", "/apis/apps/v1", [
    [
      "web",
      { spec: { replicas: 3, selector, template } },
      { ...replicas, updatedReplicas: 1, unavailableReplicas: 2 },
    ],
  ]),
  subject("replicasets", "/apis/apps/v1", [
    ["web", { spec: { replicas: 3, selector, template } }, replicas],
  ]),
  subject("daemonsets", "/apis/apps/v1", [
    [
      "web",
      { spec: { selector, template } },
      {
        desiredNumberScheduled: 5,
        currentNumberScheduled: 4,
        numberReady: 3,
        updatedNumberScheduled: 2,
        numberAvailable: 1,
        numberMisscheduled: 0,
      },
    ],
  ]),
  {
    name: "events",
    collection: (namespace) => `/api/v1/namespaces/${namespace}/events`,
    objects: (label) => {
      const involvedObject = {
        kind: "Pod",
        namespace: label,
        name: "web",
        fieldPath: "spec.containers{c}",
      };
      return rows(
        events.map(([name, fields]) => [name, { ...fields, involvedObject }]),
        label,
      );
    },
  },
];

function subject(resource: string, root: string, states: readonly Row[]): TableSubject {
  return {
    name: resource,
    collection: (namespace) => `${root}/namespaces/${namespace}/${resource}`,
    objects: (label) => rows(states, label),
  };
}

function rows(states: readonly Row[], label: string): readonly TableObject[] {
  return states.map(([name, fields, status, more]) => ({
    object: { metadata: { name, labels: { table: label } }, ...fields },
    ...(status === undefined ? {} : { status }),
    ...more,
  }));
}

function pod(spec: object = {}): object {
  return { spec: { containers: [image("c")], ...spec } };
}

function image(name: string): object {
  return { name, image: `${name}:1` };
}

function gate(conditionType: string): object {
  return { conditionType };
}

function condition(type: string, status = "True"): object {
  return { type, status };
}

function phase(name: string, ...containerStatuses: readonly object[]): object {
  return { phase: name, containerStatuses };
}

function initial(...initContainerStatuses: readonly object[]): object {
  return { phase: "Pending", initContainerStatuses };
}

function container(name: string, state: object, more: object = {}): object {
  return { name, image: `${name}:1`, imageID: "", ready: false, restartCount: 0, state, ...more };
}

function running(): object {
  return { running: { startedAt: "2020-01-01T00:00:00Z" } };
}

function waiting(reason: string): object {
  return { waiting: { reason } };
}

function ended(exitCode: number, more: object = {}): object {
  return { terminated: { exitCode, ...more } };
}

function restarted(restartCount: number): object {
  const terminated = { exitCode: 1, finishedAt: "2020-01-01T00:00:00Z" };
  return { restartCount, lastState: { terminated } };
}

function addresses(count: number): readonly { readonly ip: string }[] {
  return Array.from({ length: count }, (_, index) => ({ ip: `10.1.1.${index + 1}` }));
}

function slice(count: number, ports: readonly object[]): object {
  const endpoints = addresses(count).map(({ ip }) => ({ addresses: [ip] }));
  return { addressType: "IPv4", endpoints, ports };
}

function backend(): object {
  return { service: { name: "s", port: { number: 80 } } };
}

function rule(host: string): object {
  const http = { paths: [{ path: "/", pathType: "Prefix", backend: backend() }] };
  return host === "" ? { http } : { host: `${host}.com`, http };
}

function newEvent(): object {
  return {
    type: "Normal",
    reason: "R",
    message: "m",
    action: "A",
    eventTime: "2020-01-01T00:00:00.000000Z",
    reportingComponent: "ctl",
    reportingInstance: "i-1",
  };
}
