import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

async function run(files: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  await simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    for (const [path, content] of Object.entries(files)) {
      await environment.files.makeDirectory(path.slice(0, path.lastIndexOf("/")));
      await environment.files.write(path, content);
    }
    return runProgram({ environment, terminal, stop }, "1.2.3", ["doctor", ...args]);
  });
  return terminal.out;
}

const ghost = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: payroll-leader
  namespace: payroll-ingress
  annotations:
    control-plane.alpha.kubernetes.io/leader: '{"holderIdentity":"payroll-edge-x7k2p","renewTime":"2024-01-01T10:00:00Z"}'
---
NAMESPACE         NAME                 READY   STATUS    RESTARTS   AGE
payroll-ingress   payroll-edge-abcde   1/1     Running   0          5d
`;

const upstream =
  '2024/01/01 10:00:00 [error] 28#28: *9 connect() failed (111: Connection refused) while connecting to upstream, client: 10.9.9.9, server: pay.acme.test, request: "GET /a HTTP/1.1", upstream: "http://10.244.1.9:8080/a", host: "pay.acme.test"';

const secretWords = /payroll|acme|edge-x7k2p|10\.244\.1\.9|10\.9\.9\.9|team-blue/;

test.each(["text", "json", "markdown"])("an anonymous report has no names, as %s", async (form) => {
  const files = { "/team-blue/acme.txt": `${ghost}\n${upstream}\n` };
  const open = await run(files, "/team-blue", "--output", form);
  const hidden = await run(files, "/team-blue", "--output", form, "--anonymize");
  expect(open).toMatch(secretWords);
  expect(hidden).toContain("ghost-leader");
  expect(hidden).not.toMatch(secretWords);
});

test("the evidence to provide is readable, also where a pod has one of its words as its name", async () => {
  const pods =
    "NAMESPACE   NAME         READY   STATUS    RESTARTS   AGE\nedge        controller   1/1     Running   0          5d\n";
  const hidden = await run({ "/a/pods.txt": pods }, "/a", "--anonymize");
  expect(hidden).toContain("log and access log of the ingress controller: ");
});

test("the same name is replaced alike", async () => {
  const hidden = await run({ "/a/b.txt": ghost }, "/a", "--output", "json", "--anonymize");
  const { findings } = JSON.parse(hidden) as {
    findings: { cause: string; fix: { change: string } }[];
  };
  const holder = /held by (n[0-9a-f]{10}),/.exec(findings[0]?.cause ?? "")?.[1];
  expect(holder).toBeDefined();
  expect(findings[0]?.fix.change).toContain(`grep ${holder}`);
});

const cluster = (version: string, qps: string, verbs: string, label: string): string => `
Server Version: v${version}
    - --kube-api-qps=${qps}
    - --kube-api-burst=30
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: ingress }
rules: [{ apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [${verbs}] }]
---
apiVersion: v1
kind: Endpoints
metadata: { name: web, namespace: shop, labels: { ${label} app: web } }
`;

test("what differs from a healthy cluster", async () => {
  const files = {
    "/bad/a.yaml": cluster("1.17.3", "20", "get", 'service.kubernetes.io/headless: "",'),
    "/good/a.yaml": cluster("1.20.2", "300", "get, watch", ""),
  };
  const out = await run(files, "/bad", "--compare", "/good");
  expect(
    out.slice(out.indexOf("Differences"), out.indexOf("\n\n", out.indexOf("Differences"))),
  ).toMatchInlineSnapshot(`
    "Differences
      version: 1.17.3 here, 1.20.2 there
      flag --kube-api-qps: 20 here, 300 there
      ClusterRole ingress: watch endpointslices: missing here, allowed there
      Endpoints with the label service.kubernetes.io/headless: 1 here, 0 there"
  `);
  const json = JSON.parse(
    await run(files, "/bad", "--compare", "/bad", "--output", "json"),
  ) as object;
  expect(json).toMatchObject({ differences: [] });
});
