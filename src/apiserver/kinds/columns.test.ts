// The columns of the kinds beside pods, and the cells of objects of each. Each expectation was
// compared with the answer of kube-apiserver 1.36 for the same object.
import { describe, expect, test } from "vitest";
import type { WallMs } from "../../environment/clock.ts";
import { defaultColumns, type KindColumns } from "../tables/columns.ts";
import { allKinds } from "./all-kinds.ts";
import type { JsonObject } from "./fields.ts";

const now = Date.parse("2026-01-02T03:04:05Z") as WallMs;
const created = "2026-01-02T03:03:00Z";
const age = "65s";

function ago(seconds: number): string {
  return new Date(now - seconds * 1000).toISOString();
}

/** The columns as kubectl would print them with `-o wide`, those of higher priority in brackets. */
function headings(kind: string): string {
  const { columns } = columnsOf(kind);
  return columns.map(({ name, priority }) => (priority > 0 ? `(${name})` : name)).join(" | ");
}

function cells(kind: string, fields: JsonObject, metadata: JsonObject = {}): readonly unknown[] {
  const object = { metadata: { name: "x", creationTimestamp: created, ...metadata }, ...fields };
  return columnsOf(kind).cells(object, now);
}

/** Of `apps/Deployment` or `Service`. */
function columnsOf(text: string): KindColumns {
  const [name = "", group = ""] = text.split("/").reverse();
  const kind = allKinds.find((one) => one.kind === name && one.group === group);
  if (kind === undefined) throw new Error(`no kind ${text}`);
  return kind.columns ?? defaultColumns;
}

const template = {
  spec: {
    containers: [
      { name: "a", image: "i:1" },
      { name: "b", image: "j:2" },
    ],
    nodeSelector: { z: "1", disk: "ssd" },
  },
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
const selected = "aa notin (q),app=x,!no,one in (z),tier in (a,b),zz";

describe("workloads", () => {
  test("have the columns of kubectl", () => {
    const replicas =
      "Name | Desired | Current | Ready | Age | (Containers) | (Images) | (Selector)";
    expect(headings("apps/ReplicaSet")).toBe(replicas);
    expect(headings("ReplicationController")).toBe(replicas);
    expect(headings("apps/Deployment")).toBe(
      "Name | Ready | Up-to-date | Available | Age | (Containers) | (Images) | (Selector)",
    );
    expect(headings("apps/DaemonSet")).toBe(
      "Name | Desired | Current | Ready | Up-to-date | Available | Node Selector | Age | " +
        "(Containers) | (Images) | (Selector)",
    );
  });

  test("show their counts and their template", () => {
    const spec = { replicas: 3, selector, template };
    const status = { replicas: 4, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 2 };
    const shown = ["a,b", "i:1,j:2"];
    expect(cells("apps/Deployment", { spec, status })).toEqual([
      "x",
      "2/3",
      1,
      2,
      age,
      ...shown,
      selected,
    ]);
    expect(cells("apps/ReplicaSet", { spec, status })).toEqual([
      "x",
      3,
      4,
      2,
      age,
      ...shown,
      selected,
    ]);
    expect(
      cells("ReplicationController", { spec: { ...spec, selector: { b: "1", app: "x" } }, status }),
    ).toEqual(["x", 3, 4, 2, age, ...shown, "app=x,b=1"]);
    const daemons = { desiredNumberScheduled: 5, currentNumberScheduled: 4, numberReady: 3 };
    expect(cells("apps/DaemonSet", { spec, status: daemons })).toEqual([
      "x",
      5,
      4,
      3,
      0,
      0,
      "disk=ssd,z=1",
      age,
      ...shown,
      selected,
    ]);
  });
});

describe("services", () => {
  test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    [
      "inside the cluster",
      {
        type: "ClusterIP",
        clusterIPs: ["10.96.0.7"],
        selector: { b: "2", a: "1" },
        ports: [
          { port: 80, protocol: "TCP" },
          { port: 443, protocol: "UDP" },
        ],
      },
      {},
      ["ClusterIP", "10.96.0.7", "<none>", "80/TCP,443/UDP", age, "a=1,b=2"],
    ],
    [
      "without an address",
      { type: "ClusterIP", clusterIPs: ["None"] },
      {},
      ["ClusterIP", "None", "<none>", "<none>", age, "<none>"],
    ],
    [
      "on the nodes' ports",
      {
        type: "NodePort",
        clusterIPs: ["10.96.0.7"],
        externalIPs: ["7.7.7.7", "6.6.6.6"],
        ports: [{ port: 80, nodePort: 30_080, protocol: "TCP" }],
      },
      {},
      ["NodePort", "10.96.0.7", "7.7.7.7,6.6.6.6", "80:30080/TCP", age, "<none>"],
    ],
    [
      "whose load balancer is not there yet",
      { type: "LoadBalancer", clusterIPs: ["10.96.0.7"] },
      {},
      ["LoadBalancer", "10.96.0.7", "<pending>", "<none>", age, "<none>"],
    ],
    [
      "behind a load balancer",
      { type: "LoadBalancer", clusterIPs: ["10.96.0.7"], externalIPs: ["7.7.7.7"] },
      {
        loadBalancer: {
          ingress: [{ ip: "9.9.9.9" }, { hostname: "a.example" }, { ip: "1.1.1.1" }],
        },
      },
      ["LoadBalancer", "10.96.0.7", "1.1.1.1,9.9.9.9,a.example,7.7.7.7", "<none>", age, "<none>"],
    ],
    [
      "elsewhere",
      { type: "ExternalName", externalName: "db.example.com" },
      {},
      ["ExternalName", "<none>", "db.example.com", "<none>", age, "<none>"],
    ],
  ])("%s", (_, spec, status, expected) => {
    expect(cells("Service", { spec, status })).toEqual(["x", ...expected]);
  });

  test("have these columns", () => {
    expect(headings("Service")).toBe(
      "Name | Type | Cluster-IP | External-IP | Port(s) | Age | (Selector)",
    );
  });
});

describe("endpoints and ingresses", () => {
  const addresses = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ip: `10.1.1.${index + 1}` }));

  test.each<[readonly JsonObject[], string]>([
    [[], "<none>"],
    [[{ addresses: addresses(1), ports: [{ port: 80 }] }], "10.1.1.1:80"],
    [
      [
        { addresses: addresses(2), ports: [{ port: 80 }, { port: 81 }] },
        { addresses: addresses(1), ports: [{ port: 82 }] },
      ],
      "10.1.1.1:80,10.1.1.2:80,10.1.1.1:81 + 2 more...",
    ],
    [[{ addresses: addresses(5) }], "10.1.1.1,10.1.1.2,10.1.1.3 + 2 more..."],
    [[{ notReadyAddresses: addresses(2), ports: [{ port: 80 }] }], ""],
    [[{ addresses: [{ ip: "fd00::5" }], ports: [{ port: 80 }] }], "[fd00::5]:80"],
  ])("Endpoints %#", (subsets, expected) => {
    expect(cells("Endpoints", { subsets })).toEqual(["x", expected, age]);
  });

  test.each<[readonly JsonObject[], number, readonly string[]]>([
    [[], 0, ["<unset>", "<unset>"]],
    [[{ name: "http", port: 80 }], 3, ["80", "10.1.1.1,10.1.1.2,10.1.1.3"]],
    [
      [1, 2, 3, 4, 5].map((port) => ({ name: `p${port}`, port })),
      4,
      ["1,2,3 + 2 more...", "10.1.1.1,10.1.1.2,10.1.1.3 + 1 more..."],
    ],
    [[{ name: "any" }], 1, ["any", "10.1.1.1"]],
    [[{ name: "" }], 1, ["<unset>", "10.1.1.1"]],
    [[{}], 1, ["*", "10.1.1.1"]],
  ])("EndpointSlices %#", (ports, count, expected) => {
    const endpoints = addresses(count).map(({ ip }) => ({ addresses: [ip] }));
    const slice = { addressType: "IPv4", ports, endpoints };
    expect(cells("discovery.k8s.io/EndpointSlice", slice)).toEqual(["x", "IPv4", ...expected, age]);
  });

  test.each<[readonly string[], string]>([
    [[], "*"],
    [["a.com", "b.com", "c.com"], "a.com,b.com,c.com"],
    [["a.com", "b.com", "c.com", "d.com", "e.com"], "a.com,b.com,c.com + 2 more..."],
    [["a.com", "", "c.com", "d.com", ""], "a.com,c.com,d.com + 2 more..."],
  ])("Ingresses for the hosts %j", (hosts, expected) => {
    const rules = hosts.map((host) => ({ host }));
    const status = { loadBalancer: { ingress: [{ ip: "9.9.9.9" }, { ip: "1.1.1.1" }] } };
    const spec = { ingressClassName: "nginx", rules, tls: [{}] };
    expect(cells("networking.k8s.io/Ingress", { spec, status })).toEqual([
      "x",
      "nginx",
      expected,
      "1.1.1.1,9.9.9.9",
      "80, 443",
      age,
    ]);
    expect(cells("networking.k8s.io/Ingress", { spec: { rules } })).toEqual([
      "x",
      "<none>",
      expected,
      "",
      "80",
      age,
    ]);
  });

  test("IngressClasses", () => {
    const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
    const parameters = { apiGroup: "x.y", kind: "P", name: "pp" };
    expect(
      cells(
        "networking.k8s.io/IngressClass",
        { spec: { controller: "a/b", parameters } },
        { annotations },
      ),
    ).toEqual(["x (default)", "a/b", "P.x.y/pp", age]);
    expect(cells("networking.k8s.io/IngressClass", { spec: { controller: "a/b" } })).toEqual([
      "x",
      "a/b",
      "<none>",
      age,
    ]);
  });

  test("have these columns", () => {
    expect(headings("Endpoints")).toBe("Name | Endpoints | Age");
    expect(headings("discovery.k8s.io/EndpointSlice")).toBe(
      "Name | AddressType | Ports | Endpoints | Age",
    );
    expect(headings("networking.k8s.io/Ingress")).toBe(
      "Name | Class | Hosts | Address | Ports | Age",
    );
    expect(headings("networking.k8s.io/IngressClass")).toBe("Name | Controller | Parameters | Age");
  });
});

describe("the cluster itself", () => {
  test("shows its nodes", () => {
    expect(headings("Node")).toBe(
      "Name | Status | Roles | Age | Version | (Internal-IP) | (External-IP) | (OS-Image) | " +
        "(Kernel-Version) | (Container-Runtime)",
    );
    const labels = {
      "node-role.kubernetes.io/worker": "",
      "node-role.kubernetes.io/control-plane": "",
      "kubernetes.io/role": "old",
    };
    const status = {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [
        { type: "Hostname", address: "h" },
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "InternalIP", address: "10.0.0.2" },
      ],
      nodeInfo: {
        kubeletVersion: "v1.33.0",
        osImage: "Debian",
        kernelVersion: "6.1",
        architecture: "amd64",
      },
    };
    expect(cells("Node", { spec: { unschedulable: true }, status }, { labels })).toEqual([
      "x",
      "Ready,SchedulingDisabled",
      "control-plane,old,worker",
      age,
      "v1.33.0",
      "10.0.0.1",
      "<none>",
      "Debian",
      "6.1 (amd64)",
      "<unknown>",
    ]);
    expect(cells("Node", {}).slice(0, 5)).toEqual(["x", "Unknown", "<none>", age, ""]);
    const conditions = [{ type: "Ready", status: "Unknown" }];
    expect(cells("Node", { status: { conditions } })[1]).toBe("NotReady");
  });

  test("shows its namespaces, leases, accounts and settings", () => {
    expect(cells("Namespace", { status: { phase: "Active" } })).toEqual(["x", "Active", age]);
    expect(cells("coordination.k8s.io/Lease", { spec: { holderIdentity: "me_1" } })).toEqual([
      "x",
      "me_1",
      age,
    ]);
    expect(cells("ServiceAccount", {})).toEqual(["x", age]);
    const data = { a: "1", b: "2" };
    expect(cells("ConfigMap", { data, binaryData: { c: "AAAA" } })).toEqual(["x", 3, age]);
    expect(cells("Secret", { type: "Opaque", data })).toEqual(["x", "Opaque", 2, age]);
    expect(
      ["Namespace", "coordination.k8s.io/Lease", "ServiceAccount", "ConfigMap", "Secret"].map(
        headings,
      ),
    ).toEqual([
      "Name | Status | Age",
      "Name | Holder | Age",
      "Name | Age",
      "Name | Data | Age",
      "Name | Type | Data | Age",
    ]);
  });

  test("shows the subjects of a role binding", () => {
    const binding = {
      roleRef: { kind: "Role", name: "reader" },
      subjects: [
        { kind: "User", name: "u1" },
        { kind: "User", name: "u2" },
        { kind: "Group", name: "g" },
        { kind: "ServiceAccount", name: "acc", namespace: "default" },
      ],
    };
    for (const kind of ["RoleBinding", "ClusterRoleBinding"]) {
      expect(cells(`rbac.authorization.k8s.io/${kind}`, binding)).toEqual([
        "x",
        "Role/reader",
        age,
        "u1, u2",
        "g",
        "default/acc",
      ]);
    }
    expect(headings("rbac.authorization.k8s.io/RoleBinding")).toBe(
      "Name | Role | Age | (Users) | (Groups) | (ServiceAccounts)",
    );
  });

  test("shows of other kinds when they were created", () => {
    expect(headings("rbac.authorization.k8s.io/Role")).toBe("Name | Created At");
    expect(cells("rbac.authorization.k8s.io/Role", {})).toEqual(["x", created]);
  });
});

describe("events", () => {
  const about = { kind: "Pod", name: "web", fieldPath: "spec.containers{c}" };
  test("have these columns", () => {
    expect(headings("Event")).toBe(
      "Last Seen | Type | Reason | Object | (Subobject) | (Source) | Message | (First Seen) | " +
        "(Count) | (Name)",
    );
  });

  test("show when they were first and last seen, and how often", () => {
    const event = {
      involvedObject: about,
      type: "Warning",
      reason: "Failed",
      message: " it failed\n",
      source: { component: "kubelet", host: "n1" },
      firstTimestamp: ago(7000),
      lastTimestamp: ago(70),
      count: 4,
    };
    const expected = [
      "70s",
      "Warning",
      "Failed",
      "pod/web",
      "spec.containers{c}",
      "kubelet, n1",
      "it failed",
      "116m",
      4,
      "x",
    ];
    expect(cells("Event", event)).toEqual(expected);
    const { involvedObject, source, message, firstTimestamp, lastTimestamp, count, ...rest } =
      event;
    expect(
      cells("events.k8s.io/Event", {
        ...rest,
        apiVersion: "events.k8s.io/v1",
        regarding: involvedObject,
        note: message,
        deprecatedSource: source,
        deprecatedFirstTimestamp: firstTimestamp,
        deprecatedLastTimestamp: lastTimestamp,
        deprecatedCount: count,
      }),
    ).toEqual(expected);
  });

  test("of the newer sort count their series", () => {
    const event = {
      involvedObject: { kind: "Node" },
      reason: "R",
      type: "Normal",
      message: "m",
      eventTime: ago(500),
      reportingComponent: "ctl",
      reportingInstance: "i-1",
    };
    expect(cells("Event", event)).toEqual([
      "8m20s",
      "Normal",
      "R",
      "node",
      "",
      "ctl, i-1",
      "m",
      "8m20s",
      1,
      "x",
    ]);
    expect(cells("Event", { ...event, series: { count: 9, lastObservedTime: ago(60) } })).toEqual([
      "60s",
      "Normal",
      "R",
      "node",
      "",
      "ctl, i-1",
      "m",
      "8m20s",
      9,
      "x",
    ]);
  });
});
