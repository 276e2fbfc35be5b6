// Texts modelled on public issues: audit logs, access logs, caches and proxies. Formats, versions and
// messages are real; names, addresses and numbers are invented. A third of them have no cause that the
// doctor may name.

import { type DoctorCase, repeat, two } from "./case.ts";

/** An event of an audit log as the API server writes it. */
export function auditLine(event: {
  readonly user: string;
  readonly address: string;
  readonly resource: string;
  readonly name: string;
  readonly second: number;
  /** Of the stored object after the write; absent at level Metadata. */
  readonly version?: string;
  readonly sentVersion?: string;
  readonly api?: string;
  readonly namespace?: string;
}): string {
  const { user, address, resource, name, second, version, sentVersion, api = "v1" } = event;
  const at = new Date(Date.UTC(2024, 4, 31, 10, 0, second)).toISOString();
  const object = (resourceVersion: string) => ({ metadata: { name, resourceVersion } });
  return JSON.stringify({
    kind: "Event",
    apiVersion: `audit.k8s.io/${api}`,
    level: version === undefined ? "Metadata" : "RequestResponse",
    stage: "ResponseComplete",
    verb: "update",
    user: { username: user },
    sourceIPs: [address],
    objectRef: { resource, namespace: event.namespace ?? "shop", name },
    responseStatus: { code: 200 },
    ...(version !== undefined && { responseObject: object(version) }),
    ...(sentVersion !== undefined && { requestObject: object(sentVersion) }),
    requestReceivedTimestamp: at,
    stageTimestamp: at,
  });
}

const refused = (at: string, upstream: string): string =>
  `${at} [error] 2251#2251: *34997 connect() failed (111: Connection refused) while connecting to upstream, client: 10.9.0.1, server: shop.example, request: "GET /a HTTP/1.1", upstream: "http://${upstream}/a", host: "shop.example"`;

export const strangerCases: readonly DoctorCase[] = [
  {
    name: "endpoints that stay out of sync behind a stale cache, 1.30",
    first: "stale-cache",
    text: repeat(
      7,
      (index) =>
        `I0807 14:01:5${index}.613700       2 endpoints_controller.go:348] "Error syncing endpoints, retrying" ` +
        'service="team-a/orders" err="endpoints informer cache is out of date, resource version 9001 already processed for endpoints team-a/orders"',
    ),
  },
  {
    name: "slices behind a stale cache, 1.21",
    first: "stale-cache",
    text: repeat(
      6,
      (index) =>
        `W0303 22:29:4${index}.517999       1 endpointslice_controller.go:306] Error syncing endpoint slices for ` +
        'service "default/web", retrying. Error: EndpointSlice informer cache is out of date',
    ),
  },
  {
    name: "a reflector that asks a server that is behind, 1.18",
    first: "stale-cache",
    text: repeat(
      5,
      (index) =>
        `E0828 13:0${index}:17.404984       6 reflector.go:178] k8s.io/client-go/informers/factory.go:135: Failed to list ` +
        "*v1.Endpoints: Timeout: Too large resource version: 88750, current: 88001",
    ),
  },
  {
    name: "a cache that is behind once is normal",
    first: undefined,
    text:
      'I0825 02:42:06.459299      13 endpointslice_controller.go:344] "Error syncing endpoint slices for service, retrying" ' +
      'logger="endpointslice-controller" key="a/b" err="EndpointSlice informer cache is out of date"',
  },
  {
    name: "a busy service whose writes are each retried once, 1.33",
    first: undefined,
    text: repeat(
      24,
      (index) =>
        `I0807 14:${two(index)}:51.613700       2 endpoints_controller.go:348] "Error syncing endpoints, retrying" ` +
        `logger="endpoints-controller" service="default/shop" err="endpoints informer cache is out of date, resource version ${900 + index} already processed for endpoints default/shop"`,
    ),
  },
  {
    name: "a cache that catches up within milliseconds after a burst of writes, 1.33",
    first: undefined,
    text: repeat(
      7,
      (index) =>
        `I0807 14:01:51.61${index}700       2 endpointslice_controller.go:344] "Error syncing endpoint slices for service, retrying" ` +
        'logger="endpointslice-controller" key="default/shop" err="EndpointSlice informer cache is out of date"',
    ),
  },
  {
    name: "conflicts of the slice controller after a rollout",
    first: undefined,
    text: `Events:
  Type     Reason                        Age   From                       Message
  ----     ------                        ----  ----                       -------
  Warning  FailedToUpdateEndpointSlices  35m (x9 over 40m)  endpoint-slice-controller  Error updating Endpoint Slices for Service pay/api: Error updating api-h7q6v EndpointSlice for Service pay/api: Operation cannot be fulfilled on endpointslices.discovery.k8s.io "api-h7q6v": the object has been modified; please apply your changes to the latest version and try again`,
  },
  {
    name: "nginx that keeps an address which no pod has, 1.4 with tables",
    first: "stale-proxy",
    text: `${refused("2017/05/25 22:40:47", "10.2.1.25:5000")}
${refused("2017/05/25 22:45:12", "10.2.1.25:5000")}
${refused("2017/05/25 22:50:47", "10.2.1.25:5000")}

$ kubectl get pods -o wide
NAME                            READY   STATUS    RESTARTS   AGE   IP          NODE
backend-3107245711-hmfab        1/1     Running   0          9m    10.2.3.14   n2

$ kubectl get ep backend
NAME      ENDPOINTS        AGE
backend   10.2.3.14:5000   117d`,
  },
  {
    name: "502s to a pod that exists and is listed: it refuses, and no hop is late",
    not: ["stale-proxy"],
    version: "1.6",
    first: undefined,
    text: `${refused("2017/05/25 22:40:47", "10.2.3.14:5000")}
${refused("2017/05/25 22:50:47", "10.2.3.14:5000")}
NAME                            READY   STATUS    RESTARTS   AGE   IP          NODE
backend-3107245711-hmfab        1/1     Running   0          9m    10.2.3.14   n2

NAME      ENDPOINTS        AGE
backend   10.2.3.14:5000   117d`,
  },
  {
    name: "502s in the seconds in which a pod ends, with its times",
    version: "1.19",
    first: "termination-race",
    text: `10.9.0.1 - - [08/Jul/2021:19:44:28 +0000] "POST /api/v1/create HTTP/1.1" 502 150 "-" "curl/7.1" 512 0.001 [prod-api-8080] [] 10.53.24.125:8080 0 0.001 502 b1946ac92492d2347c6235b4d2611184
10.9.0.1 - - [08/Jul/2021:19:44:30 +0000] "POST /api/v1/create HTTP/1.1" 502 150 "-" "curl/7.1" 512 0.001 [prod-api-8080] [] 10.53.24.125:8080 0 0.001 502 b1946ac92492d2347c6235b4d2611184
apiVersion: v1
kind: Pod
metadata:
  name: api-7d9f-abcde
  namespace: prod
  deletionTimestamp: "2021-07-08T19:44:56Z"
  deletionGracePeriodSeconds: 30
spec:
  terminationGracePeriodSeconds: 30
  containers:
  - name: api
status:
  podIP: 10.53.24.125`,
  },
  {
    name: "502s to a pod that began to end hours before are no race",
    not: ["termination-race"],
    version: "1.20",
    first: "dead-endpoints",
    text: `${refused("2021/07/08 23:10:00", "10.53.24.125:8080")}
${refused("2021/07/08 23:10:09", "10.53.24.125:8080")}
apiVersion: v1
kind: Pod
metadata:
  name: api-7d9f-abcde
  namespace: prod
  deletionTimestamp: "2021-07-08T19:44:56Z"
  deletionGracePeriodSeconds: 30
status:
  podIP: 10.53.24.125`,
  },
  {
    name: "Envoy that cannot connect, with the pod that ends",
    version: "1.21",
    first: "termination-race",
    text: `[2021-11-24T01:39:44.484Z] "GET /cart HTTP/1.1" 503 UF 0 91 55 - "10.0.0.9" "curl/7.1" "ce3e0e1c-d2e5-4587-b65a-29d2f3f02207" "shop.example" "172.29.211.100:8007"
[2021-11-24T01:39:45.484Z] "GET /cart HTTP/1.1" 503 UF,URX 0 91 57 - "10.0.0.9" "curl/7.1" "ce3e0e1c-d2e5-4587-b65a-29d2f3f02208" "shop.example" "172.29.211.100:8007"
{
  "apiVersion": "v1", "kind": "Pod",
  "metadata": { "name": "cart-0", "namespace": "shop", "deletionTimestamp": "2021-11-24T01:40:13Z", "deletionGracePeriodSeconds": 30 },
  "status": { "podIP": "172.29.211.100" }
}`,
  },
  {
    name: "an application that answers with 502 itself",
    first: undefined,
    text: repeat(
      6,
      (index) =>
        `2024/03/01 10:00:0${index} [error] 31#31: *77 upstream prematurely closed connection while reading response header from upstream, client: 10.0.0.1, server: a.example, request: "GET /report HTTP/1.1", upstream: "http://10.1.0.${index}:80/report", host: "a.example"`,
    ),
  },
  {
    name: "Envoy whose upstream closes idle connections",
    first: undefined,
    text: repeat(
      5,
      (index) =>
        `[2024-05-24T10:00:0${index}.000Z] "POST /login HTTP/1.1" 503 UC 379 95 2704 - "12.12.24.13" "Mozilla/5.0" "ce3e0e1c-d2e5-4587-b65a-29d2f3f02207" "example.com" "11.11.4.94:3000"`,
    ),
  },
  {
    name: "an operator that updates without a change, by the audit log",
    version: "1.29",
    first: "no-op-writes",
    text: repeat(260, (index) =>
      auditLine({
        user: "system:serviceaccount:monitoring:collector-operator",
        address: "10.0.4.7",
        resource: "configmaps",
        name: `collector-${index % 3}`,
        second: index * 5,
        version: "777",
        sentVersion: "777",
      }),
    ),
  },
  {
    name: "an operator whose updates change the object",
    not: ["no-op-writes"],
    version: "1.29",
    first: undefined,
    text: repeat(260, (index) =>
      auditLine({
        user: "system:serviceaccount:monitoring:collector-operator",
        address: "10.0.4.7",
        resource: "configmaps",
        name: `collector-${index % 3}`,
        second: index * 5,
        version: String(1_000 + index),
        sentVersion: String(999 + index),
      }),
    ),
  },
  {
    name: "updates at audit level Metadata say nothing about their content",
    first: undefined,
    text: repeat(260, (index) =>
      auditLine({
        user: "system:serviceaccount:vm:operator",
        address: "10.0.4.7",
        resource: "secrets",
        name: "config",
        second: index * 5,
      }),
    ),
  },
  {
    name: "a pod that runs and listens on loopback only refuses connections",
    first: undefined,
    text: `${repeat(
      3,
      (index) =>
        `2021/07/08 19:44:2${index} [error] 43#43: *${index} connect() failed (111: Connection refused) while connecting to upstream, client: 10.1.2.3, server: a.example, request: "GET / HTTP/1.1", upstream: "http://10.53.24.9:8080/", host: "a.example"`,
    )}
NAME                   READY   STATUS    RESTARTS   AGE   IP
app-66d5c7b5d8-abcde   1/1     Running   0          3h    10.53.24.9`,
  },
  {
    name: "a kubelet of a machine that is no node",
    version: "1.19",
    first: "stray-machine",
    text: `${repeat(5, (index) =>
      auditLine({
        user: "system:node:worker-7-old",
        address: "10.9.0.7",
        resource: "leases",
        namespace: "kube-node-lease",
        name: "worker-7-old",
        second: index * 10,
      }),
    )}
$ kubectl get nodes
NAME       STATUS   ROLES    AGE    VERSION
master-1   Ready    master   300d   v1.19.8
worker-6   Ready    <none>   300d   v1.19.8`,
  },
  {
    name: "kubelets of nodes that exist",
    not: ["stray-machine"],
    version: "1.19",
    first: undefined,
    text: `${repeat(5, (index) =>
      auditLine({
        user: "system:node:worker-6",
        address: "10.9.0.6",
        resource: "leases",
        namespace: "kube-node-lease",
        name: "worker-6",
        second: index * 10,
      }),
    )}
NAME       STATUS   ROLES    AGE    VERSION
master-1   Ready    master   300d   v1.19.8
worker-6   Ready    <none>   300d   v1.19.8`,
  },
  {
    name: "API servers that fight, by the audit log",
    version: "1.14",
    first: "apiserver-fight",
    text: repeat(6, (index) =>
      JSON.stringify({
        kind: "Event",
        apiVersion: "audit.k8s.io/v1",
        level: "RequestResponse",
        stage: "ResponseComplete",
        verb: "update",
        user: { username: "system:apiserver" },
        sourceIPs: ["::1"],
        objectRef: { resource: "endpoints", namespace: "default", name: "kubernetes" },
        requestObject: { subsets: [{ addresses: [{ ip: `10.0.1.${1 + (index % 2)}` }] }] },
        stageTimestamp: `2019-05-11T12:16:${two(index * 9)}.000000Z`,
      }),
    ),
  },
  {
    name: "a wave of endpoint writes each 16 hours, at the API server",
    version: "1.15",
    first: "endpoint-backlog",
    text: ["0301 02:10", "0301 18:30", "0302 10:50"]
      .map((hour) =>
        repeat(
          250,
          (index) =>
            `I${hour}:${two(Math.floor(index / 5))}.${index % 5}00000       1 httplog.go:90] PUT /api/v1/namespaces/ns-${index % 40}/endpoints/svc-${index}: (4.1ms) 200 [kube-controller-manager/v1.15.3 10.0.0.2:45000]`,
        ),
      )
      .join("\n"),
  },
  {
    name: "a controller manager that writes all endpoints at its start",
    version: "1.33",
    first: "endpoint-backlog",
    text: `I0612 08:00:00.100000       1 endpoints_controller.go:190] "Starting endpoint controller"
${repeat(
  240,
  (index) =>
    `I0612 08:00:${two(2 + Math.floor(index / 6))}.000000       1 httplog.go:132] "HTTP" verb="PUT" URI="/api/v1/namespaces/ns-${index % 40}/endpoints/svc-${index}" latency="3.2ms" userAgent="kube-controller-manager/v1.33.1 (linux/amd64) kubernetes/8adc0f0/system:serviceaccount:kube-system:endpoint-controller" srcIP="10.0.0.2:45000" resp=200`,
)}`,
  },
  {
    name: "reloads that take a long time",
    first: "slow-reloads",
    text: repeat(
      4,
      (index) =>
        `I0115 13:0${index}:01.000000       7 controller.go:190] "Configuration changes detected, backend reload required"\n` +
        `I0115 13:0${index}:15.500000       7 controller.go:210] "Backend successfully reloaded"`,
    ),
  },
  {
    name: "reloads that are quick",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `I0115 13:0${index}:01.000000       7 controller.go:134] Configuration changes detected, backend reload required.\n` +
        `I0115 13:0${index}:01.210000       7 controller.go:150] Backend successfully reloaded.`,
    ),
  },
  {
    name: "a controller that reads each object before it writes, 1.6",
    first: "client-throttling",
    also: ["per-sync-get"],
    text: `Kubernetes version: v1.6.4
${repeat(
  12,
  (index) =>
    `I0412 22:59:${two(index)}.914517       1 request.go:638] Throttling request took 249.4${index}ms, request: GET:https://10.3.0.1:443/api/v1/namespaces/shop/endpoints/svc-${index}`,
)}`,
  },
  {
    name: "more than a thousand addresses, 1.24",
    first: "over-capacity",
    text: `apiVersion: v1
kind: Endpoints
metadata:
  name: workers
  namespace: batch
  annotations:
    endpoints.kubernetes.io/over-capacity: truncated`,
  },
  {
    name: "large lists that an API server reports as slow, 1.26",
    first: undefined,
    also: ["slow-requests"],
    text: repeat(
      5,
      (index) =>
        `I0901 10:00:0${index}.000000       1 trace.go:236] Trace[77${index}]: "List" accept:application/json,client:10.0.0.9,resource:pods,url:/api/v1/pods,verb:LIST (01-Sep-2023 10:00:00.000) (total time: 900ms):`,
    ),
  },
  {
    name: "a scan of one address that ingress-nginx of 2023 logs",
    version: "1.27",
    first: undefined,
    also: ["request-pattern"],
    text: repeat(
      1_100,
      (index) =>
        `198.51.100.77 - - [11/Jun/2023:10:${two(Math.floor(index / 60))}:${two(index % 60)} +0000] "GET /.env.${index} HTTP/2.0" 404 150 "-" "python-requests/2.31" 90 0.001 [shop-web-80] [] 10.53.24.12:8080 150 0.001 404 b1946ac9`,
    ),
  },
  {
    name: "one client that asks for pages which do not exist",
    version: "1.20",
    first: undefined,
    also: ["request-pattern"],
    text: repeat(
      1_200,
      (index) =>
        `203.0.113.9 - - [08/Jul/2021:19:${two(Math.floor(index / 60))}:${two(index % 60)} +0000] "GET /wp-login.php?${index} HTTP/1.1" 404 150 "-" "-"`,
    ),
  },
];
