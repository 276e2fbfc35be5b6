import fc from "fast-check";
import { expect, test } from "vitest";
import { noFacts } from "./evidence.ts";
import { TextReader } from "./text-reader.ts";

function read(lines: readonly string[]): void {
  const reader = new TextReader(noFacts(), "pasted.txt");
  for (const line of lines) reader.push(line);
  reader.end();
}

/** Starts and middles of the messages, headers and objects that are known. */
const pieces = [
  "I0102 03:04:05.1 1 a.go:1] ",
  "2021/07/08 19:44:28 [error] 43#43: *1 ",
  "2019-05-11 12:16:48.1 W | etcdserver: ",
  'time="2020-01-01T00:00:00Z" level=info msg="',
  "Jan 16 14:19:20 cp1 etcd[1]: ",
  '{"log":"',
  '{"msg":"slow fdatasync","took":"',
  "kubelet | ",
  "> ",
  "Killing Stopping container ",
  "SuccessfulDelete Deleted pod: ",
  'GET "https://10.0.0.1:443/api/v1/x": dial tcp 10.0.0.1:443: ',
  "https://a/api/ TLS handshake timeout",
  '" 503 UF upstream_reset_before_response_started{connection_failure} ',
  '" 503 UH no_healthy_upstream outbound|80||a ',
  'upstream: "http://10.0.0.1:80" ',
  "connect() failed (111: Connection refused) while connecting to upstream ",
  "upstream timed out (110: Operation timed out) while connecting to upstream ",
  "Server a/SRV_1 is DOWN, reason: Layer4 connection problem, info: ",
  "backend a has no server available",
  'User "system:serviceaccount:a:b" cannot list ',
  "Failed to watch *v1.Pod: ",
  "watch of *v1.Pod ended with: ",
  "too old resource version ",
  "Readiness probe failed ",
  "took too long (1.2s) to execute",
  'Trace[1]: "List" total time: ',
  "Throttling request took 1s, request: GET:",
  "Waited for 1s - request: GET:",
  "forcing watcher close due to unresponsiveness ",
  "node a hasn't been updated for 40s. ",
  "kubernetes version --kube-api-qps=",
  "Server Version: ",
  "kubectl -n ",
  "NAME READY STATUS RESTARTS",
  "Name: a",
  "Selector: a=b,",
  "apiVersion: v1",
  "kind: Pod",
  "metadata:",
  "  - a: b",
  "k8s_a_b_",
  "/registry/pods/a/",
  "(x3 over 2h)",
  '"',
  "\\",
  " ",
  "\t",
  "a=",
  "1",
  "{",
  "- ",
];

const line = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 12 })), { maxLength: 8 })
  .map((parts) => parts.join(""));

test("any text is read without an error", () => {
  const property = fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
    expect(() => read(lines)).not.toThrow();
  });
  fc.assert(property, { numRuns: 500 });
});

/** A pattern that backtracks without bound would run into the time limit of the test. */
test.each(pieces)("a long line of %j is read to its end", (piece) => {
  for (const start of ["", "I0102 03:04:05.1 1 a.go:1] ", '{"msg":"']) {
    const text = start + piece.repeat(Math.ceil(65_536 / piece.length));
    expect(() => read([text])).not.toThrow();
  }
});

test("a list that is too large is counted, and the text after it is read", () => {
  const facts = noFacts();
  const reader = new TextReader(facts, "pods.json");
  reader.push("{");
  const item = " ".repeat(1_048_576);
  for (let count = 0; count < 66; count += 1) reader.push(item);
  reader.push("}");
  reader.push("I0512 03:52:31.256060       6 status.go:86] new leader elected: web-1");
  reader.end();
  expect(facts.objects.tooLarge).toEqual([{ source: "pods.json", line: 1 }]);
  expect(facts.signs.get("leader-elected")?.count).toBe(1);
});

const container = {
  name: "kube-controller-manager",
  image: "registry/kube-controller-manager-amd64:v1.7.11",
  command: ["kube-controller-manager", "--kube-api-qps=40", "--concurrent-endpoint-syncs", "9"],
};

const pod = (one: object): object => ({ kind: "Pod", spec: { containers: [one] } });

test.each([
  ["a pod", pod(container)],
  ["a list", { kind: "PodList", items: [pod({ name: "web" }), pod(container)] }],
])("flags and version of a process are read from %s", (_what, object) => {
  const facts = noFacts();
  const reader = new TextReader(facts, "pods.json");
  for (const text of JSON.stringify(object, undefined, 1).split("\n")) reader.push(text);
  reader.end();
  const { settings } = facts;
  expect(settings.version?.value).toBe("1.7.11");
  expect([...settings.flags].map(([name, { value }]) => [name, value])).toEqual([
    ["kube-api-qps", "40"],
    ["concurrent-endpoint-syncs", "9"],
  ]);
});

test.each([
  ["kube-controller-manager(v1.25.3) log:", "1.25.3"],
  ["we run kube-apiserver v1.18.2 on three machines", "1.18.2"],
  ["Running on GKE: K8 1.8.4", "1.8.4"],
  ["k8s: v1.17.4, docker 19.03", "1.17.4"],
  ["image: k8s.gcr.io/coredns:1.6.7", undefined],
  ["k8s-1.9-setup.sh", undefined],
])("a version in a sentence: %s", (text, version) => {
  const facts = noFacts();
  new TextReader(facts, "issue.md").push(text);
  expect(facts.settings.version?.value).toBe(version);
});

test("flags of other programs are not those of the control plane", () => {
  const facts = noFacts();
  const reader = new TextReader(facts, "pods.json");
  const other = pod({ image: "registry/operator:1.2.3", args: ["--kube-api-qps=5"] });
  for (const text of JSON.stringify(other, undefined, 1).split("\n")) reader.push(text);
  reader.end();
  expect(facts.settings.flags.size).toBe(0);
});

test("a table of endpoints has an empty cell for unready pods, and none without pods", () => {
  const facts = noFacts();
  const reader = new TextReader(facts, "issue.md");
  const table = [
    "NAME   ENDPOINTS          AGE",
    "slow                      145m",
    "none   <none>             3d",
  ];
  for (const line of [...table, "full   10.1.0.4:80 + 2 more...   3d"]) reader.push(line);
  reader.end();
  const shown = [...facts.objects.endpoints.values()].map(({ key, ready, notReady }) => [
    key,
    ready,
    notReady,
  ]);
  expect(shown).toEqual([
    ["default/slow", 0, 1],
    ["default/none", 0, 0],
    ["default/full", 3, 0],
  ]);
});
