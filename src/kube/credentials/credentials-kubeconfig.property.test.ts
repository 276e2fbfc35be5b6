// Kubeconfig files of any content give contexts or a `CredentialsError`, and no error shows a secret.
import fc from "fast-check";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { nodeEnvironment } from "../../environment/node/node-environment.ts";
import { isThorough } from "../../simulation/seeds.ts";
import { CredentialsError } from "./credentials.ts";
import { contextAccess } from "./credentials-kubeconfig.ts";
import { parseKubeconfig } from "./credentials-kubeconfig-document.ts";

/** Enough to meet the odd ones; each takes some milliseconds. */
const numRuns = isThorough(process.env) ? 2_000 : 40;

const environment = nodeEnvironment({ log: { write: () => undefined } });

const secret = "hunter2";

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, "", 0, true, [], {}, [null], "12", "__proto__", "\u0000\u001b"),
  fc.string(),
  fc.jsonValue(),
);

/** Right most of the time, so that the next check is reached too. */
function mostly(right: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 8, arbitrary: right }, { weight: 1, arbitrary: odd });
}

function object(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> {
  const named = Object.entries(fields).map(([name, value]) => [name, mostly(value)] as const);
  return mostly(fc.record(Object.fromEntries(named), { requiredKeys: [] }));
}

function list(item: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return mostly(fc.array(item, { maxLength: 3 }));
}

const name = fc.constantFrom("a", "b", "__proto__", "constructor");
const text = fc.constantFrom<unknown>(secret, "./file", "/dev/zero", [secret], {
  [secret]: secret,
});
const pemData = fc.constantFrom(
  Buffer.from("-----BEGIN X-----").toString("base64"),
  Buffer.from(secret).toString("base64"),
);

const cluster = object({
  server: fc.constantFrom("https://a.example", "http://[::1]:1/path", `https://x:${secret}@y`, "y"),
  "certificate-authority": text,
  "certificate-authority-data": pemData,
  "insecure-skip-tls-verify": fc.boolean(),
  "tls-server-name": text,
  "proxy-url": fc.constant(undefined),
  extensions: list(
    object({ name: fc.constant("client.authentication.k8s.io/exec"), extension: odd }),
  ),
});

const exec = object({
  apiVersion: fc.constantFrom("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v2"),
  command: text,
  args: list(text),
  env: list(object({ name, value: text })),
  interactiveMode: fc.constantFrom("Never", "IfAvailable", "Always"),
  provideClusterInfo: fc.boolean(),
});

const user = object({
  "client-certificate": text,
  "client-certificate-data": pemData,
  "client-key": text,
  "client-key-data": pemData,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  exec,
});

const kubeconfig = object({
  apiVersion: fc.constant("v1"),
  kind: fc.constant("Config"),
  "current-context": name,
  clusters: list(object({ name, cluster })),
  users: list(object({ name, user })),
  contexts: list(object({ name, context: object({ cluster: name, user: name }) })),
});

/** Undefined when all contexts can be used. Any other error fails the test. */
function problemOf(content: string): CredentialsError | undefined {
  try {
    const document = {
      ...parseKubeconfig("/k/config", Buffer.from(content)),
      paths: ["/k/config"],
    };
    for (const context of document.contexts.keys()) contextAccess(document, context, environment);
    return undefined;
  } catch (error) {
    if (error instanceof CredentialsError) return error;
    throw error;
  }
}

it("reads or refuses every combination of fields and types", () => {
  let read = 0;
  fc.assert(
    fc.property(kubeconfig, (value) => {
      const problem = problemOf(stringify(value));
      if (problem === undefined) read += 1;
      const message = problem?.message ?? "the kubeconfig /k/config is right";
      expect(message).toContain("the kubeconfig /k/config");
      expect(message).not.toContain(secret);
    }),
    { numRuns },
  );
  expect(read).toBeGreaterThan(0);
});

it("reads or refuses damaged YAML, and quotes none of it", () => {
  const whole = stringify({
    clusters: [{ name: "a", cluster: { server: "https://a.example" } }],
    users: [{ name: "a", user: { token: secret, password: `${secret}: *[${secret}` } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
  });
  const damage = fc.constantFrom(
    "",
    "'",
    '"',
    "*",
    "&",
    "[",
    "{",
    "|",
    ": ",
    "\n",
    "\t",
    "!",
    "%",
    "\\",
  );
  const secrets = [...whole.matchAll(new RegExp(secret, "g"))].map(({ index }) => index);
  const place = fc.oneof(fc.nat(whole.length), fc.constantFrom(...secrets));
  fc.assert(
    fc.property(place, fc.nat(1), damage, (at, cut, mark) => {
      const content = `${whole.slice(0, at)}${mark}${whole.slice(at + cut)}`;
      expect(problemOf(content)?.message ?? "").not.toContain(secret);
    }),
    { numRuns: 3 * numRuns },
  );
});

it("reads or refuses any bytes", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" })), (content) => {
      expect(() => problemOf(content)).not.toThrow();
    }),
    { numRuns },
  );
});
