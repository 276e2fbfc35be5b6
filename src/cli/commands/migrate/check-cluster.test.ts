// The kubeconfig reader loads this at its first use, which virtual time cannot wait for.
import "@kubernetes/client-node";
import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { kubeconfig } from "../../../lab/kubeconfig.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

const backend = { service: { name: "web", port: { number: 80 } } };

/** As a list has it: the items have no kind. */
function ingress(name: string, secretName: string): object {
  return {
    metadata: { name, namespace: "shop", uid: name, resourceVersion: "1" },
    spec: {
      ingressClassName: "nginx",
      tls: [{ hosts: [`${name}.example`], secretName }],
      rules: [
        { host: `${name}.example`, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } },
      ],
    },
  };
}

const networking = "/apis/networking.k8s.io/v1";
const secrets = "/api/v1/namespaces/shop/secrets";

const objects: Readonly<Record<string, unknown>> = {
  [`${networking}/ingresses`]: { metadata: { continue: "more" }, items: [ingress("a", "none")] },
  [`${networking}/ingresses more`]: { metadata: {}, items: [ingress("b", "opaque")] },
  [`${networking}/ingressclasses`]: {
    items: [
      {
        metadata: { name: "nginx", uid: "c", resourceVersion: "1" },
        spec: { controller: "k8s.io/ingress-nginx" },
      },
    ],
  },
  "/api/v1/services": { items: [] },
  "/apis/apps/v1/deployments": {
    items: [
      {
        metadata: { name: "controller", namespace: "edge" },
        spec: {
          template: {
            spec: {
              containers: [{ args: ["/nginx-ingress-controller", "--configmap=edge/settings"] }],
            },
          },
        },
      },
    ],
  },
  "/apis/apps/v1/daemonsets": { items: [] },
  "/api/v1/namespaces/edge/configmaps/settings": {
    kind: "ConfigMap",
    metadata: { name: "settings", namespace: "edge" },
    data: { "use-gzip": "true" },
  },
  [`${secrets}/opaque`]: {
    kind: "Secret",
    type: "Opaque",
    metadata: { name: "opaque", namespace: "shop" },
  },
};

/** `lockstep migrate check` in a cluster that refuses some paths. Returns every request. */
async function checked(refused: readonly string[], ...flags: readonly string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const requests: string[] = [];
  const code = await simulate({ seed: 1 }, async (simulation) => {
    const server = simulation.host("server");
    await server.network.listen({ host: "server", port: 6443 }, (exchange) => {
      const { method, target } = exchange.request;
      const { pathname, searchParams } = new URL(target, "http://server");
      const next = searchParams.get("continue");
      requests.push(`${method} ${pathname}`);
      const found = objects[next === null ? pathname : `${pathname} ${next}`];
      const status = refused.some((part) => pathname.includes(part)) ? 403 : found ? 200 : 404;
      const body = status === 200 ? found : { kind: "Status", message: "no" };
      exchange.respond(status).end(Buffer.from(JSON.stringify(body)));
    });
    const environment = simulation.host("here");
    const cluster = { name: "prod", server: "http://server:6443", token: "t" };
    await environment.files.write("/kube.yaml", kubeconfig([cluster]));
    const line = ["migrate", "check", "--context", "prod", "--kubeconfig", "/kube.yaml", "--json"];
    return runProgram({ environment, terminal, stop }, "1", [...line, ...flags]);
  });
  return { code, requests, ...JSON.parse(terminal.out) };
}

interface Shown {
  readonly name: string;
  readonly findings: readonly { readonly kind: string; readonly about: string }[];
}

const inWords = (ingresses: readonly Shown[]) =>
  ingresses.map(
    ({ name, findings }) =>
      `${name} ${findings.map(({ kind, about }) => `${kind} ${about}`).join(", ")}`,
  );

test("a cluster is read page by page, and nothing is written", async () => {
  const { code, ingresses, controller, notes, requests } = await checked([]);
  expect(code).toBe(1);
  expect(inWords(ingresses)).toEqual([
    "b refused spec.tls[0], note backend web:80",
    "a note spec.tls[0], note backend web:80",
  ]);
  expect(controller).toMatchObject({
    configMap: "edge/settings",
    settings: [{ name: "use-gzip", verdict: "differs" }],
  });
  expect(notes).toEqual([]);
  expect(requests.filter((one: string) => !one.startsWith("GET "))).toEqual([]);
  expect(requests.filter((one: string) => one.includes("secrets"))).toEqual([
    `GET ${secrets}/none`,
    `GET ${secrets}/opaque`,
  ]);
});

test("a missing permission is named with its cost, and the rest is checked", async () => {
  const refused = ["services", "deployments", "daemonsets", "ingressclasses", "secrets"];
  const { ingresses, notes, notChecked } = await checked(refused);
  expect(inWords(ingresses)).toEqual(["a ", "b "]);
  expect(notes).toEqual([
    "no permission to list ingressclasses: only the class nginx is checked",
    "no permission to list services: missing Services and ports are not reported",
    "no permission to list deployments: the flags of ingress-nginx are unknown",
    "no permission to list daemonsets: the flags of ingress-nginx are unknown",
    "no permission to get 2 of 2 secrets that Ingresses name: their certificates and passwords are not checked",
  ]);
  expect(notChecked).toEqual([expect.stringContaining("Services")]);
});

test("--no-secrets asks for none", async () => {
  const { requests, notChecked } = await checked([], "--no-secrets");
  expect(requests.filter((one: string) => one.includes("secrets"))).toEqual([]);
  expect(notChecked).toEqual([expect.stringContaining("TLS certificates")]);
});

test("without permission for Ingresses the command ends with the refusal", async () => {
  await expect(checked(["ingresses"])).rejects.toThrow(/no/);
});
