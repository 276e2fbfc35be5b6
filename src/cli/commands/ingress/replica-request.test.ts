// The kubeconfig reader loads this at its first use, which virtual time cannot wait for.
import "@kubernetes/client-node";
import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { kubeconfig } from "../../../lab/kubeconfig.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

const report = { kind: "unknown", near: ["shop/web:80"] };

interface Answer {
  readonly status: number;
  readonly body: string;
}

const refused = (message: string): Answer => ({
  status: 403,
  body: JSON.stringify({ kind: "Status", reason: "Forbidden", message }),
});

function pod(name: string, ready: string, ports: readonly object[] = []): object {
  return {
    metadata: { name, namespace: "edge" },
    spec: { containers: [{ ports }] },
    status: { conditions: [{ type: "Ready", status: ready }] },
  };
}

const list = (...items: readonly object[]): Answer => ({
  status: 200,
  body: JSON.stringify({ kind: "PodList", items }),
});

/** `lockstep ingress endpoints` in a cluster whose API server answers by the path of the request. */
async function ask(answers: Readonly<Record<string, Answer>>, ...flags: readonly string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const paths: string[] = [];
  const code = await simulate({ seed: 1 }, async (simulation) => {
    const server = simulation.host("server");
    await server.network.listen({ host: "server", port: 6443 }, (exchange) => {
      const [path = ""] = exchange.request.target.split("?");
      paths.push(path);
      const { status, body } = answers[path] ?? { status: 404, body: "" };
      exchange.respond(status).end(Buffer.from(body));
    });
    const environment = simulation.host("here");
    const cluster = { name: "prod", server: "http://server:6443", token: "t" };
    await environment.files.write("/kube.yaml", kubeconfig([cluster]));
    const line = [
      "ingress",
      "endpoints",
      "shop/web",
      "--kubeconfig",
      "/kube.yaml",
      "--context",
      "prod",
    ];
    return runProgram({ environment, terminal, stop }, "1", [...line, ...flags]);
  });
  return { code, out: terminal.out, paths };
}

const pods = "/api/v1/pods";
const proxied = (name: string) => `/api/v1/namespaces/edge/pods/${name}/proxy/endpoints`;
const answer: Answer = { status: 200, body: JSON.stringify(report) };

test("the first ready replica is found by its labels and asked at its status port", async () => {
  const found = list(
    pod("c", "True"),
    pod("a", "False"),
    pod("b", "True", [{ name: "status", containerPort: 9 }]),
  );
  const { code, out } = await ask({ [pods]: found, [proxied("b:9")]: answer });
  expect([code, out]).toEqual([1, "✗ No route leads to shop/web. Similar: shop/web:80.\n"]);
});

test("a replica that is named is asked without a look at others", async () => {
  const flags = ["--pod", "edge/x", "--status-port", "77"];
  const { code, paths } = await ask({ [proxied("x:77")]: answer }, ...flags);
  expect([code, paths]).toEqual([1, [proxied("x:77")]]);
});

test.each<[string, Readonly<Record<string, Answer>>, readonly string[], RegExp]>([
  [
    "no permission to list",
    { [pods]: refused("pods is forbidden") },
    [],
    /pods is forbidden; grant "list" on pods, or name one with --pod/,
  ],
  [
    "no replica",
    { [pods]: list() },
    [],
    /prod has no pod with the labels .* --pod namespace\/name/,
  ],
  ["no ready replica", { [pods]: list(pod("a", "False")) }, [], /2 pods, but none is ready/],
  [
    "no permission for the proxy",
    { [proxied("x:10260")]: refused("pods/proxy is forbidden") },
    ["--pod", "edge/x"],
    /grant "get" on pods\/proxy in namespace edge, or use kubectl port-forward -n edge x 10260/,
  ],
  [
    "a listener that is not reached",
    {},
    ["--pod", "edge/x"],
    /pod edge\/x does not answer at port 10260: .*--status-address 0\.0\.0\.0 there, and no NetworkPolicy/,
  ],
  [
    "no such pod",
    {
      [proxied("x:10260")]: {
        status: 404,
        body: JSON.stringify({ kind: "Status", reason: "NotFound", message: 'pods "x" not found' }),
      },
    },
    ["--pod", "edge/x"],
    /there is no pod edge\/x; without --pod the first ready replica is asked/,
  ],
  [
    "another program",
    { [proxied("x:10260")]: { status: 200, body: "hello" } },
    ["--pod", "edge/x"],
    /did not return JSON/,
  ],
  ["an address as well", {}, ["--status-address", "127.0.0.1"], /cannot be used together/],
])("with %s the error says what to do", async (_, answers, flags, message) => {
  await expect(ask(answers, ...flags)).rejects.toThrow(message);
});
