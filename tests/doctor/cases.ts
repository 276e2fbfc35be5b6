// Texts as people paste them, each with the cause that has to be named first. Formats, versions and
// messages are real; names, addresses and numbers are invented. A third of them have no cause that the
// doctor may name: `info` findings are allowed there, worse ones are false alarms.

import { type DoctorCase, repeat, two } from "./case.ts";

/** One write of each of so many services, one a second, at the API server. */
const writesOfAll = (verb: string, version: string, count: number, dayAndHour = "0120 12") =>
  repeat(
    count,
    (index) =>
      `I${dayAndHour}:${two(30 + Math.floor(index / 60))}:${two(index % 60)}.100000       1 httplog.go:90] ` +
      `${verb} /api/v1/namespaces/ns-${index}/endpoints${verb === "POST" ? "" : "/svc"}: (3.1ms) 20${verb === "POST" ? 1 : 0} ` +
      `[kube-controller-manager/v${version} (linux/amd64) kubernetes/dff82dc/system:serviceaccount:kube-system:endpoint-controller 10.0.0.5:41234]`,
  );

/** The headless ones come first, so that they are the ones that are written. */
const servicesOf = (headless: number, others: number): string =>
  `{
  "apiVersion": "v1", "kind": "List", "items": [
${repeat(headless + others, (index) => `    { "kind": "Service", "metadata": { "name": "svc", "namespace": "ns-${index}" }, "spec": { "clusterIP": "${index < headless ? "None" : "10.96.0.1"}", "selector": { "app": "a" } } }${index < headless + others - 1 ? "," : ""}`)}
  ]
}`;

export const doctorCases: readonly DoctorCase[] = [
  {
    name: "a fight as journald shows it, 1.2",
    first: "apiserver-fight",
    text: repeat(
      4,
      (index) =>
        `Nov 25 13:4${index}:22 m1 master[22809]: W1125 13:4${index}:22.417999   22809 controller.go:290] ` +
        'Resetting endpoints for master service "kubernetes" to &{{ } {kubernetes  default  ' +
        "5755036e 427 0 2015-11-25 13:28:21 +0800 CST <nil> <nil> map[] map[]}",
    ),
  },
  {
    name: "a fight, wrapped by a mail program, with the flag",
    first: "apiserver-fight",
    text: `Every ten seconds:
W0327 07:30:21.792839       1 mastercount.go:135] Resetting endpoints
for master service "kubernetes" to &{{ } {kubernetes  default
/api/v1/namespaces/default/endpoints/kubernetes
W0327 07:30:31.802839       1 mastercount.go:135] Resetting endpoints
for master service "kubernetes" to &{{ } {kubernetes  default
W0327 07:30:41.812839       1 mastercount.go:135] Resetting endpoints
for master service "kubernetes" to &{{ } {kubernetes  default
    - --apiserver-count=1`,
  },
  {
    name: "a fight as kube-proxy sees it",
    first: "apiserver-fight",
    text: repeat(
      6,
      (index) =>
        `I1210 21:44:${two(index * 4)}.572592    1580 proxier.go:352] Setting endpoints for ` +
        `"default/kubernetes:https" to [10.0.1.${10 + (index % 3)}:443]`,
    ),
  },
  {
    name: "one server that starts once is no fight",
    first: undefined,
    open: ["apiserver-fight"],
    text:
      'W0327 07:30:21.792839       1 mastercount.go:135] Resetting endpoints for master service "kubernetes" ' +
      "to &{{ } {kubernetes  default }",
  },
  {
    name: "leases that change once are no fight",
    not: ["apiserver-fight"],
    version: "1.16",
    first: undefined,
    text:
      'W0801 10:00:00.000001       1 lease.go:233] Resetting endpoints for master service "kubernetes" to ' +
      "[10.1.0.1 10.1.0.2]",
  },
  {
    name: "a throttled endpoint controller, 1.9, through docker",
    first: "client-throttling",
    text: repeat(
      20,
      (index) =>
        `{"log":"I0103 11:02:${two(index)}.100000       5 request.go:480] Throttling request took ` +
        `240.${index}ms, request: PUT:https://10.254.0.1:443/api/v1/namespaces/pay/endpoints/svc-${index}\\n",` +
        '"stream":"stderr","time":"2019-01-03T11:02:00.1Z"}',
    ),
  },
  {
    name: "a throttled EndpointSlice controller, 1.29",
    not: ["per-sync-get"],
    first: "client-throttling",
    text: repeat(
      5,
      (index) =>
        `I0614 09:15:0${index}.345678       1 request.go:697] Waited for 1.19${index}s due to client-side ` +
        "throttling, not priority and fairness, request: PUT:https://10.0.0.4:6443/apis/discovery.k8s.io/v1/" +
        `namespaces/shop/endpointslices/cart-x${index}`,
    ),
  },
  {
    name: "discovery of kubectl is no cause",
    first: undefined,
    text: repeat(
      10,
      (index) =>
        `I0226 11:19:18.20${index}054   11904 request.go:591] Throttling request took 1.08${index}s, request: ` +
        `GET:https://localhost:6443/apis/group${index}.example.com/v1?timeout=32s`,
    ),
  },
  {
    name: "a monitoring agent that is throttled is no cause",
    first: undefined,
    text: repeat(
      10,
      (index) =>
        `I0512 08:06:${two(index)}.090546       1 request.go:729] Waited for 1.06${index}s due to client-side ` +
        "throttling, not priority and fairness, request: " +
        `GET:https://10.96.0.1:443/api/v1/nodes/gpu-${index}/proxy/stats/summary`,
    ),
  },
  {
    name: "a ghost in a ConfigMap lock, by a table of kubectl",
    first: "ghost-leader",
    text: `$ kubectl --namespace=edge get pods
NAME                                        READY     STATUS    RESTARTS   AGE
default-http-backend-2423214957-vldcb       1/1       Running   0          6h
nginx-ingress-controller-2701036938-7x8vm   1/1       Running   0          1m
nginx-ingress-controller-2701036938-r89d5   1/1       Running   0          1m

and the lock says:

apiVersion: v1
kind: Endpoints
metadata:
  annotations:
    control-plane.alpha.kubernetes.io/leader: '{"holderIdentity":"nginx-ingress-controller-3421871313-79znc","leaseDurationSeconds":30,"acquireTime":"2017-04-07T08:00:24Z","renewTime":"2017-04-07T09:02:35Z","leaderTransitions":0}'
  name: ingress-controller-leader-nginx
  namespace: edge
`,
  },
  {
    name: "a ghost in a Lease, with red herrings beside it",
    first: "ghost-leader",
    also: ["clock-skew"],
    text: `2021-05-12 02:11:09.112233 W | rafthttp: the clock difference against peer 8211f1d0f64f3269 is too high [4.3s > 1s] (prober "ROUND_TRIPPER_SNAPSHOT")
I0512 03:52:31.256060       6 status.go:86] new leader elected: edge-proxy-9zzzz
NAMESPACE   NAME               READY   STATUS    RESTARTS   AGE
ingress     edge-proxy-2f6nf   1/1     Running   0          41d
ingress     edge-proxy-kks2w   1/1     Running   0          41d
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: edge-leader
  namespace: ingress
spec:
  holderIdentity: edge-proxy-9zzzz
  leaseDurationSeconds: 30
  renewTime: "2021-05-12T06:28:50.000000Z"
`,
  },
  {
    name: "a leader that exists",
    first: undefined,
    text: `NAMESPACE   NAME               READY   STATUS    RESTARTS   AGE
ingress     edge-proxy-2f6nf   1/1     Running   0          41d
ingress     edge-proxy-kks2w   1/1     Running   0          41d
I0512 03:52:31.256060       6 status.go:86] new leader elected: edge-proxy-kks2w
`,
  },
  {
    name: "a lock of the controller manager, held by a machine",
    first: undefined,
    text: `apiVersion: v1
kind: Endpoints
metadata:
  annotations:
    control-plane.alpha.kubernetes.io/leader: '{"holderIdentity":"master-2_3f6cd18f-9d3e-11e9-8e2b-525400","leaseDurationSeconds":15,"renewTime":"2019-07-03T09:02:35Z","leaderTransitions":3}'
  name: kube-controller-manager
  namespace: kube-system
NAMESPACE     NAME                     READY   STATUS    RESTARTS   AGE
kube-system   coredns-5c98db65d4-abcde   1/1     Running   0          41d
`,
  },
  {
    name: "late heartbeats, 1.6, glog",
    first: "late-heartbeats",
    text: `I0919 16:05:35.383806   20248 nodecontroller.go:1007] node 10.22.3.10 hasn't been updated for 40.032883982s. Last ready condition is: {Type:Ready Status:True
I0919 16:05:35.387629   20248 controller_utils.go:320] Recording status change NodeNotReady event message for node 10.22.3.10
I0919 16:05:35.387679   20248 controller_utils.go:238] Update ready status of pods on node [10.22.3.10]`,
  },
  {
    name: "late heartbeats, 1.28, structured",
    first: "late-heartbeats",
    text: `I0405 10:10:05.100000       1 node_lifecycle_controller.go:1024] "Node hasn't been updated" node="worker-3" duration="41.2s" nodeConditionType="Ready" currentNodeCondition=<...>
I0405 10:10:05.110000       1 controller_utils.go:176] "Recording status change event message for node" status="NodeNotReady" node="worker-3"
I0405 10:15:10.100000       1 node_lifecycle_controller.go:1024] "Node hasn't been updated" node="worker-3" duration="43.0s" nodeConditionType="Ready"`,
  },
  {
    name: "a node that is down for an hour is not late",
    first: undefined,
    text: "I0919 17:05:35.383806   20248 nodecontroller.go:1007] node 10.22.3.10 hasn't been updated for 1h0m3.03s. Last ready condition is: {Type:Ready",
  },
  {
    name: "pods marked by the controller, by objects alone",
    first: "late-heartbeats",
    text: `apiVersion: v1
kind: Node
metadata:
  name: worker-1
status:
  conditions:
  - type: Ready
    status: Unknown
    reason: NodeStatusUnknown
---
apiVersion: v1
kind: Pod
metadata:
  name: api-0
  namespace: shop
status:
  conditions:
  - type: Ready
    status: "False"
  containerStatuses:
  - name: api
    ready: true
`,
  },
  {
    name: "headless services of 1.17.3",
    first: "headless-rewrites",
    text: `Server Version: version.Info{Major:"1", Minor:"17", GitVersion:"v1.17.3", GitCommit:"06ad960"}
apiVersion: v1
kind: Endpoints
metadata:
  labels:
    service.kubernetes.io/headless: ""
  name: cart
  namespace: shop
-------------
apiVersion: v1
kind: Service
metadata:
  name: cart
  namespace: shop
spec:
  clusterIP: None
  selector:
    app: cart
`,
  },
  {
    name: "the same objects of 1.22",
    not: ["headless-rewrites"],
    first: undefined,
    text: `Server Version: v1.22.4
apiVersion: v1
kind: Endpoints
metadata:
  labels:
    service.kubernetes.io/headless: ""
  name: cart
  namespace: shop
---
apiVersion: v1
kind: Service
metadata:
  name: cart
  namespace: shop
spec:
  clusterIP: None
  selector:
    app: cart
`,
  },
  {
    name: "a storm in the API server's log, which spares services with an address",
    first: "headless-rewrites",
    also: ["client-throttling", "endpoint-backlog"],
    text: `${servicesOf(400, 20)}
${writesOfAll("PUT", "1.18.6", 400)}
${repeat(
  10,
  (index) =>
    `I0120 12:31:0${index}.100000       1 request.go:621] Throttling request took 248ms, request: ` +
    `PUT:https://10.0.0.1:6443/api/v1/namespaces/ns-${index}/endpoints/svc`,
)}`,
  },
  {
    name: "a storm at each resync, 1.17",
    first: "headless-rewrites",
    also: ["endpoint-backlog"],
    text: `${writesOfAll("PUT", "1.17.3", 300, "0120 01")}\n${writesOfAll("PUT", "1.17.3", 300, "0120 17")}`,
  },
  {
    name: "writes once each of an affected version, by nothing else",
    first: "endpoint-backlog",
    text: writesOfAll("PUT", "1.17.3", 300),
  },
  {
    name: "services that are created at once, 1.17",
    first: "endpoint-backlog",
    not: ["headless-rewrites"],
    text: writesOfAll("POST", "1.17.3", 300),
  },
  {
    name: "nodes that are lost, 1.18, where headless services have the bug, too",
    first: "endpoint-backlog",
    not: ["headless-rewrites"],
    text: `${repeat(
      2,
      (index) =>
        `I0120 12:29:5${index}.100000       1 controller_utils.go:122] Recording status change NodeNotReady event message for node w-${index}`,
    )}
${writesOfAll("PUT", "1.18.6", 300)}`,
  },
  {
    name: "writes of services with an address, 1.19",
    first: "endpoint-backlog",
    not: ["headless-rewrites"],
    text: `${servicesOf(5, 300)}\n${writesOfAll("PUT", "1.19.1", 300)}`,
  },
  {
    name: "a missing permission",
    first: "missing-permission",
    text: `E0414 04:40:47.679821       1 reflector.go:138] k8s.io/client-go@v0.20.2/tools/cache/reflector.go:167: Failed to watch *v1.Ingress: failed to list *v1.Ingress: ingresses.networking.k8s.io is forbidden: User "system:serviceaccount:edge:proxy" cannot list resource "ingresses" in API group "networking.k8s.io" at the cluster scope`,
  },
  {
    name: "slow etcd, capnslog, with a fight of the leader lock",
    first: "etcd-slow",
    also: ["leader-changes"],
    text: `${repeat(6, (index) => `2019-05-11 12:16:4${index}.055669 W | etcdserver: read-only range request "key:\\"/registry/leases\\" " with result "range_response_count:0 size:6" took too long (1.${index}34s) to execute`)}
${repeat(3, (index) => `E0511 12:17:0${index}.1       1 leaderelection.go:331] error retrieving resource lock kube-system/kube-controller-manager: etcdserver: request timed out`)}`,
  },
  {
    name: "slow etcd, zap",
    first: "etcd-slow",
    text: repeat(
      6,
      (index) =>
        `{"level":"warn","ts":"2023-02-11T08:00:0${index}.123Z","caller":"etcdserver/util.go:166","msg":"apply request took too long","took":"1.2${index}s","expected-duration":"100ms"}`,
    ),
  },
  {
    name: "an API server that cannot be reached",
    first: "api-unreachable",
    text: repeat(
      5,
      (index) =>
        `E0414 04:40:4${index}.679821       1 reflector.go:138] pkg/mod/k8s.io/client-go@v0.20.2/tools/cache/reflector.go:167: ` +
        'Failed to watch *v1.Service: failed to list *v1.Service: Get "https://10.96.0.1:443/api/v1/services?resourceVersion=12": dial tcp 10.96.0.1:443: connect: connection refused',
    ),
  },
  {
    name: "watches that break",
    first: "broken-watches",
    text: repeat(
      12,
      (index) =>
        `W1130 04:${two(index)}:22.844292       1 reflector.go:347] k8s.io/client-go@v0.26.3/tools/cache/reflector.go:169: watch of *v1.Service ended with: an error on the server ("unable to decode an event from the watch stream: http2: client connection lost") has prevented the request from succeeding`,
    ),
  },
  {
    name: "watches that end as they should",
    first: undefined,
    text: repeat(
      12,
      (index) =>
        `W1130 04:09:22.8442${two(index)}       1 reflector.go:270] k8s.io/client-go/informers/factory.go:133: watch of *v1.ConfigMap ended with: too old resource version: 1${index} (2${index})`,
    ),
  },
  {
    name: "a proxy that uses a pod that is gone",
    first: "dead-endpoints",
    text: repeat(
      4,
      (index) =>
        `2021/07/08 19:44:2${index} [error] 43#43: *51${index} connect() failed (111: Connection refused) while connecting to upstream, client: 10.0.0.9, server: a.example, request: "POST /api HTTP/1.1", upstream: "http://10.53.24.125:8080/api", host: "a.example"`,
    ),
  },
  {
    name: "a service without endpoints",
    first: "no-endpoints",
    text: 'W1003 14:27:48.637661       6 controller.go:804] Service "shop/cart" does not have any active Endpoint.',
  },
  {
    name: "readiness probes that fail",
    first: "failing-probes",
    text: repeat(
      5,
      (index) =>
        `I0405 10:10:0${index}.1    2201 prober.go:107] "Probe failed" probeType="Readiness" pod="shop/web-${index}" output="Readiness probe failed: HTTP probe failed with statuscode: 500"
Warning  Unhealthy  2m   kubelet  Readiness probe failed: HTTP probe failed with statuscode: 500`,
    ),
  },
  {
    name: "an ordinary start of a controller manager",
    first: undefined,
    text: `I0329 02:40:29.572774       1 endpoints_controller.go:166] Starting endpoint controller
I0329 02:40:29.572797       1 controller_utils.go:1027] Waiting for caches to sync for endpoint controller
I0329 02:40:40.379069       1 controller_utils.go:1034] Caches are synced for endpoint controller
I0329 02:40:40.479069       1 leaderelection.go:252] successfully acquired lease kube-system/kube-controller-manager`,
  },
  {
    name: "a question in prose that mentions the messages",
    first: undefined,
    text: `Has anyone seen "Resetting endpoints for master service" in the API server's log? We also read about
"Throttling request took" and nodes that were not updated for 40s, but our logs have none of it.
Kubernetes version: 1.21`,
  },
  {
    name: "an empty text",
    first: undefined,
    text: "",
  },
];
