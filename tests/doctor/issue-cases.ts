// Texts in the forms in which people paste them into issues: joined, cut and escaped lines, tables and
// descriptions of kubectl, pages of a browser. Formats, versions and messages are real; names, addresses
// and numbers are invented. Half of them look like a cause and have none.

import { type DoctorCase, repeat, two } from "./case.ts";
import { auditLine } from "./stranger-cases.ts";

export const issueCases: readonly DoctorCase[] = [
  // ---- etcd ----
  {
    name: "entries that etcd 3.0 applies slowly, without any range request",
    first: "etcd-slow",
    text: repeat(
      6,
      (index) =>
        `2017-02-11 09:14:2${index}.100 W | etcdserver: apply entries took too long [4${index}7.2ms for ${index + 1} entries]\n` +
        `2017-02-11 09:14:2${index}.101 W | etcdserver: avoid queries with large range/delete range!`,
    ),
  },
  {
    name: "an etcd 3.3 whose leader sends heartbeats late, in notes without a header",
    first: "etcd-slow",
    text: `on the second master I see
    etcdserver: failed to send out heartbeat on time (exceeded the 250ms timeout for 1.884s, to 7aa1f9cc0012ab34)
    etcdserver: server is likely overloaded
and nothing else.`,
  },
  {
    name: "an etcd 3.5 whose lines a terminal has cut",
    first: "etcd-slow",
    text: `2024-05-02T07:00:11.9+02:00 stderr F {"level":"warn","ts":"2024-05-02T05:00:11.9Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"2.113s","expected-duration":"100ms","prefix":"","request":"header:<ID:77 username:\\"etcd\\" auth_rev`,
  },
  {
    name: "an etcd that changes its leader every few minutes, 3.4",
    first: "etcd-slow",
    text: repeat(
      4,
      (
        index,
      ) => `2022-03-03 11:${two(index * 7)}:05.100 I | raft: raft.node: 51aa0c lost leader 9bd2e7 at term ${880 + index}
2022-03-03 11:${two(index * 7)}:05.900 I | raft: raft.node: 51aa0c elected leader 77c0d1 at term ${880 + index}`,
    ),
  },
  {
    name: "an etcd member that is restarted once, as many clients report it",
    first: undefined,
    text: repeat(
      9,
      (index) =>
        `E0402 10:11:12.${100 + index}       1 status.go:71] apiserver received an error that is not an metav1.Status: rpctypes.EtcdError{code:0xe, desc:"etcdserver: leader changed"}`,
    ),
  },
  {
    name: "one slow request of etcd that is too little to tell",
    first: undefined,
    open: ["etcd-slow"],
    text: `2019-08-08 20:01:02.500 W | etcdserver: read-only range request "key:\\"/registry/pods/\\" " with result "range_response_count:40 size:99" took too long (412.7ms) to execute`,
  },
  {
    name: "small late heartbeats of an etcd on a laptop",
    first: undefined,
    text: repeat(
      3,
      (index) =>
        `2018-01-0${index + 1} 08:00:00.100 W | etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout for 12.7${index}ms)`,
    ),
  },

  // ---- leader locks ----
  {
    name: "a controller manager of 1.5 that loses its lock, with the time of Rancher's page glued to it",
    first: "leader-changes",
    text: `3/9/2017 4:40:02 PMI0309 16:40:02.100001       1 leaderelection.go:247] lock is held by c0ffee112233 and has not yet expired
3/9/2017 4:40:04 PMI0309 16:40:04.100002       1 leaderelection.go:207] failed to renew lease kube-system/kube-controller-manager
3/9/2017 4:40:04 PMF0309 16:40:04.100003       1 controllermanager.go:216] leaderelection lost`,
  },
  {
    name: "a scheduler of 1.14 that gives its lock up, and another one of 1.31 in zap",
    first: "leader-changes",
    text: `E0611 02:00:59.000100       1 leaderelection.go:306] error retrieving resource lock kube-system/kube-scheduler: Get https://127.0.0.1:6443/api/v1/namespaces/kube-system/endpoints/kube-scheduler?timeout=10s: context deadline exceeded
I0611 02:01:02.000100       1 leaderelection.go:263] failed to renew lease kube-system/kube-scheduler: failed to tryAcquireOrRenew context deadline exceeded
E0611 02:01:02.000200       1 server.go:252] lost master
lost lease
{"level":"error","ts":"2025-06-11T02:01:05Z","logger":"setup","msg":"problem running manager","error":"leader election lost"}`,
  },
  {
    name: "one renewal that etcd did not answer in time",
    first: undefined,
    open: ["leader-changes"],
    text: "E0301 04:05:06.700000       1 leaderelection.go:341] Failed to update lock: etcdserver: request timed out",
  },
  {
    name: "a described Lease whose holder is not among the pods of today",
    version: "1.22",
    first: "ghost-leader",
    text: `$ kubectl -n edge describe lease router-leader
Name:         router-leader
Namespace:    edge
API Version:  coordination.k8s.io/v1
Kind:         Lease
Spec:
  Acquire Time:            2024-02-01T08:00:00.000000Z
  Holder Identity:         router-7c5d8f9b44-old11
  Lease Duration Seconds:  15
  Renew Time:              2024-02-20T10:31:07.120000Z
Events:                    <none>

$ kubectl -n edge get pods
NAME                      READY   STATUS    RESTARTS   AGE
router-5f6bd7c9c8-aaaa1   1/1     Running   0          4d
router-5f6bd7c9c8-bbbb2   1/1     Running   0          4d`,
  },
  {
    name: "a described Lease whose holder is among the pods",
    not: ["ghost-leader"],
    version: "1.22",
    first: undefined,
    text: `Name:         router-leader
Namespace:    edge
Spec:
  Holder Identity:         router-5f6bd7c9c8-aaaa1
  Renew Time:              2024-02-20T10:31:07.120000Z

$ kubectl -n edge get pods
NAME                      READY   STATUS    RESTARTS   AGE
router-5f6bd7c9c8-aaaa1   1/1     Running   0          4d`,
  },

  // ---- API server ----
  {
    name: "a controller that a page shows with links, without an answer twice",
    first: "api-unreachable",
    text: repeat(
      2,
      (
        index,
      ) => `2023-07-01 05:4${index}:21.632 [ERROR][1] client.go 290: Error getting cluster information error=Get "
[https://10.43.0.1:443/apis/crd.example/v1/clusterinformations/default":](https://10.43.0.1/apis/crd.example/v1/clusterinformations/default%22:)
dial tcp 10.43.0.1:443: i/o timeout`,
    ),
  },
  {
    name: "a kubelet of 1.13 whose lines journalctl has cut",
    first: "api-unreachable",
    text: repeat(
      4,
      () =>
        '380] Error updating node status, will retry: error getting node "rack-7": Get https://api.lab.example:6443/api/v1/nodes/rack-7?timeout=10s: dial tcp 172.22.0.9:6443: co>',
    ),
  },
  {
    name: "an API server of 1.9 that refuses two requests",
    not: ["api-overloaded"],
    first: undefined,
    open: ["api-overloaded"],
    text: `> I0501 12:00:00.100000      11 wrap.go:42] GET /api/v1/endpoints?limit=500&resourceVersion=0: (410.1µs) 429 [[kube-proxy/v1.9.6 (linux/amd64) kubernetes/9f8ebd1] 10.7.7.7:40100]
> I0501 12:00:00.200000      11 wrap.go:42] GET /api/v1/services?limit=500&resourceVersion=0: (398.0µs) 429 [[kube-proxy/v1.9.6 (linux/amd64) kubernetes/9f8ebd1] 10.7.7.7:40100]`,
  },
  {
    name: "an API server of an extension that does not answer, 1.21",
    first: undefined,
    text: repeat(
      5,
      (index) =>
        `E0707 07:07:0${index}.100000       1 available_controller.go:508] v1beta1.metrics.k8s.io failed with: failing or missing response from https://10.99.3.4:443/apis/metrics.k8s.io/v1beta1: Get "https://10.99.3.4:443/apis/metrics.k8s.io/v1beta1": dial tcp 10.99.3.4:443: i/o timeout`,
    ),
  },
  {
    name: "kubelets whose node authorizer waits for pods, 1.19",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `E0808 08:08:0${index}.100000    1200 reflector.go:127] object-"shop"/"web-tls": Failed to watch *v1.Secret: failed to list *v1.Secret: secrets "web-tls" is forbidden: User "system:node:n-4" cannot list resource "secrets" in API group "" in the namespace "shop": no relationship found between node "n-4" and this object`,
    ),
  },
  {
    name: "a permission that an ingress controller of 1.28 lacks, as a page shows it",
    first: "missing-permission",
    text: "E0909 09:09:09.100000       7 reflector.go:148] k8s.io/client-go/tools/cache/reflector.go:231: Failed to watch *v1.EndpointSlice: failed to list *v1.EndpointSlice: endpointslices.discovery.k8s.io is forbidden: User &quot;system:serviceaccount:edge:router&quot; cannot list resource &quot;endpointslices&quot; in API group &quot;discovery.k8s.io&quot; at the cluster scope",
  },
  {
    name: "a permission of 1.19 that keeps the status of Ingresses from being written",
    first: "missing-permission",
    also: ["empty-ingress-status"],
    text: repeat(
      2,
      (index) =>
        `W0404 04:0${index}:04.100000       7 status.go:364] error updating ingress rule: ingresses.networking.k8s.io "web" is forbidden: User “system:serviceaccount:edge:haproxy” cannot update resource “ingresses/status” in API group “networking.k8s.io” in the namespace “shop”`,
    ),
  },
  {
    name: "conflicts of the writer of a status, Traefik 3",
    first: undefined,
    text: repeat(
      6,
      (index) =>
        `2025-01-02T03:04:0${index}Z ERR Error while updating ingress status error="failed to update ingress status obs/board: Operation cannot be fulfilled on ingresses.networking.k8s.io \\"board\\": the object has been modified; please apply your changes to the latest version and try again" ingress=board namespace=obs`,
    ),
  },
  {
    name: "expired certificates in one joined line, 1.19",
    not: ["clock-skew"],
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `E0606 06:06:0${index}.100000 1 authentication.go:53] Unable to authenticate the request due to an error: x509: certificate has expired or is not yet valid: current time 2023-06-06T06:06:06Z is after 2023-06-05T00:00:00Z`,
    ).replaceAll("\n", " "),
  },

  // ---- nodes ----
  {
    name: "a node that becomes Unknown and returns, 1.5",
    first: "late-heartbeats",
    text: repeat(
      3,
      (index) =>
        `I0702 0${index}:36:43.500000       1 nodecontroller.go:704] ReadyCondition for Node pool-b-3 transitioned from Unknown to &{Ready True 2017-07-02 0${index}:36:39 +0000 UTC 2017-07-02 0${index}:36:39 +0000 UTC KubeletReady kubelet is posting ready status}`,
    ),
  },
  {
    name: "a heartbeat that got no answer once, 1.27",
    first: undefined,
    open: ["late-heartbeats"],
    text: '`Jun 11 05:16:34 n-2 kubelet[2336]: E0611 05:16:34.251643    2336 kubelet_node_status.go:567] "Error updating node status, will retry" err="error getting node \\"n-2\\": Get \\"https://api.example:6443/api/v1/nodes/n-2?timeout=10s\\": net/http: request canceled (Client.Timeout exceeded while awaiting headers)"`',
  },
  {
    name: "a kubelet of 1.10 that starts and has never listed its containers",
    first: undefined,
    text: `I0301 13:07:12.269742   32911 kubelet.go:1782] Starting kubelet main sync loop.
I0301 13:07:12.269821   32911 kubelet.go:1799] skipping pod synchronization - [container runtime is down PLEG is not healthy: pleg was last seen active 2562047h47m16.854775807s ago; threshold is 3m0s]
I0301 13:07:12.370298   32911 kubelet.go:1799] skipping pod synchronization - [container runtime is down]`,
  },
  {
    name: "a runtime that hangs for hours, 1.23 through syslog without a number",
    first: "late-heartbeats",
    text: 'May  4 10:53:52 ip-10-1-2-3 kubelet: E0504 10:53:52.844381    3263 kubelet.go:2055] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 1h12m9.7s ago; threshold is 3m0s"',
  },

  // ---- caches and endpoints ----
  {
    name: "Endpoints that a controller of 1.29 retries from one version, the last line cut",
    first: "stale-cache",
    text: `${repeat(
      4,
      (index) =>
        `I0615 16:20:00.${200 + index * 20}       1 endpoints_controller.go:348] "Error syncing endpoints, retrying" service="pay/cart" err="endpoints informer cache is out of date, resource version 5512340 already processed for endpoints pay/cart"`,
    )}
I0615 16:20:00.900       1 endpoints_controller.go:348] "Error syncing endpoints, retrying" service="pay/cart" err="endpoints informer cache is out of date, resource ver`,
  },
  {
    name: "a throttled endpoint controller of 1.16, joined into one line by a page",
    not: ["per-sync-get"],
    first: "client-throttling",
    text: repeat(
      4,
      (index) =>
        `I0707 10:00:0${index}.100000 1 request.go:538] Throttling request took 1.${index}44s, request: PUT:https://10.0.0.1:6443/api/v1/namespaces/shop/endpoints/svc-${index}`,
    ).replaceAll("\n", "\\n"),
  },
  {
    name: "a Service that no pod matches, both as kubectl describes them, 1.8",
    first: "selector-mismatch",
    text: `$ kubectl describe svc queue -n work
Name:              queue
Namespace:         work
Labels:            app=queue
Selector:          app=queue,release=blue
Type:              ClusterIP
IP:                10.3.0.77
Port:              amqp  5672/TCP
Endpoints:         <none>
Session Affinity:  None

$ kubectl describe pod queue-0 -n work
Name:           queue-0
Namespace:      work
Node:           n-1/10.9.9.9
Start Time:     Mon, 05 Feb 2018 10:00:00 +0000
Labels:         app=queue
                release=green
Status:         Running
IP:             10.2.8.9`,
  },
  {
    name: "a Service and a pod that fit, as kubectl describes them, 1.2",
    first: undefined,
    text: `Name:       flow
Namespace:  work
Labels:     heritage=x
Selector:   name=flow
IP:         10.3.0.124
Endpoints:
Session Affinity: None

Name:        flow-3y127
Namespace:   work
Node:        172.17.8.100/172.17.8.100
Labels:      name=flow
Status:      Running
IP:          10.2.80.219`,
  },
  {
    name: "a target port that is not the one of the container, and refuses",
    first: "selector-mismatch",
    text: `2023/02/03 04:05:06 [error] 30#30: *7 connect() failed (111: Connection refused) while connecting to upstream, client: 10.1.1.1, server: api.example, request: "GET / HTTP/1.1", upstream: "http://10.42.0.8:80/", host: "api.example"

apiVersion: v1
kind: Service
metadata:
  name: api
spec:
  selector:
    app: api
  ports:
  - port: 80
    targetPort: 80
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
spec:
  template:
    metadata:
      labels:
        app: api
    spec:
      containers:
      - name: api
        ports:
        - containerPort: 3000`,
  },
  {
    name: "a target port that is not listed, and nothing refuses",
    first: undefined,
    text: `apiVersion: v1
kind: Service
metadata: { name: api }
spec: { selector: { app: api }, ports: [{ port: 80, targetPort: 8081 }] }
---
apiVersion: v1
kind: Pod
metadata: { name: api-0, labels: { app: api } }
spec: { containers: [{ name: api, ports: [{ containerPort: 8080 }] }] }`,
  },

  // ---- probes and crashes ----
  {
    name: "readiness that fails again and again, as the table of 1.6 counts it",
    first: "failing-probes",
    text: `  FirstSeen  LastSeen  Count  From                SubObjectPath           Type     Reason     Message
  ---------  --------  -----  ----                -------------           ----     ------     -------
  5h         8s        611    {kubelet node-4}    spec.containers{web}    Warning  Unhealthy  Readiness probe failed: Get http://10.2.2.2:8080/ready: net/http: request canceled (Client.Timeout exceeded while awaiting headers)`,
  },
  {
    name: "readiness that failed at the start of the pod only, 1.22",
    not: ["failing-probes"],
    first: undefined,
    text: "  Warning  Unhealthy  3h12m (x7 over 3h12m)  kubelet  Readiness probe failed: HTTP probe failed with statuscode: 503",
  },
  {
    name: "containers that the kernel kills, so that their probes fail",
    first: undefined,
    text: `    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
Events:
  Warning  Unhealthy  2m (x19 over 40m)   kubelet  Readiness probe failed: Get "http://10.2.2.2:8080/ready": dial tcp 10.2.2.2:8080: connect: connection refused
  Warning  BackOff    15s (x120 over 40m) kubelet  Back-off restarting failed container`,
  },

  // ---- proxies ----
  {
    name: "an access log of Envoy in JSON whose upstream does not accept connections, 1.21",
    first: "dead-endpoints",
    text: '{"duration":475,"response_flags":"UF","method":"GET","path":"/cart","upstream":{"duration":null,"service":"cart","host":"10.60.0.2:8000"},"response_code_details":"upstream_reset_before_response_started{connection_failure}","response_code":503,"start_time":"2023-03-11T09:58:37.960+0000"}',
  },
  {
    name: "an access log of Istio 1.4, without the reason",
    first: "dead-endpoints",
    text: '[2020-02-02T02:02:02.100Z] "GET /cart HTTP/1.1" 503 UF "-" "-" 0 91 3 - "10.4.4.4" "curl/7.64" "a-b-c" "cart.shop:8080" "10.60.1.9:8080" outbound|8080||cart.shop.svc.cluster.local - 10.7.0.1:8080 10.4.4.4:40000 -',
  },
  {
    name: "Traefik 3 that cannot connect",
    first: "dead-endpoints",
    text: '2024-09-09T09:09:09Z DBG github.com/traefik/traefik/v3/pkg/server/service/proxy.go:100 > 502 Bad Gateway error="dial tcp 10.42.3.7:8080: connect: connection refused"',
  },
  {
    name: "ingress-nginx of 0.9 that has no endpoint for a service",
    first: "no-endpoints",
    text: 'connect() failed (111: Connection refused) while connecting to upstream, client: 10.3.3.3, server: a.example, request: "GET / HTTP/1.1", upstream: "http://127.0.0.1:8181/", host: "a.example"',
  },
  {
    name: "nginx whose PHP on the same machine does not run",
    first: undefined,
    text: repeat(
      3,
      (index) =>
        `2021/05/05 05:05:0${index} [error] 9#9: *1 connect() failed (111: Connection refused) while connecting to upstream, client: 10.3.3.3, server: _, request: "GET /index.php HTTP/1.1", upstream: "fastcgi://127.0.0.1:9000", host: "a.example"`,
    ),
  },
  {
    name: "several Ingresses without an address, as kubectl lists them",
    first: "empty-ingress-status",
    text: `NAMESPACE   NAME    CLASS   HOSTS         ADDRESS   PORTS     AGE
shop        web     nginx   a.example               80, 443   41d
shop        admin   nginx   b.example               80        12h`,
  },
  {
    name: "one described Ingress without an address",
    first: undefined,
    text: `Name:             web
Namespace:        shop
Address:
Default backend:  default-http-backend:80 (<none>)
Rules:
  Host        Path  Backends
  a.example   /     web:80 (10.2.2.2:8080)`,
  },
  {
    name: "Ingresses that have an address, and one of a minute ago",
    first: undefined,
    text: `NAME    CLASS   HOSTS       ADDRESS      PORTS   AGE
web     nginx   a.example   192.0.2.10   80      41d
new1    nginx   c.example                80      55s
new2    nginx   d.example                80      58s`,
  },
  {
    name: "reloads of 0.35 that take seven seconds, under the name of their pod",
    first: "slow-reloads",
    text: `router-abc-1
${repeat(
  4,
  (
    index,
  ) => `I0212 05:5${index}:01.600000       6 controller.go:141] Configuration changes detected, backend reload required.
I0212 05:5${index}:08.900000       6 controller.go:157] Backend successfully reloaded.`,
)}`,
  },

  // ---- more proxies, stores and layers ----
  {
    name: "Linkerd 2.5 at a machine that is gone",
    first: "dead-endpoints",
    text: "mesh-proxy ERR! [ 7001.085822s] linkerd2_proxy::app::errors unexpected error: error trying to connect: No route to host (os error 113) (address: 10.10.9.18:8080)",
  },
  {
    name: "Linkerd 2.10 at an address that does not answer",
    first: "dead-endpoints",
    text: "[    71.7s]  WARN ThreadId(01) outbound:accept{client.addr=10.8.0.20:39336 target.addr=10.8.4.2:80}:http{v=1.x}: linkerd_app_core::errors: Failed to proxy request: error trying to connect: request timed out",
  },
  {
    name: "nginx that forwards TCP to an address which does not answer, 1.6",
    first: "dead-endpoints",
    text: '2017/07/02 09:24:59 [error] 993#993: *1 upstream timed out (110: Connection timed out) while connecting to upstream, client: 192.168.7.2, server: 0.0.0.0:5432, upstream: "10.1.17.2:5432", bytes from/to client:0/0, bytes from/to upstream:0/0',
  },
  {
    name: "nginx that has tried all endpoints of a service",
    first: "no-endpoints",
    text: '2022/10/10 10:10:10 [error] 40#40: *8 no live upstreams while connecting to upstream, client: 10.3.3.3, server: a.example, request: "GET / HTTP/1.1", upstream: "http://shop-web-80/", host: "a.example"',
  },
  {
    name: "Envoy Gateway without a healthy endpoint, in JSON",
    first: "no-endpoints",
    text: '{":authority":"a.example","method":"GET","response_code":503,"response_code_details":"no_healthy_upstream","response_flags":"UH","start_time":"2025-05-05T05:05:05.401Z","upstream_cluster":"httproute/shop/web/rule/0","upstream_host":null}',
  },
  {
    name: "Envoy that an outer authorisation refuses, in JSON",
    not: ["no-endpoints"],
    version: "1.16",
    first: undefined,
    text: '{"authority":"a.example","method":"POST","response_code":"503","response_flags":"UAEX","start_time":"2019-12-19T03:27:35.402Z","upstream_host":"-","upstream_cluster":"-"}',
  },
  {
    name: "HAProxy whose servers all refuse, so that none is left",
    first: "dead-endpoints",
    text: `[WARNING]  (77) : Server shop_web_http/SRV_1 is DOWN, reason: Layer4 connection problem, info: "Connection refused", check duration: 0ms. 0 active and 0 backup servers left.
[ALERT]    (77) : backend 'shop_web_http' has no server available!`,
  },
  {
    name: "a refused permission that a store of logs shows as a document",
    first: "missing-permission",
    text: JSON.stringify(
      {
        _index: "logs-2022.02.02",
        _source: {
          log: JSON.stringify({
            level: "error",
            msg: 'nodes.metrics.k8s.io is forbidden: User "system:serviceaccount:ui:board" cannot list resource "nodes" in API group "metrics.k8s.io" at the cluster scope',
          }),
          stream: "stderr",
        },
      },
      undefined,
      2,
    ),
  },
  {
    name: "a client that asks for the API groups twice without an answer",
    first: "api-unreachable",
    text: `E0315 12:23:12.673930       1 logr.go:265] injector "msg"="Failed to get API Group-Resources" "error"="Get "https://10.3.240.1:443/api?timeout=32s": dial tcp 10.3.240.1:443: i/o timeout"
Error: error creating manager: Get "https://10.3.240.1:443/api?timeout=32s": dial tcp 10.3.240.1:443: i/o timeout`,
  },
  {
    name: "two nodes that become not ready within seconds, stern, 1.7",
    first: undefined,
    open: ["late-heartbeats"],
    text: `manager-a kube-controller-manager I1101 22:46:17.734930       1 controller_utils.go:285] Recording status change NodeNotReady event message for node m-0
manager-a kube-controller-manager I1101 22:46:23.734930       1 controller_utils.go:285] Recording status change NodeNotReady event message for node w-1`,
  },
  {
    name: "an operator that loses its lock while etcd is restarted, klog and zap in turns",
    first: "leader-changes",
    text: `E0219 07:13:05.190439       1 leaderelection.go:356] Failed to update lock: etcdserver: request timed out
I0219 07:13:06.180317       1 leaderelection.go:277] failed to renew lease mon/5741.example: timed out waiting for the condition
{"level":"error","ts":1613718786.18,"logger":"setup","msg":"problem running manager","error":"leader election lost"}`,
  },

  // ---- second eras ----
  {
    name: "a controller that reads each object before it writes, 1.4 through journald",
    first: "client-throttling",
    also: ["per-sync-get"],
    text: `Server Version: version.Info{Major:"1", Minor:"4", GitVersion:"v1.4.7", GitTreeState:"clean"}
${repeat(
  6,
  (index) =>
    `Dec 03 10:11:${two(10 + index)} m1 kube-controller-manager[801]: I1203 10:11:${two(10 + index)}.400000     801 request.go:600] Throttling request took 1.2${index}s, request: GET:http://127.0.0.1:8080/api/v1/namespaces/shop/endpoints/svc-${index}`,
)}`,
  },
  {
    name: "Endpoints of 1.29 that were cut",
    first: "over-capacity",
    text: `{
  "apiVersion": "v1",
  "kind": "Endpoints",
  "metadata": { "name": "ring", "namespace": "data", "annotations": { "endpoints.kubernetes.io/over-capacity": "truncated" } },
  "subsets": []
}`,
  },
  {
    name: "a kubelet of a machine that was removed, audit log of 1.11",
    first: "stray-machine",
    text: `${repeat(4, (index) =>
      auditLine({
        user: "system:node:blade-12",
        address: "10.8.0.12",
        resource: "nodes",
        name: "blade-12",
        second: index * 10,
        api: "v1beta1",
      }),
    )}

NAME       STATUS    ROLES     AGE       VERSION
blade-1    Ready     <none>    90d       v1.11.5
blade-2    Ready     <none>    90d       v1.11.5`,
  },
  {
    name: "prose below a table of nodes is no node",
    first: undefined,
    text: `${repeat(4, (index) =>
      auditLine({
        user: "system:node:blade-2",
        address: "10.8.0.2",
        resource: "nodes",
        name: "blade-2",
        second: index * 10,
      }),
    )}
NAME       STATUS    ROLES     AGE       VERSION
blade-1    Ready     <none>    90d       v1.11.5
blade-2    Ready     <none>    90d       v1.11.5

blade-9 was removed yesterday and is fine`,
  },
  {
    name: "a controller of 1.12 that writes the same objects, audit log of beta",
    first: "no-op-writes",
    text: repeat(220, (index) =>
      auditLine({
        user: "system:serviceaccount:build:syncer",
        address: "10.0.9.9",
        resource: "secrets",
        name: `key-${index % 4}`,
        second: index * 3,
        version: "41",
        sentVersion: "41",
        api: "v1beta1",
      }),
    ),
  },
  {
    name: "large lists of 1.10, as its API server traces them",
    version: "1.10",
    first: undefined,
    also: ["slow-requests"],
    text: repeat(
      5,
      (index) =>
        `I0704 10:00:0${index}.000000       1 trace.go:76] Trace[88${index}]: "List /api/v1/events" (started: 2018-07-04 10:00:00.1 +0000 UTC m=+10.1) (total time: 1.4s):`,
    ),
  },
  {
    name: "clocks of etcd 3.5 that differ",
    version: "1.24",
    first: undefined,
    also: ["clock-skew"],
    text: '{"level":"warn","ts":"2023-02-03T04:05:06.1Z","caller":"rafthttp/probing_status.go:82","msg":"prober found high clock drift","round-tripper-name":"ROUND_TRIPPER_RAFT_MESSAGE","remote-peer-id":"77c0d1","clock-drift":"4.1s","rtt":"800us"}',
  },
  {
    name: "reloads of 1.9 that take eight seconds, structured",
    first: "slow-reloads",
    text: repeat(
      4,
      (
        index,
      ) => `I0512 05:5${index}:01.600000       7 controller.go:190] "Configuration changes detected, backend reload required"
I0512 05:5${index}:09.900000       7 controller.go:207] "Backend successfully reloaded"`,
    ),
  },
];
