import { expect, test } from "vitest";
import { signsIn, signWords } from "./log-signs.ts";

const header = "I0412 22:59:59.914517       1 x.go:638]";
const url = "https://10.3.0.1:443/api/v1/namespaces/shop/endpoints/web";
const waited = (reason: string) =>
  `${header} "Waited before sending request" delay="1.2s" reason="${reason}" verb="PUT" URL="${url}"`;

test.each<[string, string, object | undefined]>([
  [
    "throttling to 1.20",
    `${header} Throttling request took 2.489742918s, request: GET:${url}`,
    { name: "endpoints-throttled", ms: 2489.742918, detail: "GET", subject: url },
  ],
  [
    "throttling 1.21 to 1.32",
    `${header} Waited for 249.5ms due to client-side throttling, not priority and fairness, request: PUT:${url}`,
    { name: "endpoints-throttled", ms: 249.5, detail: "PUT" },
  ],
  [
    "throttling of a retried request",
    `${header} Waited for 1m1.5s, retries: 1, retry-after: 1s - request: PUT:${url}`,
    { name: "endpoints-throttled", ms: 61_500 },
  ],
  [
    "throttling since 1.33",
    waited("client-side throttling"),
    { name: "endpoints-throttled", ms: 1200 },
  ],
  [
    "discovery",
    `${header} Throttling request took 1.04s, request: GET:https://10.0.0.1:6443/apis/apps/v1?timeout=32s`,
    { name: "discovery-throttled" },
  ],
  [
    "another request",
    `${header} Throttling request took 1.04s, request: GET:https://10.0.0.1/api/v1/namespaces/endpoints-test/pods/a`,
    { name: "throttled" },
  ],
  ["no duration", `${header} Throttling request took ages, request: GET:${url}`, { ms: undefined }],
  [
    "master count, cut off",
    'W0511 12:16:48.055669   12085 mastercount.go:135] Resetting endpoints for master service "kubernetes" to &{ } {kubernetes',
    { name: "kubernetes-endpoints-reset" },
  ],
  [
    "a silent node, old",
    `${header} node 10.2.3.4 hasn't been updated for 40.032883982s. Last ready condition is: {Type:Ready`,
    { name: "node-silent", subject: "10.2.3.4", ms: 40032.883982 },
  ],
  [
    "a silent node, new",
    `${header} "Node hasn't been updated" node="node-7" duration="51.2s" nodeConditionType="Ready"`,
    { name: "node-silent", subject: "node-7", ms: 51_200 },
  ],
  [
    "a leader, old",
    `${header} new leader elected: web-1`,
    { name: "leader-elected", subject: "web-1" },
  ],
  [
    "a leader, new",
    `${header} "New leader elected" identity="web-1"`,
    { name: "leader-elected", subject: "web-1" },
  ],
  [
    "a refused watch",
    'E0101 00:00:00.000001       1 reflector.go:138] Failed to watch *v1.Secret: failed to list *v1.Secret: secrets is forbidden: User "system:serviceaccount:a:b" cannot list resource "secrets" in API group "" at the cluster scope',
    { name: "watch-failed", subject: "*v1.Secret" },
  ],
  [
    "the permission that it lacks",
    'E0101 00:00:00.000001       1 reflector.go:138] Failed to watch *v1.Secret: failed to list *v1.Secret: secrets is forbidden: User "system:serviceaccount:a:b" cannot list resource "secrets" in API group "" at the cluster scope',
    { name: "forbidden", subject: "system:serviceaccount:a:b" },
  ],
  [
    "a write of Endpoints in the server's log",
    `${header} PUT /api/v1/namespaces/a/endpoints/b: (4.2ms) 200 [[kube-controller-manager/v1.17.3 (linux/amd64) kubernetes/06ad960] 10.0.0.1:1]`,
    { name: "endpoints-written", ms: 4.2 },
  ],
  [
    "an upstream",
    '2021/07/08 19:44:28 [error] 43#43: *5131 connect() failed (111: Connection refused) while connecting to upstream, client: 10.0.0.9, server: a, request: "GET / HTTP/1.1", upstream: "http://10.53.24.125:8080/", host: "a"',
    { name: "upstream-refused", subject: "10.53.24.125:8080" },
  ],
  [
    "a peer that cannot be reached",
    "Apr 26 16:26:12 m-1 etcd[2069]: failed to dial 123cc61effda2e15 on stream Message (EOF)",
    { name: "etcd-peer-lost", subject: "123cc61effda2e15" },
  ],
  [
    "a peer that was removed",
    "Apr 26 16:26:12 m-1 etcd[2069]: failed to dial 123cc61effda2e15 on stream Message (context canceled)",
    undefined,
  ],
  ["another line", `${header} Starting attach detach controller`, undefined],
  [
    "a sentence about a message",
    "People see Resetting endpoints for master service sometimes",
    undefined,
  ],
])("%s", (_what, line, expected) => {
  const signs =
    signsIn(
      line,
      signWords.filter((word) => line.includes(word)),
    )?.signs ?? [];
  const wanted = signs.find(
    ({ name }) => expected === undefined || !("name" in expected) || name === expected.name,
  );
  expect(signs.length > 0).toBe(expected !== undefined);
  expect({ ...wanted }).toMatchObject(expected ?? {});
});
