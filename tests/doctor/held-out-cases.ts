// A random quarter of the pasted texts. They were set aside before any rule was changed for the others,
// so they measure what the doctor does with a text it has not seen. No rule is tuned to them.
import { type DoctorCase, repeat, two } from "./case.ts";

export const heldOutCases: readonly DoctorCase[] = [
  {
    name: "one master with one endpoint",
    first: undefined,
    text: `$ kubectl describe svc kubernetes
Name:              kubernetes
Namespace:         default
Labels:            component=apiserver
                   provider=kubernetes
Selector:          <none>
Type:              ClusterIP
IP:                10.233.0.1
Port:              https  443/TCP
TargetPort:        6443/TCP
Endpoints:         10.11.99.41:6443
Session Affinity:  ClientIP
Events:            <none>

$ kubectl get ep
NAME         ENDPOINTS           AGE
kubernetes   10.11.99.41:6443   117d
web          10.2.0.9:80        3d
api          10.2.0.11:80       3d`,
  },
  {
    name: "cilium waits for its own leases",
    first: undefined,
    text: repeat(
      6,
      (index) =>
        `2023-12-25T19:46:2${index}.742244330Z level=info msg="Waited for 1.0977${index}s due to client-side throttling, not priority and fairness, request: ` +
        `PUT:https://localhost:7445/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cilium-l2announce-media-lb-${index}" subsys=klog`,
    ),
  },
  {
    name: "a scheduler that waits to renew its Endpoints lock",
    first: undefined,
    text: repeat(
      5,
      (index) =>
        `I0412 02:10:0${index}.100000       1 request.go:621] Throttling request took 1.20${index}s, request: ` +
        "PUT:https://10.0.0.1:6443/api/v1/namespaces/kube-system/endpoints/kube-scheduler?timeout=10s",
    ),
  },
  {
    name: "headless services of 1.18 by versions and tables of a dump",
    first: "headless-rewrites",
    text: `Kubernetes version: v1.18.8
{
  "apiVersion": "v1",
  "kind": "List",
  "items": [
    {
      "apiVersion": "v1",
      "kind": "Service",
      "metadata": { "name": "peers", "namespace": "mq" },
      "spec": { "clusterIP": "None", "selector": { "app": "mq" } }
    },
    {
      "apiVersion": "v1",
      "kind": "Endpoints",
      "metadata": {
        "name": "peers",
        "namespace": "mq",
        "labels": { "service.kubernetes.io/headless": "" }
      }
    }
  ]
}
`,
  },
  {
    name: "a ghost after a node was removed, Lease and docker ps",
    first: "ghost-leader",
    text: `kubectl -n ingress-nginx get pods -o wide
NAME                             READY   STATUS    RESTARTS   AGE   IP            NODE
nginx-ingress-controller-4k2xm   1/1     Running   0          20d   10.1.3.4      w3
nginx-ingress-controller-x7k9q   1/1     Running   0          20d   10.1.4.4      w4

kubectl -n ingress-nginx get lease ingress-controller-leader -o yaml
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: ingress-controller-leader
  namespace: ingress-nginx
spec:
  acquireTime: "2022-01-07T03:00:00.000000Z"
  holderIdentity: nginx-ingress-controller-zz1pp
  leaseDurationSeconds: 30
  leaseTransitions: 9
  renewTime: "2022-03-01T10:11:12.000000Z"

on the old machine w1:
8c1f2d0a  k8s.gcr.io/ingress-nginx/controller  "/nginx…"  3 months ago  Up 3 months  k8s_controller_nginx-ingress-controller-zz1pp_ingress-nginx_0e2b1e0a-6f51-11ec-90d6-0242ac120003_0
`,
  },
  {
    name: "readiness that times out, with a liveness restart",
    first: "failing-probes",
    text: `  Warning  Unhealthy  58s                 kubelet            Readiness probe failed: Get "https://10.42.0.9:10250/readyz": context deadline exceeded (Client.Timeout exceeded while awaiting headers)
  Warning  Unhealthy  29s (x8 over 60s)   kubelet            Readiness probe failed: Get "https://10.42.0.9:10250/readyz": dial tcp 10.42.0.9:10250: connect: connection refused
  Normal   Killing    28s (x2 over 60s)   kubelet            Container metrics failed liveness probe, will be restarted`,
  },
  {
    name: "kube-proxy of AKS whose watches break again and again",
    first: "broken-watches",
    text: repeat(
      4,
      (index) =>
        `W0409 10:${two(index * 9)}:12.100000       1 reflector.go:302] k8s.io/client-go/informers/factory.go:130: watch of *v1.Endpoints ended with: very short watch: k8s.io/client-go/informers/factory.go:130: Unexpected watch close - watch lasted less than a second and no items received
E0409 10:${two(index * 9)}:13.100000       1 reflector.go:125] k8s.io/client-go/informers/factory.go:130: Failed to list *v1.Endpoints: Get https://prod-1.hcp.example.io:443/api/v1/endpoints?limit=500&resourceVersion=0: net/http: TLS handshake timeout`,
    ),
  },
  {
    name: "contour of 0.13 in a CSV of a log service",
    version: "1.14",
    first: "broken-watches",
    text: `TimeGenerated,LogEntry
${repeat(5, (index) => `"2019-07-17T20:3${index}:58.392Z","E0717 20:3${index}:58.392346       1 reflector.go:134] pkg/mod/k8s.io/client-go@v0.0.0-20190226174127-78295b709ec6/tools/cache/reflector.go:95: Failed to list *v1.Endpoints: Get https://10.0.0.1:443/api/v1/endpoints?limit=500&resourceVersion=0: unexpected EOF"`)}`,
  },
  {
    name: "a controller whose CRDs are not installed",
    first: undefined,
    text: repeat(
      14,
      (index) =>
        `E0301 10:00:${two(index * 4)}.100000       1 reflector.go:140] sigs.k8s.io/gateway-api/pkg/client/informers/factory.go:120: Failed to watch *v1beta1.HTTPRoute: failed to list *v1beta1.HTTPRoute: the server could not find the requested resource (get httproutes.gateway.networking.k8s.io)`,
    ),
  },
  {
    name: "haproxy after an upgrade, without EndpointSlices",
    first: "missing-permission",
    text: repeat(
      3,
      (index) =>
        `E1009 16:48:0${index}.362867     211 reflector.go:138] pkg/mod/k8s.io/client-go@v0.21.3/tools/cache/reflector.go:167: Failed to watch *v1.EndpointSlice: failed to list *v1.EndpointSlice: endpointslices.discovery.k8s.io is forbidden: User "system:serviceaccount:haproxy:haproxy-kubernetes-ingress" cannot list resource "endpointslices" in API group "discovery.k8s.io" at the cluster scope`,
    ),
  },
  {
    name: "an API server that answers 429, 1.9",
    first: "api-overloaded",
    text: repeat(
      4,
      (index) =>
        `> I1126 22:24:1${index}.822162      18 wrap.go:42] GET /api/v1/endpoints?limit=500&resourceVersion=0: (504.009µs) 429 [[kube-proxy/v1.9.10 (linux/amd64) kubernetes/1e57adb] 192.168.189.10${index}:52472]`,
    ),
  },
  {
    name: "a webhook that is down",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `Error from server (InternalError): error when creating "ing${index}.yaml": Internal error occurred: failed calling webhook "validate.nginx.ingress.kubernetes.io": Post "https://ingress-nginx-controller-admission.ingress-nginx.svc:443/networking/v1/ingresses?timeout=10s": dial tcp 10.100.249.207:443: connect: connection refused`,
    ),
  },
  {
    name: "metrics-server cannot scrape kubelets",
    first: undefined,
    text: repeat(
      4,
      (index) =>
        `E0303 19:43:5${index}.825398       1 scraper.go:140] "Failed to scrape node" err="Get \\"https://10.0.0.${index}:10250/metrics/resource\\": dial tcp 10.0.0.${index}:10250: connect: connection refused" node="w${index}"`,
    ),
  },
  {
    name: "envoy's access log with refused connections",
    first: "dead-endpoints",
    text: repeat(
      4,
      (index) =>
        `[2023-05-10T00:37:3${index}.782Z] "GET /cart HTTP/1.1" 503 UF upstream_reset_before_response_started{remote_connection_failure,delayed_connect_error:_111} - "delayed_connect_error:_111" 0 167 2 - "10.1.1.9" "curl/7.64.1" "a0fbb5a1" "shop.example" "10.28.1.${index}:8443" outbound|80||cart.shop.svc.cluster.local - 10.8.0.1:80 10.1.1.9:4040 - default`,
    ),
  },
  {
    name: "a Service that selects another label than the Deployment has",
    first: "selector-mismatch",
    text: `apiVersion: apps/v1
kind: Deployment
metadata:
  name: jenkins
  namespace: ci
spec:
  replicas: 1
  selector:
    matchLabels:
      app: jenkins
  template:
    metadata:
      labels:
        app: jenkins
    spec:
      containers:
      - name: jenkins
        image: jenkins:lts
        ports:
        - containerPort: 8080
---
apiVersion: v1
kind: Service
metadata:
  name: jenkins
  namespace: ci
spec:
  selector:
    name: jenkins
  ports:
  - port: 80
    targetPort: 8080
---
apiVersion: v1
kind: Endpoints
metadata:
  name: jenkins
  namespace: ci
subsets: []
`,
  },
  {
    name: "a described service without endpoints and pods with other labels",
    first: "selector-mismatch",
    text: `$ kubectl describe svc nginx-ing-svc
Name:                     nginx-ing-svc
Namespace:                default
Labels:                   name=nginx-ingress-label
Annotations:              <none>
Selector:                 name=nginx-ingress
Type:                     NodePort
IP:                       10.102.1.4
Port:                     http  80/TCP
Endpoints:                <none>
Session Affinity:         None
$ kubectl get pods --show-labels
NAME                     READY     STATUS    RESTARTS   AGE   LABELS
nginx-ingress-rc-mdwgn   1/1       Running   0          3m    app=nginx-ingress
nginx-ingress-rc-r0lbk   1/1       Running   0          3m    app=nginx-ingress
`,
  },
  {
    name: "an Endpoints object that was cut at 1,000 addresses",
    first: "over-capacity",
    text: `apiVersion: v1
kind: Endpoints
metadata:
  annotations:
    endpoints.kubernetes.io/over-capacity: truncated
  name: workers
  namespace: batch
subsets:
- addresses:
  - ip: 10.1.0.1
  ports:
  - port: 80
`,
  },
];
