// Texts in the forms of public issues: years, versions, collectors and cuts mixed. Many of them look
// like a cause and have none.
import { type DoctorCase, repeat, two } from "./case.ts";

export const pastedCases: readonly DoctorCase[] = [
  {
    name: "a fight of 1.4 behind a load balancer",
    first: "apiserver-fight",
    text: `3 masters, HA, I see lots of these in /var/log/kube-apiserver.log:
\`\`\`
${repeat(4, (index) => `W1102 22:46:${two(index * 11)}.395980       6 controller.go:351] Resetting endpoints for master service "kubernetes" to &TypeMeta{Kind:,APIVersion:,}`)}
\`\`\``,
  },
  {
    name: "the endpoints of kubernetes, asked for again and again",
    first: "apiserver-fight",
    text: `node01:~ # kubectl get ep kubernetes
NAME         ENDPOINTS           AGE
kubernetes   172.20.9.54:6443   27d
node01:~ # kubectl get ep kubernetes
NAME         ENDPOINTS           AGE
kubernetes   172.20.9.52:6443   27d
node01:~ # kubectl get ep kubernetes
NAME         ENDPOINTS           AGE
kubernetes   172.20.9.54:6443   27d
`,
  },
  {
    name: "kube-proxy with hidden addresses, journald",
    first: "apiserver-fight",
    text: repeat(
      6,
      (index) =>
        `Aug 03 14:51:${two(13 + index * 3)} w7 kube-proxy[71057]: I0803 14:51:${two(13 + index * 3)}.520300   71057 proxier.go:502] ` +
        `Setting endpoints for "default/kubernetes:https" to [XXX.${195 + (index % 3)}:443]`,
    ),
  },
  {
    name: "masters that are replaced one by one",
    first: undefined,
    text: `I0827 02:40:15.403502       1 endpoints.go:234] Setting endpoints for "default/kubernetes:https" to [10.9.0.1:443 10.9.0.2:443]
I0827 02:52:15.403502       1 endpoints.go:234] Setting endpoints for "default/kubernetes:https" to [10.9.0.1:443 10.9.0.2:443 10.9.0.3:443]
I0827 02:59:15.403502       1 endpoints.go:234] Setting endpoints for "default/kubernetes:https" to [10.9.0.2:443 10.9.0.3:443]`,
  },
  {
    name: "a throttled controller manager of 1.33, structured",
    first: "client-throttling",
    text: repeat(
      4,
      (index) =>
        `2025-06-02T10:00:0${index}.12Z stderr F I0602 10:00:0${index}.120000       1 request.go:752] "Waited before sending request" ` +
        `delay="2.31${index}s" reason="client-side throttling, not priority and fairness" verb="PUT" ` +
        `URL="https://10.0.0.4:6443/apis/discovery.k8s.io/v1/namespaces/pay/endpointslices/ledger-${index}abc"`,
    ),
  },
  {
    name: "a throttled controller manager as fluentd stores it",
    first: "client-throttling",
    text: repeat(
      5,
      (index) =>
        `{"@timestamp":"2021-02-03T04:05:0${index}.000Z","message":"I0203 04:05:0${index}.100000       1 request.go:655] Throttling request took 1.49${index}s, ` +
        `request: GET:https://10.1.0.1:443/api/v1/namespaces/n${index}/endpoints/svc-${index}","kubernetes":{"container_name":"kube-controller-manager","namespace_name":"kube-system"}}`,
    ),
  },
  {
    name: "an informer of an operator that lists Endpoints late at its start",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `I0316 07:39:2${index}.534928       1 request.go:601] Waited for 5.42${index}s due to client-side throttling, not priority and fairness, ` +
        `request: GET:https://10.100.0.1:443/api/v1/${["endpoints", "secrets", "pods", "services"][index]}?limit=500&resourceVersion=0`,
    ),
  },
  {
    name: "helm with many CRDs, 1.22",
    first: undefined,
    text: `client.go:339: [debug] checking 27 resources for changes
${repeat(8, (index) => `I0519 06:53:14.${650 + index * 50}949       1 request.go:665] Waited for 1.0${index}5142963s due to client-side throttling, not priority and fairness, request: GET:https://10.43.0.1:443/apis/group${index}.example.io/v1?timeout=32s`)}`,
  },
  {
    name: "a headless service whose own labels have the mark",
    not: ["headless-rewrites"],
    version: "1.18",
    first: undefined,
    text: `Server Version: v1.18.8
apiVersion: v1
kind: Service
metadata:
  name: peers
  namespace: mq
  labels:
    service.kubernetes.io/headless: ""
spec:
  clusterIP: None
  selector:
    app: mq
---
apiVersion: v1
kind: Endpoints
metadata:
  name: peers
  namespace: mq
  labels:
    service.kubernetes.io/headless: ""
`,
  },
  {
    name: "a rollout writes the same few Endpoints many times, 1.27",
    not: ["endpoint-backlog", "headless-rewrites"],
    first: undefined,
    text: `Server Version: v1.27.3
${repeat(240, (index) => `I0120 12:${two(30 + Math.floor(index / 60))}:${two(index % 60)}.100000       1 httplog.go:132] "HTTP" verb="PUT" URI="/api/v1/namespaces/shop/endpoints/web-${index % 4}" latency="3.1ms" userAgent="kube-controller-manager/v1.27.3" resp=200`)}`,
  },
  {
    name: "a leader that exists and does not renew",
    version: "1.29",
    first: "stuck-leader",
    text: `NAMESPACE       NAME                                        READY   STATUS    RESTARTS   AGE
ingress-nginx   ingress-nginx-controller-696d4ff7c5-f7cgj   1/1     Running   0          22h
ingress-nginx   ingress-nginx-controller-696d4ff7c5-m2x8z   1/1     Running   0          22h
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: ingress-nginx-leader
  namespace: ingress-nginx
spec:
  holderIdentity: ingress-nginx-controller-696d4ff7c5-f7cgj
  leaseDurationSeconds: 30
  renewTime: "2024-04-19T08:00:02.120000Z"
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: kube-scheduler
  namespace: kube-system
spec:
  holderIdentity: cp-1_5b9ae6a1-2b35-4e6c-9f4b-9b1f7f4a3c11
  leaseDurationSeconds: 15
  renewTime: "2024-04-19T09:41:50.020000Z"
`,
  },
  {
    name: "leases that are all renewed",
    not: ["stuck-leader"],
    version: "1.22",
    first: undefined,
    text: `NAMESPACE       NAME                                        READY   STATUS    RESTARTS   AGE
ingress-nginx   ingress-nginx-controller-696d4ff7c5-f7cgj   1/1     Running   0          22h
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: ingress-nginx-leader
  namespace: ingress-nginx
spec:
  holderIdentity: ingress-nginx-controller-696d4ff7c5-f7cgj
  leaseDurationSeconds: 30
  renewTime: "2024-04-19T09:41:44.120000Z"
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: kube-scheduler
  namespace: kube-system
spec:
  holderIdentity: cp-1_5b9ae6a1-2b35-4e6c-9f4b-9b1f7f4a3c11
  leaseDurationSeconds: 15
  renewTime: "2024-04-19T09:41:50.020000Z"
`,
  },
  {
    name: "two ingress controllers share one lock",
    first: undefined,
    text: repeat(
      5,
      (index) =>
        `E0904 09:1${index}:12.123456       7 leaderelection.go:273] Failed to update lock: Operation cannot be fulfilled on configmaps ` +
        '"ingress-controller-leader-nginx": the object has been modified; please apply your changes to the latest version and try again',
    ),
  },
  {
    name: "an ingress controller may not write the status",
    first: "missing-permission",
    text: `W0514 11:27:10.077584       1 status.go:299] error updating ingress rule: ingresses.networking.k8s.io "web" is forbidden: User "system:serviceaccount:edge:nginx-ingress-serviceaccount" cannot update resource "ingresses/status" in API group "networking.k8s.io" in the namespace "shop"
apiVersion: networking.k8s.io/v1beta1
kind: Ingress
metadata:
  name: web
  namespace: shop
status:
  loadBalancer: {}
`,
  },
  {
    name: "PLEG, CoreOS, journald, 1.6",
    first: "late-heartbeats",
    text: `May 05 13:59:56 ip-10-50-20-7.ec2.internal kubelet[2858]: I0505 13:59:56.872880    2858 kubelet_node_status.go:379] Recording NodeNotReady event message for node ip-10-50-20-7.ec2.internal
May 05 13:59:56 ip-10-50-20-7.ec2.internal kubelet[2858]: I0505 13:59:56.872908    2858 kubelet_node_status.go:682] Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2017-05-05 13:59:56.872865742 +0000 UTC Reason:KubeletNotReady Message:PLEG is not healthy: pleg was last seen active 3m7.629592089s ago; threshold is 3m0s}`,
  },
  {
    name: "PLEG of 1.24, structured, containerd",
    first: "late-heartbeats",
    text: repeat(
      3,
      (index) =>
        `E0511 08:1${index}:02.110000    1402 kubelet.go:2013] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m${index}.63s ago; threshold is 3m0s"`,
    ),
  },
  {
    name: "node leases that time out, 1.18",
    first: "late-heartbeats",
    text: repeat(
      3,
      (index) =>
        `Mar 12 10:49:3${index} n2 kubelet[23221]: E0312 10:49:3${index}.719846   23221 controller.go:178] failed to update node lease, error: Put https://10.43.0.49:6443/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2?timeout=10s: context deadline exceeded (Client.Timeout exceeded while awaiting headers)
Mar 12 10:49:3${index} n2 kubelet[23221]: E0312 10:49:3${index}.778252   23221 kubelet_node_status.go:402] Error updating node status, will retry: error getting node "n2": Get https://10.43.0.49:6443/api/v1/nodes/n2?resourceVersion=0&timeout=10s: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    ),
  },
  {
    name: "pods of a node get NodeNotReady events again and again",
    first: "late-heartbeats",
    text: repeat(
      4,
      (index) =>
        `{"log":"I0901 00:${two(10 + index * 7)}:09.311469       1 event.go:291] \\"Event occurred\\" object=\\"worker-5\\" kind=\\"Node\\" apiVersion=\\"v1\\" type=\\"Normal\\" reason=\\"NodeNotReady\\" message=\\"Node worker-5 status is now: NodeNotReady\\"\\n","stream":"stderr","time":"2021-09-01T00:25:09.311544102Z"}`,
    ),
  },
  {
    name: "a node controller of 1.14 with a long condition, wrapped in a chat",
    first: "late-heartbeats",
    text: `> I0220 02:36:41.9       1 node_lifecycle_controller.go:1000] node node-4-vm hasn't been updated for
> 40.00712s. Last Ready is: &NodeCondition{Type:Ready,Status:True,Reason:KubeletReady,
> Message:kubelet is posting ready status,}
> I0220 02:36:41.9       1 controller_utils.go:182] Recording status change NodeNotReady event message for node node-4-vm`,
  },
  {
    name: "a kubelet that was restarted once",
    first: undefined,
    text: `0s          Normal    Starting                   node/10.19.0.11                      Starting kubelet.
0s          Normal    NodeHasSufficientMemory    node/10.19.0.11                      Node 10.19.0.11 status is now: NodeHasSufficientMemory
0s          Normal    NodeNotReady               node/10.19.0.11                      Node 10.19.0.11 status is now: NodeNotReady
0s          Normal    NodeReady                  node/10.19.0.11                      Node 10.19.0.11 status is now: NodeReady`,
  },
  {
    name: "a kubelet that waits for its network plugin at the start",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `Feb 18 10:00:0${index} n1 kubelet[900]: E0218 10:00:0${index}.110000     900 kubelet.go:1880] skipping pod synchronization - [container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]
Feb 18 10:00:0${index} n1 kubelet[900]: E0218 10:00:0${index}.210000     900 kubelet.go:2183] Container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized`,
    ),
  },
  {
    name: "node status conflicts of 1.1",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `E1027 04:5${index}:44.789086   24796 kubelet.go:2246] Error updating node status, will retry: node "127.0.0.1" cannot be updated: the object has been modified; please apply your changes to the latest version and try again`,
    ),
  },
  {
    name: "a node without a token, kubeadm join",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `E0124 15:11:5${index}.110928    2252 controller.go:146] "Failed to ensure lease exists, will retry" err="Unauthorized" interval="7s"`,
    ),
  },
  {
    name: "readiness events of coredns",
    first: "failing-probes",
    text: `Events:
  Type     Reason     Age                   From                   Message
  ----     ------     ----                  ----                   -------
  Warning  Unhealthy  40s (x7381 over 20h)  kubelet, node02  Readiness probe failed: Get http://10.244.2.5:8181/ready: dial tcp 10.244.2.5:8181: connect: connection refused`,
  },
  {
    name: "a pod that starts slowly once",
    first: undefined,
    text: `Events:
  Type     Reason     Age   From               Message
  ----     ------     ----  ----               -------
  Normal   Scheduled  68s   default-scheduler  Successfully assigned shop/web-0 to n1
  Normal   Started    60s   kubelet            Started container web
  Warning  Unhealthy  58s   kubelet            Readiness probe failed: HTTP probe failed with statuscode: 503`,
  },
  {
    name: "a watch of 1.32, structured, of an ingress controller",
    first: "broken-watches",
    text: repeat(
      4,
      (index) =>
        `E0210 05:0${index}:31.250000       7 reflector.go:166] "Unhandled Error" err="k8s.io/client-go/informers/factory.go:160: Failed to watch *v1.EndpointSlice: failed to list *v1.EndpointSlice: Get \\"https://10.96.0.1:443/apis/discovery.k8s.io/v1/endpointslices?resourceVersion=1\\": http2: client connection lost" logger="UnhandledError"`,
    ),
  },
  {
    name: "an API server that restarts breaks each watch once",
    first: undefined,
    text: ["Service", "Endpoints", "Secret", "ConfigMap", "Pod", "Node"]
      .map(
        (kind, index) =>
          `W1130 04:09:22.84420${index}       7 reflector.go:347] k8s.io/client-go/informers/factory.go:150: watch of *v1.${kind} ended with: an error on the server ("unable to decode an event from the watch stream: http2: server sent GOAWAY and closed the connection") has prevented the request from succeeding`,
      )
      .join("\n"),
  },
  {
    name: "a leader lock that may not be read, in JSON of zap",
    first: "missing-permission",
    text: `{"level":"error","ts":"2022-03-04T05:06:07.000Z","logger":"klog","msg":"error retrieving resource lock edge/ingress-controller-leader: leases.coordination.k8s.io \\"ingress-controller-leader\\" is forbidden: User \\"system:serviceaccount:edge:nginx\\" cannot get resource \\"leases\\" in API group \\"coordination.k8s.io\\" in the namespace \\"edge\\""}`,
  },
  {
    name: "a person without rights",
    first: undefined,
    text: `$ kubectl get pods -n prod
Error from server (Forbidden): pods is forbidden: User "jane@example.com" cannot list resource "pods" in API group "" in the namespace "prod"
$ curl -k https://10.0.0.1:6443/
{"kind":"Status","apiVersion":"v1","status":"Failure","message":"forbidden: User \\"system:anonymous\\" cannot get path \\"/\\"","reason":"Forbidden","code":403}`,
  },
  {
    name: "a scheduler that starts before the roles exist",
    first: undefined,
    text: [
      ["nodes", "Node"],
      ["pods", "Pod"],
      ["services", "Service"],
      ["persistentvolumes", "PersistentVolume"],
    ]
      .map(
        ([resource, kind], index) =>
          `E0214 08:58:0${index}.481241       1 reflector.go:153] k8s.io/client-go/informers/factory.go:135: Failed to list *v1.${kind}: ${resource} is forbidden: User "system:kube-scheduler" cannot list resource "${resource}" in API group "" at the cluster scope`,
      )
      .join("\n"),
  },
  {
    name: "slow fsync of etcd 3.3",
    first: "etcd-slow",
    text: `2020-10-20 12:15:22.088482 W | wal: sync duration of 1.018100466s, expected less than 1s
2020-10-20 12:15:22.088482 W | etcdserver: request "header:<ID:12374331823256642018 > txn:<>" with result "size:18" took too long (388.133988ms) to execute
2020-10-20 12:15:22.876237 W | etcdserver: read-only range request "key:\\"/registry/storageclasses\\" count_only:true " with result "range_response_count:0 size:6" took too long (2.285637356s) to execute
2020-10-20 12:15:25.076237 W | etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout for 210.88ms, to 8e9e05c52164694d)
2020-10-20 12:15:25.076241 W | etcdserver: server is likely overloaded`,
  },
  {
    name: "slow disk of etcd 3.5, JSON through journald",
    first: "etcd-slow",
    text: repeat(
      4,
      (index) =>
        `Jan 16 14:19:2${index} cp1 etcd[1021]: {"level":"warn","ts":"2024-01-16T14:19:2${index}.411Z","caller":"wal/wal.go:805","msg":"slow fdatasync","took":"1.8${index}s","expected-duration":"1s"}
Jan 16 14:19:2${index} cp1 etcd[1021]: {"level":"warn","ts":"2024-01-16T14:19:2${index}.811Z","caller":"etcdserver/raft.go:415","msg":"leader failed to send out heartbeat on time; took too long, leader is overloaded likely from slow disk","to":"8211f1d0f64f3269","heartbeat-interval":"100ms","expected-duration":"200ms","exceeded-duration":"1.02s"}`,
    ),
  },
  {
    name: "etcd that warns of a few reads a little over its limit",
    first: undefined,
    text: repeat(
      6,
      (index) =>
        `{"level":"warn","ts":"2023-02-11T0${index}:00:01.123Z","caller":"txn/util.go:93","msg":"apply request took too long","took":"10${index}.2ms","expected-duration":"100ms","prefix":"read-only range ","request":"key:\\"/registry/pods/\\" limit:500","response":"range_response_count:500 size:2300000"}`,
    ),
  },
  {
    name: "a controller manager is asked to come back later",
    first: "api-overloaded",
    text: repeat(
      5,
      (index) =>
        `E0622 09:21:2${index}.100000       1 endpoint_controller.go:301] failed to update endpoints for service shop/web-${index}: the server has received too many requests and has asked us to try again later (put endpoints web-${index})`,
    ),
  },
  {
    name: "handlers that time out, header cut",
    first: "api-overloaded",
    text: repeat(
      4,
      (index) =>
        `19:05:5${index}.870145 1 writers.go:117] apiserver was unable to write a JSON response: http: Handler timeout
19:06:4${index}.153567 1 wrap.go:54] timeout or abort while handling: method=GET URI="/api/v1/pods?limit=500&resourceVersion=0" audit-ID="0b71fe10"`,
    ),
  },
  {
    name: "images that cannot be pulled: 429 of a registry",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `  Warning  Failed     ${index}m    kubelet  Failed to pull image "web:1": rpc error: code = Unknown desc = failed to copy: httpReadSeeker: failed open: unexpected status code https://registry-1.docker.io/v2/library/web/manifests/1: 429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit.`,
    ),
  },
  {
    name: "coredns cannot reach the service address",
    first: "api-unreachable",
    text: repeat(
      4,
      (index) =>
        `E0705 14:51:4${index}.517213       1 reflector.go:125] pkg/mod/k8s.io/client-go@v0.0.0-20190620085101-78d2af792bab/tools/cache/reflector.go:98: Failed to list *v1.Endpoints: Get https://10.233.0.1:443/api/v1/endpoints?limit=500&resourceVersion=0: dial tcp 10.233.0.1:443: i/o timeout`,
    ),
  },
  {
    name: "traefik at its start without the API server",
    first: "api-unreachable",
    text: repeat(
      4,
      (index) =>
        `time="2026-06-22T08:00:0${index}Z" level=error msg="k8s.io/client-go@v0.31.1/tools/cache/reflector.go:243: Failed to watch *v1.EndpointSlice: failed to list *v1.EndpointSlice: Get \\"https://10.0.0.1:443/apis/discovery.k8s.io/v1/endpointslices?limit=500&resourceVersion=0\\": dial tcp 10.0.0.1:443: i/o timeout"`,
    ),
  },
  {
    name: "traefik sends to pods that ended",
    first: "dead-endpoints",
    text: repeat(
      4,
      (index) =>
        `[traefik-55888dfd67-r8b2c] time="2020-12-11T04:54:3${index}Z" level=debug msg="'502 Bad Gateway' caused by: dial tcp 10.42.1.${index}:3000: connect: connection refused"`,
    ),
  },
  {
    name: "haproxy marks pods as down",
    first: "dead-endpoints",
    text: `[WARNING]  (301) : Server shop_web_http/SRV_2 is DOWN, reason: Layer4 connection problem, info: "Connection refused", check duration: 0ms. 1 active and 0 backup servers left. 0 sessions active, 0 requeued, 0 remaining in queue.
[WARNING]  (301) : Server shop_web_http/SRV_1 is DOWN, reason: Layer4 connection problem, info: "Connection refused", check duration: 0ms. 0 active and 0 backup servers left. 0 sessions active, 0 requeued, 0 remaining in queue.`,
  },
  {
    name: "an application that answers slowly",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `2022/02/03 10:00:0${index} [error] 31#31: *77${index} upstream timed out (110: Operation timed out) while reading response header from upstream, client: 10.0.0.9, server: a.example, request: "GET /report HTTP/1.1", upstream: "http://10.53.24.125:8080/report", host: "a.example"`,
    ),
  },
  {
    name: "an application that closes connections",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `2022/02/03 10:00:0${index} [error] 31#31: *77${index} upstream prematurely closed connection while reading response header from upstream, client: 10.0.0.9, server: a.example, request: "GET / HTTP/1.1", upstream: "http://10.53.24.125:8080/", host: "a.example"
[2021-05-10T00:37:3${index}.782Z] "GET / HTTP/1.1" 503 UC upstream_reset_before_response_started{connection_termination} - "-" 0 95 1 - "-" "ab" "x" "a.example" "10.28.1.4:8443"`,
    ),
  },
  {
    name: "502s of a rollout, with the events beside them",
    first: "termination-race",
    text: `2021/04/30 11:02:07 [error] 43#43: *51 connect() failed (111: Connection refused) while connecting to upstream, client: 10.0.0.9, server: a.example, request: "GET / HTTP/1.1", upstream: "http://10.53.24.125:1080/", host: "a.example"
2021/04/30 11:02:07 [error] 43#43: *52 connect() failed (111: Connection refused) while connecting to upstream, client: 10.0.0.9, server: a.example, request: "GET / HTTP/1.1", upstream: "http://10.53.24.125:1080/", host: "a.example"

LAST SEEN   TYPE     REASON             OBJECT                         MESSAGE
9s          Normal   Killing            pod/my-app-5d8f7c9b5c-2xk8p    Stopping container my-app
12s         Normal   SuccessfulDelete   replicaset/my-app-5d8f7c9b5c   Deleted pod: my-app-5d8f7c9b5c-2xk8p`,
  },
  {
    name: "502s to a pod that is terminating, by a wide table",
    first: "termination-race",
    text: `$ kubectl get pods -o wide -n shop
NAME                     READY   STATUS        RESTARTS   AGE   IP             NODE
web-6c54bd5869-4rq2w     1/1     Running       0          9s    10.244.3.17    n3
web-7f9bb8c8d4-8j7wl     1/1     Terminating   0          3h    10.244.1.9     n1
2023/08/01 09:00:11 [error] 28#28: *9 connect() failed (111: Connection refused) while connecting to upstream, client: 10.9.9.9, server: shop.example, request: "GET /a HTTP/1.1", upstream: "http://10.244.1.9:8080/a", host: "shop.example"`,
  },
  {
    name: "a named port that no container has",
    first: "selector-mismatch",
    text: `apiVersion: v1
kind: Service
metadata:
  name: hello
spec:
  selector:
    app: hello
  ports:
  - name: http
    port: 80
    targetPort: http
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: hello
spec:
  template:
    metadata:
      labels:
        app: hello
    spec:
      containers:
      - name: hello
        image: hello:1
        ports:
        - name: web
          containerPort: 8000
`,
  },
  {
    name: "a Service and a Deployment that fit",
    not: ["selector-mismatch"],
    version: "1.20",
    first: undefined,
    text: `apiVersion: v1
kind: Service
metadata:
  name: my-app
spec:
  ports:
  - name: http
    port: 1080
    protocol: TCP
    targetPort: http
  selector:
    instance: my-app
---
apiVersion: v1
kind: Service
metadata:
  name: other
spec:
  ports:
  - port: 80
  selector:
    app: something-else
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: my-app
spec:
  template:
    metadata:
      labels:
        instance: my-app
        tier: web
    spec:
      containers:
      - name: app
        ports:
        - name: http
          containerPort: 1080
`,
  },
  {
    name: "an Endpoints object of 1.21 that only warns",
    not: ["over-capacity"],
    first: undefined,
    text: `apiVersion: v1
kind: Endpoints
metadata:
  annotations:
    endpoints.kubernetes.io/over-capacity: warning
  name: workers
  namespace: batch
`,
  },
  {
    name: "conflicts of the EndpointSlice controller after a rollout",
    first: undefined,
    text: `Events:
  Type     Reason                        Age   From                       Message
  ----     ------                        ----  ----                       -------
  Warning  FailedToUpdateEndpointSlices  35m   endpoint-slice-controller  Error updating Endpoint Slices for Service shop/web: Error updating web-h7q6v EndpointSlice for Service shop/web: Operation cannot be fulfilled on endpointslices.discovery.k8s.io "web-h7q6v": the object has been modified; please apply your changes to the latest version and try again`,
  },
  {
    name: "a controller manager that loses its lock again and again",
    first: "leader-changes",
    text: repeat(
      2,
      (index) =>
        `I0214 08:5${index}:18.482133       1 leaderelection.go:288] failed to renew lease kube-system/kube-controller-manager: failed to tryAcquireOrRenew context deadline exceeded
E0214 08:5${index}:18.582133       1 leaderelection.go:307] Failed to release lock: resource name may not be empty
F0214 08:5${index}:18.682133       1 controllermanager.go:279] leaderelection lost`,
    ),
  },
  {
    name: "nginx without an active endpoint, JSON of docker",
    first: "no-endpoints",
    text: `{"log":"W0407 11:27:10.077584       7 controller.go:1110] Service \\"data/prometheus\\" does not have any active Endpoint.\\n","stream":"stderr","time":"2021-04-07T11:27:10.077Z"}
{"log":"W0407 11:27:13.477584       7 controller.go:1110] Service \\"data/prometheus\\" does not have any active Endpoint.\\n","stream":"stderr","time":"2021-04-07T11:27:13.477Z"}`,
  },
];
