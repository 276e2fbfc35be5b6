import { expect, it } from "vitest";
import { inKubeletWorld } from "../../../tests/kubelet/kubelet-world.ts";
import {
  askedHeaders,
  echoDelayMs,
  echoLine,
  echoOf,
  echoServerOf,
  RetrySimulation,
} from "./echo-server.ts";
import { kubeletPodKind } from "./kubelet-pod.ts";

const image = "k8s.gcr.io/ingressconformance/echoserver:v0.0.1@sha256:9b34b17f391f87fb2155f01d";

const env = [
  { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  { name: "NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
  { name: "SERVICE_NAME", value: "web" },
  { name: "SECRET", valueFrom: { secretKeyRef: { name: "a", key: "b" } } },
  { name: "HTTP_PORT", value: "8080" },
];

const pod = (container: object) =>
  kubeletPodKind.project({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web-1", namespace: "shop", uid: "u", resourceVersion: "1" },
    spec: {
      containers: [
        { name: "side", image: "log" },
        { name: "web", ...container },
      ],
    },
  });

it("answers as the echo server of a suite, from a port that the pod does not declare", () =>
  inKubeletWorld(async ({ createPod, simulation, ask }) => {
    await createPod("web", { container: { image, env, ports: [] } });
    await simulation.sleep(2_000);
    expect(await ask("10.9.0.2", "/a?b=c")).toEqual({
      path: "/a?b=c",
      host: "",
      method: "GET",
      proto: "HTTP/1.1",
      headers: {},
      namespace: "default",
      ingress: "",
      service: "web",
      pod: "web",
    });
  }));

it.each<[string, number | undefined]>([
  [image, 3_000],
  ["ingressconformance/echoserver", 3_000],
  ["gcr.io/k8s-staging-gateway-api/echo-basic:v20240412", 3_000],
  ["echo-basic", 3_000],
  ["registry.example/echoserver:1.4", undefined],
  ["registry.example/ingressconformance/echoserver-grpc", undefined],
  ["my-echo-basic", undefined],
  ["web", undefined],
])("knows such a server by its image: %s", (name, port) => {
  expect(echoServerOf(pod({ image: name }))?.port).toBe(port);
});

it.each([
  ["8080", 8_080],
  ["0", 3_000],
  ["http", 3_000],
  ["65536", 3_000],
  ["80.5", 3_000],
])("listens where its environment says, if that is a port: %s", (value, port) => {
  expect(echoServerOf(pod({ image, env: [{ name: "HTTP_PORT", value }] }))?.port).toBe(port);
});

it("has of its environment what is written down and what the pod is", () => {
  expect(echoServerOf(pod({ image, env }))?.env).toEqual({
    POD_NAME: "web-1",
    NAMESPACE: "shop",
    SERVICE_NAME: "web",
    SECRET: "",
    HTTP_PORT: "8080",
  });
});

it("spells headers as Go does, without the host, which has a field of its own", () => {
  const headers = { host: "a.example", "user-agent": "x", "x-b3-id": "1, 2", te: "t" };
  const request = { method: "POST", target: "/", headers };
  expect(echoOf(request, { INGRESS_NAME: "i" })).toEqual({
    path: "/",
    host: "a.example",
    method: "POST",
    proto: "HTTP/1.1",
    headers: { "User-Agent": ["x"], "X-B3-Id": ["1, 2"], Te: ["t"] },
    namespace: "",
    ingress: "i",
    service: "",
    pod: "",
  });
});

it.each([
  ["/?delay=1.5s", 1_500],
  ["/a?b=c&delay=300ms", 300],
  ["/?delay=soon", 0],
  ["/", 0],
])("waits as long as the request asks it to: %s", (target, delayMs) => {
  expect(echoDelayMs({ target })).toBe(delayMs);
});

it("answers with the headers that the request names", () => {
  const headers = { "x-echo-set-header": "X-One:a:b, x-two:c,X-One: d" };
  expect(askedHeaders({ headers })).toEqual({ "X-One": "a:b,d", "x-two": "c" });
  expect(askedHeaders({ headers: {} })).toEqual({});
});

it("fails as often as a request wants, counted by its uuid", () => {
  const simulation = new RetrySimulation();
  const failures = (target: string) =>
    Array.from({ length: 3 }, () => simulation.failureOf({ target }));
  expect(failures("/retry/a?uuid=1&succeedAfter=2&responseCode=503")).toEqual([
    503,
    503,
    undefined,
  ]);
  expect(failures("/retry/a?uuid=2&succeedAfter=1")).toEqual(["reset", undefined, undefined]);
  expect(failures("/retry/a?succeedAfter=1")).toEqual([400, 400, 400]);
  expect(failures("/retries?uuid=3&succeedAfter=9")).toEqual([undefined, undefined, undefined]);
});

it("prints the line that suites look for", () => {
  expect(echoLine({ target: "/a?b", peer: "10.0.0.1" })).toBe(
    "Echoing back request made to /a?b to client (10.0.0.1)",
  );
});
