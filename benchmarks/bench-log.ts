// Logs for the doctor to read, made from a number: what a control plane writes on a busy day, with the
// prefixes of runtimes and collectors. Names and numbers differ from line to line.

/** `ordinary`: one line in fifty is a known message. `incident`: each line is one. */
export type BenchLog = "ordinary" | "incident";

/** Whole lines, at least this many bytes of them. */
export function logBytes(kind: BenchLog, bytes: number, seed: number): Buffer {
  const lines: string[] = [];
  let length = 0;
  for (let index = seed; length < bytes; index += 1) {
    const isKnown = kind === "incident" || index % 50 === 0;
    const line = isKnown ? knownLine(index) : ordinaryLine(index);
    lines.push(line);
    length += line.length + 1;
  }
  return Buffer.from(`${lines.join("\n")}\n`);
}

function ordinaryLine(index: number): string {
  const klog = `I${day(index)} ${clock(index)}.${micros(index)}       1`;
  const name = `${words[index % words.length]}-${index % 4_001}`;
  const lines = [
    `${klog} replica_set.go:676] "Finished syncing" logger="replicaset-controller" kind="ReplicaSet" key="shop/${name}" duration="${index % 900}.${index % 7}µs"`,
    `${klog} httplog.go:129] "HTTP" verb="GET" URI="/api/v1/namespaces/shop/configmaps/${name}" latency="${index % 30}.123ms" userAgent="kubelet/v1.29.4 (linux/amd64)" audit-ID="${uuid(index)}" srcIP="10.0.${index % 250}.7:41234" resp=200`,
    `${klog} garbagecollector.go:549] "Processing item" logger="garbage-collector-controller" item="[v1/Pod, namespace: shop, name: ${name}, uid: ${uuid(index)}]" virtual=false`,
    `2026-11-18T${clock(index)}.${micros(index)}123Z stderr F ${klog} event.go:377] "Event occurred" object="shop/${name}" fieldPath="" kind="Pod" apiVersion="v1" type="Normal" reason="Scheduled" message="Successfully assigned shop/${name}"`,
    `{"level":"info","ts":"2026-11-18T${clock(index)}.${micros(index)}Z","caller":"mvcc/index.go:214","msg":"compact tree index","revision":${index}}`,
    `Nov 18 ${clock(index)} node-${index % 90} kubelet[1822]: ${klog} reconciler_common.go:220] "operationExecutor.MountVolume started for volume \\"kube-api-access-${index % 999}\\" (UniqueName: \\"kubernetes.io/projected/${uuid(index)}\\") pod \\"${name}\\""`,
    `10.4.${index % 250}.9 - - [18/Nov/2026:${clock(index)} +0000] "GET /cart/${index} HTTP/1.1" 200 512 "-" "Mozilla/5.0" 431 0.0${index % 90} [shop-web-80] [] 10.2.${index % 250}.3:8080 512 0.0${index % 90} 200 ${uuid(index).replaceAll("-", "")}`,
    `time="2026-11-18T${clock(index)}Z" level=info msg="StopPodSandbox for \\"${uuid(index)}\\" returns successfully"`,
  ];
  return lines[index % lines.length] ?? "";
}

function knownLine(index: number): string {
  const at = `I${day(index)} ${clock(index)}.${micros(index)}       1`;
  const name = `${words[index % words.length]}-${index}`;
  const lines = [
    `${at} request.go:697] Waited for 1.${index % 997}s due to client-side throttling, not priority and fairness, request: PUT:https://10.0.0.4:6443/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/${name}`,
    `${at} trace.go:236] Trace[${index}]: "List" accept:application/json, audit-id:${uuid(index)},client:10.0.0.9,protocol:HTTP/2.0,resource:pods,scope:cluster,url:/api/v1/pods,verb:LIST (18-Nov-2026 ${clock(index)}.123) (total time: ${500 + (index % 900)}ms):`,
    `2026/11/18 ${clock(index)} [error] 43#43: *${index} connect() failed (111: Connection refused) while connecting to upstream, client: 10.4.0.9, server: shop.test, request: "GET /cart/${index} HTTP/1.1", upstream: "http://10.2.${index % 250}.3:8080/cart/${index}", host: "shop.test"`,
    `{"level":"warn","ts":"2026-11-18T${clock(index)}.${micros(index)}Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"${300 + (index % 400)}.5ms","expected-duration":"100ms","prefix":"read-only range ","request":"key:\\"/registry/pods/shop/${name}\\" ","response":"range_response_count:1 size:4096"}`,
  ];
  return lines[index % lines.length] ?? "";
}

const words = ["cart", "payment-gateway", "web", "search-index-writer", "api"];

const two = (value: number): string => String(value).padStart(2, "0");

function day(index: number): string {
  return `11${two(1 + (Math.floor(index / 864_000) % 28))}`;
}

/** Ten lines a second. */
function clock(index: number): string {
  const seconds = Math.floor(index / 10) % 86_400;
  return [seconds / 3_600, (seconds / 60) % 60, seconds % 60].map(Math.floor).map(two).join(":");
}

function micros(index: number): string {
  return String((index * 7_919) % 1_000_000).padStart(6, "0");
}

function uuid(index: number): string {
  const hex = ((index * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, "0");
  return `${hex}-6a0c-4c55-9a8e-${hex}b7c1`;
}
