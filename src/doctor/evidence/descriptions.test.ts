import { expect, test } from "vitest";
import { diagnose } from "../diagnose.ts";
import { type Facts, noFacts } from "./evidence.ts";
import { TextReader } from "./text-reader.ts";

function factsOf(text: string): Facts {
  const facts = noFacts();
  const reader = new TextReader(facts, "pasted.txt");
  for (const line of text.split("\n")) reader.push(line);
  reader.end();
  return facts;
}

const endpoints = `Name:         web
Namespace:    shop
Labels:       app=web
Annotations:  endpoints.kubernetes.io/last-change-trigger-time: 2023-09-02T08:15:11Z
              endpoints.kubernetes.io/over-capacity: truncated
Subsets:
  Addresses:          10.0.0.1,10.0.0.2
  NotReadyAddresses:  10.0.0.3
  Ports:
    Name     Port  Protocol
    ----     ----  --------
    <unset>  8080  TCP

Events:  <none>`;

test("Endpoints: their addresses, and that they were cut", () => {
  const { objects } = factsOf(endpoints);
  expect(objects.endpoints.get("shop/web")).toMatchObject({
    ready: 2,
    notReady: 1,
    overCapacity: "truncated",
  });
  expect([...objects.listedAddresses]).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
});

test("an EndpointSlice: the address of each endpoint", () => {
  const { objects } = factsOf(`Name:         web-x7k2p
Namespace:    shop
AddressType:  IPv4
Ports:
  Name     Port  Protocol
  ----     ----  --------
  <unset>  8080  TCP
Endpoints:
  - Addresses:  10.0.0.7
    Conditions:
      Ready:    true
    Hostname:   <unset>
  - Addresses:  10.0.0.8
    Conditions:
      Ready:    true`);
  expect([...objects.listedAddresses]).toEqual(["10.0.0.7", "10.0.0.8"]);
});

test("a node: its Ready condition and the reason", () => {
  const { objects } = factsOf(`Name:               worker-3
Roles:              <none>
Labels:             kubernetes.io/os=linux
Conditions:
  Type             Status    LastHeartbeatTime                 LastTransitionTime                Reason              Message
  ----             ------    -----------------                 ------------------                ------              -------
  MemoryPressure   Unknown   Tue, 04 Aug 2020 11:42:10 +0800   Tue, 04 Aug 2020 11:43:02 +0800   NodeStatusUnknown   Kubelet stopped posting node status.
  Ready            Unknown   Tue, 04 Aug 2020 11:42:10 +0800   Tue, 04 Aug 2020 11:43:02 +0800   NodeStatusUnknown   Kubelet stopped posting node status.
Addresses:
  InternalIP:  10.9.0.3`);
  expect(objects.nodes.get("worker-3")).toMatchObject({
    ready: "Unknown",
    reason: "NodeStatusUnknown",
  });
});

const deployment = (label: string): string => `Name:                   web
Namespace:              shop
Labels:                 app=other
Selector:               ${label}
Replicas:               3 desired | 3 updated | 3 total | 3 available | 0 unavailable
Pod Template:
  Labels:  ${label}
           tier=front
  Containers:
   web:
    Image:        web:1
    Port:         8080/TCP
    Host Port:    0/TCP`;

const service = `Name:              web
Namespace:         shop
Labels:            <none>
Selector:          app=web
Type:              ClusterIP
IP:                10.3.0.12
Port:              http  80/TCP
TargetPort:        8080/TCP
Endpoints:         <none>
Session Affinity:  None`;

test.each([
  [
    "another label than the pods of a Deployment",
    "app.kubernetes.io/name=web",
    "selector-mismatch",
  ],
  ["the label of the pods", "app=web", undefined],
])("a service that selects %s", (_what, label, expected) => {
  const facts = factsOf(`${service}\n\n$ kubectl describe deployment web\n${deployment(label)}`);
  const { findings } = diagnose({ ...facts, metrics: [], journeys: undefined });
  expect(findings[0]?.rule).toBe(expected);
});
