import fc from "fast-check";
import { expect, test } from "vitest";
import { readLogLine } from "./log-line.ts";

const plain = "I0412 22:59:59.914517       1 request.go:638] Throttling request took 2.49s";
const message = "Throttling request took 2.49s";

/** Without a year the year is 2000. */
const inUnknownYear = Date.UTC(2000, 3, 12, 22, 59, 59, 915);
const inYear = Date.UTC(2026, 3, 12, 22, 59, 59, 914);

test.each([
  ["as it is", plain, inUnknownYear, undefined],
  ["with its spaces collapsed", plain.replaceAll(/ +/g, " "), inUnknownYear, undefined],
  ["in a Markdown list", `- \`${plain}\``, inUnknownYear, undefined],
  ["as a quote", `> ${plain}`, inUnknownYear, undefined],
  ["with the end of a line of another system", `${plain}\r`, inUnknownYear, undefined],
  [
    "through journald",
    `Apr 12 22:59:59 master-0 kube-controller-manager[4711]: ${plain}`,
    inUnknownYear,
    "kube-controller-manager",
  ],
  [
    "through Rancher",
    `kube-controller-manager | ${plain}`,
    inUnknownYear,
    "kube-controller-manager",
  ],
  ["through stern", `kube-controller-manager-a manager ${plain}`, inUnknownYear, "manager"],
  [
    "through docker",
    `{"log":"${plain}\\n","stream":"stderr","time":"2026-04-12T22:59:59.914Z"}`,
    inYear,
    undefined,
  ],
  ["through docker, cut off", `{"log":"${plain}`, inUnknownYear, undefined],
  ["through CRI", `2026-04-12T22:59:59.914Z stderr F ${plain}`, inYear, undefined],
  ["through kubectl logs --timestamps", `2026-04-12T22:59:59.914Z ${plain}`, inYear, undefined],
  [
    "through kubectl logs --prefix",
    `[pod/kube-controller-manager-a/kube-controller-manager] ${plain}`,
    inUnknownYear,
    "kube-controller-manager",
  ],
  [
    "through fluentd",
    JSON.stringify({ log: `${plain}\n`, kubernetes: { container_name: "manager" } }),
    inUnknownYear,
    "manager",
  ],
  ["in colour", `\u001b[32m${plain}\u001b[0m`, inUnknownYear, undefined],
])("a klog line is read %s", (_way, line, atMs, program) => {
  const { severity, caller, ...read } = readLogLine(line);
  expect({ severity, caller }).toEqual({ severity: "info", caller: "request.go:638" });
  expect({ ...read, atMs: Math.round(read.atMs ?? 0) }).toEqual({
    message,
    values: new Map(),
    atMs,
    program,
  });
});

test("a structured line gives its message and values without quotes", () => {
  const line =
    'E1115 08:44:08.234330   13779 controller.go:12] "Failed to \\"sync\\"" pod="shop/web-0" ' +
    'count=3 err="first\\nsecond" URL="https://10.0.0.1/a?b=c d=e"';
  expect(readLogLine(line)).toMatchObject({
    severity: "error",
    caller: "controller.go:12",
    message: 'Failed to "sync"',
    values: new Map([
      ["pod", "shop/web-0"],
      ["count", "3"],
      ["err", "first\nsecond"],
      ["URL", "https://10.0.0.1/a?b=c d=e"],
    ]),
  });
});

test.each([
  [
    "klog as JSON",
    '{"ts":1641464159214.5,"caller":"app/x.go:12","msg":"Waited before sending request","v":2,"delay":"1s"}',
    {
      message: "Waited before sending request",
      caller: "app/x.go:12",
      atMs: 1641464159214.5,
      values: new Map([["delay", "1s"]]),
    },
  ],
  [
    "zap as JSON",
    '{"level":"warn","ts":"2022-01-06T10:15:59.214Z","caller":"etcdserver/util.go:166","msg":"apply request took too long","took":"1.2s"}',
    {
      severity: "warning",
      message: "apply request took too long",
      values: new Map([["took", "1.2s"]]),
    },
  ],
  [
    "zap with tabs",
    '2022-01-06T10:15:59.214Z\tERROR\tcontroller/controller.go:304\tReconciler error\t{"kind": "App"}',
    { severity: "error", caller: "controller/controller.go:304", message: "Reconciler error" },
  ],
  [
    "logrus",
    'time="2016-08-01T05:34:06Z" level=info msg="server started" port=80',
    { severity: "info", message: "server started", values: new Map([["port", "80"]]) },
  ],
  [
    "logrus around klog",
    `time="2016-08-01T05:34:06Z" level=info msg="${plain}"`,
    { severity: "info", caller: "request.go:638", message },
  ],
  [
    "capnslog",
    "2019-05-11 12:16:48.055669 W | etcdserver: read-only range request took too long (1.2s) to execute",
    {
      severity: "warning",
      caller: "etcdserver",
      message: "read-only range request took too long (1.2s) to execute",
    },
  ],
  [
    "nginx",
    "2021/07/08 19:44:28 [error] 43#43: *5131 connect() failed (111: Connection refused) while connecting to upstream",
    {
      severity: "error",
      message: "connect() failed (111: Connection refused) while connecting to upstream",
    },
  ],
  [
    "klog without its start",
    "97555 request.go:655] Throttling request took 1.2s",
    { message: "Throttling request took 1.2s" },
  ],
  ["no header at all", "panic: no header", { message: "panic: no header", atMs: undefined }],
  ["an empty line", "", { message: "" }],
  ["an object", "{}", { message: "{}" }],
])("%s is read", (_what, line, expected) => {
  expect(readLogLine(line)).toMatchObject(expected);
});

test("any text is a line", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
      expect(typeof readLogLine(text).message).toBe("string");
    }),
  );
});
