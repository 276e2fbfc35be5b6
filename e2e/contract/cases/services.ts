// Services of every type, what the server allocates for them, and how they change from one into
// another.
import type { CaseWorld, ContractCase } from "../contract-case.ts";

const port = { port: 80 };

/** Each is created as it stands; refusals are as much of interest as what is accepted. */
const specs: Readonly<Record<string, object>> = {
  "of the cluster": { ports: [port] },
  headless: { clusterIP: "None", ports: [port] },
  "headless without ports": { clusterIP: "None" },
  "with node ports": { type: "NodePort", ports: [port, { name: "b", port: 81 }] },
  "with two named node ports": {
    type: "NodePort",
    ports: [
      { name: "a", port: 80 },
      { name: "b", port: 81 },
    ],
  },
  "with a chosen node port": { type: "NodePort", ports: [{ port: 80, nodePort: 31_999 }] },
  "with a node port out of range": { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] },
  "of the cluster with a node port": { ports: [{ port: 80, nodePort: 31_998 }] },
  "with the same node port for two protocols": {
    type: "NodePort",
    ports: [
      { name: "a", port: 53, protocol: "TCP", nodePort: 31_997 },
      { name: "b", port: 53, protocol: "UDP", nodePort: 31_997 },
    ],
  },
  "with a load balancer": { type: "LoadBalancer", ports: [port] },
  "with a load balancer and no node ports": {
    type: "LoadBalancer",
    allocateLoadBalancerNodePorts: false,
    ports: [port],
  },
  "with a load balancer and local traffic": {
    type: "LoadBalancer",
    externalTrafficPolicy: "Local",
    ports: [port],
  },
  "with a load balancer address": {
    type: "LoadBalancer",
    loadBalancerIP: "192.0.2.1",
    ports: [port],
  },
  "that is a name elsewhere": { type: "ExternalName", externalName: "www.example.com" },
  "that is a name elsewhere with ports": {
    type: "ExternalName",
    externalName: "www.example.com.",
    ports: [port],
  },
  "that is no name elsewhere": { type: "ExternalName" },
  "that is a bad name elsewhere": { type: "ExternalName", externalName: "Not A Name" },
  "that is a name with an address": {
    type: "ExternalName",
    externalName: "a.example.com",
    clusterIP: "10.96.3.3",
  },
  "with a chosen address": { clusterIP: "10.96.200.1", ports: [port] },
  "with an address elsewhere": { clusterIP: "192.0.2.1", ports: [port] },
  "with two different addresses": {
    clusterIP: "10.96.200.2",
    clusterIPs: ["10.96.200.3"],
    ports: [port],
  },
  "with an address of the other family": { clusterIP: "2001:db8::1", ports: [port] },
  "with the other family": { ipFamilies: ["IPv6"], ports: [port] },
  "with both families required": { ipFamilyPolicy: "RequireDualStack", ports: [port] },
  "with both families preferred": { ipFamilyPolicy: "PreferDualStack", ports: [port] },
  "headless with both families": {
    clusterIP: "None",
    ipFamilyPolicy: "RequireDualStack",
    selector: { a: "b" },
  },
  "headless with a load balancer": { clusterIP: "None", type: "LoadBalancer", ports: [port] },
  "without ports": {},
  "with sticky clients": { sessionAffinity: "ClientIP", ports: [port] },
  "with an empty selector": { selector: {}, ports: [port] },
  "with a named target": { ports: [{ port: 80, targetPort: "web" }] },
  "with a malformed named target": { ports: [{ port: 80, targetPort: "Not_A_Port" }] },
  "with a policy it cannot have": { externalTrafficPolicy: "Local", ports: [port] },
  "with an empty port name": { ports: [{ name: "", port: 80 }] },
  "with SCTP": { ports: [{ port: 80, protocol: "SCTP" }] },
  "with an unknown protocol": { ports: [{ port: 80, protocol: "ICMP" }] },
  "with a loopback external address": { externalIPs: ["127.0.0.1"], ports: [port] },
};

const types: Readonly<Record<string, object>> = {
  ClusterIP: { type: "ClusterIP", ports: [port] },
  Headless: { type: "ClusterIP", clusterIP: "None", ports: [port] },
  NodePort: { type: "NodePort", ports: [port] },
  LoadBalancer: { type: "LoadBalancer", ports: [port] },
  ExternalName: { type: "ExternalName", externalName: "a.example.com" },
};

export const serviceCases: readonly ContractCase[] = [
  ...Object.entries(specs).map(([name, spec]) => ({
    area: "services",
    name: `a service ${name}`,
    run: async (world: CaseWorld) => {
      await world.open();
      await world.call("POST", servicesOf(world), service(spec));
      await world.call("GET", `${servicesOf(world)}/thing`);
      await world.call("DELETE", `${servicesOf(world)}/thing`);
    },
  })),
  ...Object.entries(types).flatMap(([from, before]) =>
    Object.entries(types)
      .filter(([to]) => to !== from)
      .map(([to, after]) => ({
        area: "services",
        name: `${from} becomes ${to}`,
        run: async (world: CaseWorld) => {
          await world.open();
          await world.call("POST", servicesOf(world), service(before));
          await world.call("PUT", `${servicesOf(world)}/thing`, service(after));
          await world.call(
            "PATCH",
            `${servicesOf(world)}/thing`,
            { spec: { ...before, clusterIP: null } },
            { contentType: "application/merge-patch+json" },
          );
        },
      })),
  ),
  {
    area: "services",
    name: "an address is given once",
    run: async (world: CaseWorld) => {
      await world.open();
      const made = await world.call("POST", servicesOf(world), service({ ports: [port] }));
      const { clusterIP } = (made.body as { spec: { clusterIP: string } }).spec;
      const second = { ...service({ clusterIP, ports: [port] }), metadata: { name: "second" } };
      await world.call("POST", servicesOf(world), second);
      await world.call("DELETE", `${servicesOf(world)}/thing`);
      await world.call("POST", servicesOf(world), second);
    },
  },
  {
    area: "services",
    name: "a node port is given once",
    run: async (world: CaseWorld) => {
      await world.open();
      const spec = { type: "NodePort", ports: [port] };
      const made = await world.call("POST", servicesOf(world), service(spec));
      const ports = (made.body as { spec: { ports: { nodePort: number }[] } }).spec.ports;
      const nodePort = ports[0]?.nodePort ?? 0;
      const again = { type: "NodePort", ports: [{ port: 80, nodePort }] };
      await world.call("POST", servicesOf(world), {
        ...service(again),
        metadata: { name: "second" },
      });
      const wide = {
        ports: [
          { name: "a", port: 80, nodePort },
          { name: "b", port: 81 },
        ],
      };
      await world.call("PUT", `${servicesOf(world)}/thing`, service({ ...spec, ...wide }));
    },
  },
];

function servicesOf({ name }: CaseWorld): string {
  return `/api/v1/namespaces/${name}/services`;
}

function service(spec: object): object {
  return { apiVersion: "v1", kind: "Service", metadata: { name: "thing" }, spec };
}
