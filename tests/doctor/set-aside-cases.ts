// Texts modelled on public issues that were set aside before the rules for them were written. They
// measure what the doctor does with a text it has not seen. No rule is tuned to them.

import { type DoctorCase, repeat, two } from "./case.ts";
import { auditLine } from "./stranger-cases.ts";

export const setAsideCases: readonly DoctorCase[] = [
  {
    name: "an operator whose watches ask a server that is behind, client-go 0.31",
    first: "stale-cache",
    text: repeat(
      4,
      (index) =>
        `{"level":"info","ts":"2025-04-25T19:45:0${index}Z","msg":"pkg/mod/k8s.io/client-go@v0.31.3/tools/cache/reflector.go:243: watch of *v1.Service ended with: Timeout: Too large resource version: 14540, current: 12912"}`,
    ),
  },
  {
    name: "nginx that times out at an old address for an hour, with the slices of today",
    version: "1.24",
    first: "stale-proxy",
    text: `${repeat(
      4,
      (index) =>
        `2024/07/05 1${index}:05:10 [error] 31#31: *84787 upstream timed out (110: Operation timed out) while connecting to upstream, client: 10.4.4.4, server: api.example, request: "GET /v2 HTTP/2.0", upstream: "http://10.114.21.7:8080/v2", host: "api.example"`,
    )}
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: api-x7k2p
  namespace: prod
addressType: IPv4
endpoints:
- addresses: ["10.114.33.2"]
  conditions: { ready: true }
- addresses: ["10.114.34.9"]
  conditions: { ready: true }`,
  },
  {
    name: "Traefik at a pod that is being killed, with the event",
    first: "termination-race",
    text: `10.9.0.3 - - [02/Feb/2019:10:00:07 +0000] "GET / HTTP/1.1" 502 11 "-" "wrk" 514 "shop" "http://10.244.7.3:80" 1ms
{
  "kind": "Event", "apiVersion": "v1", "reason": "Killing", "lastTimestamp": "2019-02-02T10:00:05Z",
  "metadata": { "name": "web-0.15", "namespace": "shop" },
  "involvedObject": { "kind": "Pod", "namespace": "shop", "name": "web-0" }
}
{
  "kind": "Pod", "apiVersion": "v1", "metadata": { "name": "web-0", "namespace": "shop" },
  "status": { "podIP": "10.244.7.3" }
}`,
  },
  {
    name: "Endpoints that the controller writes without a change, 1.17, by the audit log",
    first: "headless-rewrites",
    text: `Server Version: v1.17.3
${repeat(320, (index) =>
  auditLine({
    user: "system:serviceaccount:kube-system:endpoint-controller",
    address: "10.0.0.2",
    resource: "endpoints",
    name: `svc-${index}`,
    second: Math.floor(index / 20),
    version: String(5_000 + index),
    sentVersion: String(5_000 + index),
    api: "v1beta1",
  }),
)}`,
  },
  {
    name: "a release that writes a few services again and again",
    first: undefined,
    text: repeat(
      300,
      (index) =>
        `I0612 08:${two(Math.floor(index / 30))}:${two(index % 30)}.000000       1 httplog.go:90] PUT /api/v1/namespaces/shop/endpoints/svc-${index % 5}: (4.1ms) 200 [kube-controller-manager/v1.15.3 10.0.0.2:45000]`,
    ),
  },
  {
    name: "an API server that has just started and is behind for one list",
    first: undefined,
    text: "W0711 08:00:01.000000       1 reflector.go:424] k8s.io/client-go/informers/factory.go:150: failed to list *v1.Node: Timeout: Too large resource version: 750, current: 1",
  },
  {
    name: "pods that crash, with nothing about endpoints",
    first: undefined,
    text: `NAME                    READY   STATUS             RESTARTS         AGE
api-7d9f8b6c5d-2xk8p    0/1     CrashLoopBackOff   12 (3m ago)      40m
api-7d9f8b6c5d-8j7wl    0/1     OOMKilled          9 (1m ago)       40m
Last State:     Terminated
  Reason:       OOMKilled
  Exit Code:    137`,
  },
  {
    name: "nginx that reloads slowly because of many hosts, klog of 0.20",
    first: "slow-reloads",
    text: repeat(
      3,
      (index) =>
        `I1102 09:1${index}:00.100000       5 controller.go:169] Configuration changes detected, backend reload required.\n` +
        `I1102 09:1${index}:21.900000       5 controller.go:185] Backend successfully reloaded.`,
    ),
  },
  {
    name: "HAProxy whose servers refuse, in its own format",
    first: "dead-endpoints",
    text: repeat(
      4,
      (index) =>
        `Mar 03 09:01:4${index} lb haproxy[991]: 10.0.0.9:43210 [03/Mar/2026:09:01:4${index}.655] http shop_web_80/SRV_2 0/0/-1/-1/3003 503 217 - - SC-- 3/3/0/0/3 0/0 "GET /a HTTP/1.1"`,
    ),
  },
];
