// Kubeconfig files on a real disk, down to a request over real TLS with what they say.
import { webcrypto } from "node:crypto";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KubectlAnswer, kubectlCases } from "../../../tests/credentials/kubectl-answers.ts";
import { makeAuthority } from "../../apiserver/certificate-authority.ts";
import type { Clock, MonotonicMs, WallMs } from "../../environment/clock.ts";
import { nodeEnvironment } from "../../environment/node/node-environment.ts";
import type { Processes } from "../../environment/processes.ts";
import { HttpKubeClient } from "../client/http-client.ts";
import { type ClusterAccess, CredentialsError } from "./credentials.ts";
import { type KubeconfigOptions, kubeconfigAccess } from "./credentials-kubeconfig.ts";

const environment = nodeEnvironment({ log: { write: () => undefined } });
const { files, log } = environment;
const caPem = "-----BEGIN CERTIFICATE-----\nca\n-----END CERTIFICATE-----\n";
const caData = Buffer.from(caPem).toString("base64");

let directory: string;
let elapsedMs: number;
const clock: Clock = {
  monotonicMs: () => elapsedMs as MonotonicMs,
  wallMs: () => elapsedMs as WallMs,
};

beforeEach(async () => {
  elapsedMs = 0;
  directory = await files.temporaryDirectory("credentials-kubeconfig-");
});
afterEach(() => files.remove(directory));

describe("choosing", () => {
  it("gives all contexts, the current one, or those that are named, in their order", async () => {
    const path = await write("config", config({ current: "b", contexts: ["a", "b", "c"] }));
    expect(await names({ path, contexts: "all" })).toEqual(["a", "b", "c"]);
    expect(await names({ path, contexts: "current" })).toEqual(["b"]);
    expect(await names({ path, contexts: ["c", "a"] })).toEqual(["c", "a"]);
  });

  it("looks in the files of $KUBECONFIG, the first to name something being right", async () => {
    const one = await write("one", config({ current: "", contexts: ["a"], token: "first" }));
    const two = await write("two", config({ current: "b", contexts: ["a", "b"], token: "second" }));
    const empty = await write("empty", "");
    const variables = { KUBECONFIG: `${directory}/absent:${empty}:${one}::${two}` };
    const accesses = await access({ variables, contexts: "all" });
    expect(await Promise.all(accesses.map(shown))).toEqual([
      { name: "a", server: "https://a.example", authorization: "Bearer first" },
      { name: "b", server: "https://b.example", authorization: "Bearer second" },
    ]);
    expect(await names({ variables, contexts: "current" })).toEqual(["b"]);
  });

  it("looks in the home folder when no other place is given", async () => {
    await files.makeDirectory(`${directory}/.kube`);
    await write(".kube/config", config({ current: "home", contexts: ["home"] }));
    expect(await names({ variables: { HOME: directory }, contexts: "current" })).toEqual(["home"]);
  });
});

describe("credentials", () => {
  it("are read from data, or from files beside the kubeconfig", async () => {
    await write("ca.pem", caPem);
    const cert = Buffer.from("-----BEGIN CERTIFICATE-----\nclient").toString("base64");
    const path = await write(
      "config",
      `
clusters:
- {name: c, cluster: {server: "https://c.example/", certificate-authority: ca.pem, tls-server-name: other}}
- {name: d, cluster: {server: "https://d.example", certificate-authority-data: ${caData}}}
- {name: e, cluster: {server: "https://e.example", insecure-skip-tls-verify: true}}
users:
- {name: pair, user: {client-certificate-data: ${cert}, client-key: key.pem}}
- {name: basic, user: {username: ann, password: pw}}
contexts:
- {name: files, context: {cluster: c, user: pair}}
- {name: data, context: {cluster: d, user: basic}}
- {name: anonymous, context: {cluster: e}}
`,
    );
    await write("key.pem", "KEY\n");
    const accesses = await access({ path, contexts: "all" });
    expect(accesses.map(({ server }) => server)).toEqual([
      "https://c.example",
      "https://d.example",
      "https://e.example",
    ]);
    expect(await Promise.all(accesses.map((one) => one.credentials()))).toEqual([
      {
        authorization: undefined,
        tls: {
          ca: caPem.trim(),
          cert: "-----BEGIN CERTIFICATE-----\nclient",
          key: "KEY",
          serverName: "other",
        },
      },
      { authorization: `Basic ${Buffer.from("ann:pw").toString("base64")}`, tls: { ca: caPem } },
      { authorization: undefined, tls: { insecureSkipVerify: true } },
    ]);
  });

  it("from a token file are read again each minute, and at once when refused", async () => {
    await write("token", "one\n");
    const path = await write("config", config({ contexts: ["a"], user: "{tokenFile: token}" }));
    const only = await single({ path });
    const first = await only.credentials();
    expect(first.authorization).toBe("Bearer one");
    await write("token", "two\n");
    elapsedMs = 59_999;
    expect((await only.credentials()).authorization).toBe("Bearer one");
    elapsedMs = 60_000;
    const second = await only.credentials();
    expect(second.authorization).toBe("Bearer two");
    expect(second.tls).toBe(first.tls);
    await write("token", "three\n");
    only.invalidate(second);
    expect((await only.credentials()).authorization).toBe("Bearer three");
    await files.remove(`${directory}/token`);
    elapsedMs = 200_000;
    expect((await only.credentials()).authorization).toBe("Bearer three");
  });

  it("come from a plugin beside the kubeconfig", async () => {
    const apiVersion = "client.authentication.k8s.io/v1";
    const credential = { kind: "ExecCredential", apiVersion, status: { token: "minted" } };
    await files.makeDirectory(`${directory}/bin`);
    await write("bin/plugin", `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`, 0o755);
    const user = `{exec: {apiVersion: "${apiVersion}", command: bin/plugin}}`;
    const path = await write("config", config({ contexts: ["a"], user }));
    expect((await (await single({ path })).credentials()).authorization).toBe("Bearer minted");
  });

  it("of a plugin are not asked for where there is a token", async () => {
    const user = "{token: stored, exec: {apiVersion: x, command: absent}}";
    const path = await write("config", config({ contexts: ["a"], user }));
    expect((await (await single({ path })).credentials()).authorization).toBe("Bearer stored");
  });

  it("come from a plugin that receives the cluster with its authority and its extension", async () => {
    const apiVersion = "client.authentication.k8s.io/v1";
    const credential = { kind: "ExecCredential", apiVersion, status: { token: "minted" } };
    await write("ca.pem", caPem);
    await write(
      "plugin",
      `#!/bin/sh
printf '%s' "$KUBERNETES_EXEC_INFO" > ${directory}/info
echo '${JSON.stringify(credential)}'
`,
      0o755,
    );
    const path = await write(
      "config",
      `
clusters:
- name: c
  cluster:
    server: https://c.example
    certificate-authority: ca.pem
    tls-server-name: other
    extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: shop}}]
users: [{name: u, user: {exec: {apiVersion: ${apiVersion}, command: ./plugin, provideClusterInfo: true}}}]
contexts: [{name: a, context: {cluster: c, user: u}}]
`,
    );
    expect((await (await single({ path })).credentials()).authorization).toBe("Bearer minted");
    const info = Buffer.from((await files.read(`${directory}/info`)) ?? []).toString("utf8");
    expect(JSON.parse(info)).toEqual({
      kind: "ExecCredential",
      apiVersion,
      spec: {
        cluster: {
          server: "https://c.example",
          "tls-server-name": "other",
          "certificate-authority-data": Buffer.from(caPem.trim()).toString("base64"),
          config: { audience: "shop" },
        },
        interactive: false,
      },
    });
  });

  it("open a real HTTPS connection", async () => {
    const { clock } = nodeEnvironment();
    const authority = await makeAuthority({ clock, crypto: webcrypto, name: "kubeconfig test" });
    const tls = await authority.issueServer(["127.0.0.1"]);
    const listener = await environment.network.listen(
      { host: "127.0.0.1", port: 0, tls },
      (exchange) => {
        const { authorization } = exchange.request.headers;
        exchange.respond(200).end(Buffer.from(JSON.stringify({ authorization })));
      },
    );
    await write("ca.pem", authority.ca);
    const path = await write(
      "config",
      `
clusters: [{name: c, cluster: {server: "https://127.0.0.1:${listener.port}", certificate-authority: ca.pem}}]
users: [{name: u, user: {token: over-tls}}]
contexts: [{name: a, context: {cluster: c, user: u}}]
`,
    );
    const cluster = await single({ path });
    const client = new HttpKubeClient({ ...environment, cluster, userAgent: "lockstep/test" });
    const response = await client.request({ verb: "get", method: "GET", path: "/version" });
    expect(response.body.toString()).toBe('{"authorization":"Bearer over-tls"}');
    await listener.close();
  });
});

describe("what is wrong", () => {
  it.each([
    [
      "users: [",
      "MALFORMED",
      "FILE is malformed: yaml: line 1: Flow sequence in block collection must be sufficiently indented and end with a ]",
    ],
    ["just text", "MALFORMED", "FILE is malformed: it is not a YAML object"],
    [
      "kind: Pod",
      "MALFORMED",
      'FILE is malformed: it is "Pod" of apiVersion "v1", not Config of v1',
    ],
    ["users: [3]", "MALFORMED", "FILE is malformed: users[0] should have a name and a user"],
    ["users: [{user: {}}]", "MALFORMED", "FILE is malformed: users[0] has no name"],
    ["clusters: {a: b}", "MALFORMED", "FILE is malformed: clusters should be a list, not object"],
    [
      "users: [{name: 12}]",
      "MALFORMED",
      "FILE is malformed: users[0]: name should be a string, not a number; put it in quotes",
    ],
    [
      config({ contexts: ["absent"], user: "{username: ann, password: no}" }),
      "MALFORMED",
      'FILE is malformed: user "absent": password should be a string, not a boolean; put it in quotes',
    ],
    [
      config({ contexts: ["absent", "absent"] }),
      "MALFORMED",
      'FILE is malformed: it has two entries for context "absent"',
    ],
    [
      config({ contexts: ["absent"], user: "{token: *secret}" }),
      "MALFORMED",
      "FILE is malformed: yaml: Unresolved alias (the anchor must be set before the alias)",
    ],
    ["", "NOT_FOUND", "FILE has no contexts"],
    [
      config({ contexts: ["a", "b"] }),
      "NOT_FOUND",
      'FILE has no context "absent"; available: a, b',
    ],
    [
      config({ contexts: Array.from({ length: 12 }, (_, index) => `c${index}`) }),
      "NOT_FOUND",
      'FILE has no context "absent"; available: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more',
    ],
    [
      'contexts: [{name: "\\e[31m"}]',
      "NOT_FOUND",
      'FILE has no context "absent"; available: "\\u001b[31m"',
    ],
    ["contexts: [{name: absent}]", "MALFORMED", 'FILE: context "absent": cluster is missing'],
    [
      "contexts: [{name: absent, context: {cluster: c, user: u}}]",
      "NOT_FOUND",
      'FILE has no cluster "c", which context "absent" refers to; available: none',
    ],
    [
      config({ contexts: ["absent"] }).replace("user: absent", "user: nobody"),
      "NOT_FOUND",
      'FILE has no user "nobody", which context "absent" refers to; available: absent',
    ],
    [
      config({ contexts: ["absent"] }).replace(/server: [^}]*/, "proxy-url: http://p"),
      "UNSUPPORTED",
      'FILE: cluster "absent": proxy-url is not supported',
    ],
    [
      config({ contexts: ["absent"] }).replace(/server: [^}]*/, ""),
      "MALFORMED",
      'FILE: cluster "absent": server is missing',
    ],
    ...[
      "c.example:6443",
      "ftp://c.example",
      "https://ann:secret@c.example",
      "https://c.example?a=b",
    ].map((server) => [
      config({ contexts: ["absent"] }).replace("https://absent.example", server),
      "MALFORMED",
      'FILE: cluster "absent": server should be a URL such as https://10.0.0.1:6443',
    ]),
    ["{as: root}", "UNSUPPORTED", "impersonation (as) is not supported"],
    ["{as-groups: [system:masters]}", "UNSUPPORTED", "impersonation (as) is not supported"],
    [
      "{auth-provider: {name: oidc}}",
      "UNSUPPORTED",
      "auth-provider is not supported, nor by kubectl since 1.26; use the exec plugin of the provider",
    ],
    ["{exec: {command: x}}", "MALFORMED", "exec: apiVersion should be a string, not empty"],
    ["{client-key-data: '%%'}", "MALFORMED", "client-key-data is not PEM in base64"],
    ["{client-certificate: a.pem}", "MALFORMED", "client-certificate needs client-key"],
    ["{token: t, username: ann}", "MALFORMED", "it has a token and a password; remove one of them"],
  ])("is reported in a sentence (%#)", async (text = "", code = "", message = "") => {
    const isUser = !message.startsWith("FILE");
    const path = await write(
      "config",
      isUser ? config({ contexts: ["absent"], user: text }) : text,
    );
    const whole = isUser ? `FILE: user "absent": ${message}` : message;
    await expect(access({ path, contexts: ["absent"] })).rejects.toMatchObject({
      name: "CredentialsError",
      code,
      message: whole.replace("FILE", `the kubeconfig ${path}`),
    });
  });

  it("in one entry breaks no other context", async () => {
    const broken = config({ contexts: ["a", "b"] }).replace("https://b.example", "nowhere");
    const path = await write("config", broken);
    expect(await names({ path, contexts: ["a"] })).toEqual(["a"]);
  });

  it.each([
    [
      "apiVersion: client.authentication.k8s.io/v1alpha1, command: x",
      "UNSUPPORTED",
      'the credential plugin of user "a" has an apiVersion that is not supported; use one of: client.authentication.k8s.io/v1, client.authentication.k8s.io/v1beta1',
    ],
    [
      "command: x, interactiveMode: Always",
      "UNSUPPORTED",
      'the credential plugin of user "a" needs a terminal, but there is none',
    ],
    [
      "command: x, interactiveMode: Often",
      "MALFORMED",
      'user "a": exec: interactiveMode should be Never, IfAvailable, Always',
    ],
    [
      'command: x, provideClusterInfo: "true"',
      "MALFORMED",
      'user "a": exec: provideClusterInfo should be true or false, not string',
    ],
    [
      "command: x, args: [1]",
      "MALFORMED",
      'user "a": exec: an item of args should be a string, not number',
    ],
    [
      "command: x, env: [{value: b}]",
      "MALFORMED",
      'user "a": exec: name should be a string, not empty',
    ],
    ["args: [a]", "MALFORMED", 'user "a": exec: command should be a string, not empty'],
  ])("is reported for a plugin: %s", async (fields, code, message) => {
    const version = fields.includes("apiVersion")
      ? ""
      : "apiVersion: client.authentication.k8s.io/v1beta1, ";
    const user = `{exec: {${version}${fields}}}`;
    const path = await write("config", config({ contexts: ["a"], user }));
    await expect(single({ path })).rejects.toMatchObject({
      code,
      message: `the kubeconfig ${path}: ${message}`,
    });
  });

  it("is reported for a file that is absent or cannot be read, with its path", async () => {
    await expect(access({ path: `${directory}/absent`, contexts: "all" })).rejects.toMatchObject({
      code: "UNREADABLE",
      message: `there is no kubeconfig (looked for ${directory}/absent); name one with --kubeconfig or $KUBECONFIG`,
    });
    await expect(access({ path: directory, contexts: "all" })).rejects.toMatchObject({
      code: "UNREADABLE",
      message: `the kubeconfig: ${directory} is a folder`,
    });
    const path = await write("config", config({ contexts: ["a"], user: "{tokenFile: absent}" }));
    await expect((await single({ path })).credentials()).rejects.toMatchObject({
      code: "UNREADABLE",
      message: `the token of user "a": no such file: ${directory}/absent`,
    });
  });

  it("is reported for files without end", async () => {
    await expect(access({ path: "/dev/zero", contexts: "all" })).rejects.toMatchObject({
      code: "UNREADABLE",
      message: "the kubeconfig: /dev/zero has more than 32 MB; is it the right file?",
    });
    const path = await write("config", config({ contexts: ["a"], user: "{tokenFile: /dev/zero}" }));
    await expect((await single({ path })).credentials()).rejects.toMatchObject({
      code: "UNREADABLE",
      message: 'the token of user "a": /dev/zero has more than 1 MB; is it the right file?',
    });
  });

  it("is reported where $KUBECONFIG names no file, although there is one in the home folder", async () => {
    await files.makeDirectory(`${directory}/.kube`);
    await write(".kube/config", config({ contexts: ["home"] }));
    const variables = { HOME: directory, KUBECONFIG: ":" };
    await expect(access({ variables, contexts: "all" })).rejects.toMatchObject({
      code: "UNREADABLE",
      message:
        "there is no kubeconfig (KUBECONFIG and HOME are not set); " +
        "name one with --kubeconfig or $KUBECONFIG",
    });
  });
});

it.each(kubectlCases)("agrees with kubectl: $title", async (one) => {
  for (const [name, text] of Object.entries(one.files)) {
    await files.makeDirectory(dirname(`${directory}/${name}`));
    await write(name, text);
  }
  const KUBECONFIG = one.kubeconfig.map((name) => `${directory}/${name}`).join(":");
  const contexts = one.context === undefined ? "current" : [one.context];
  const read = async () => {
    const [only] = await access({ variables: { KUBECONFIG }, contexts });
    return { context: only?.name, server: only?.server, ...(await only?.credentials()) };
  };
  const answer = await read().catch((error: unknown) => {
    if (error instanceof CredentialsError) return "refused";
    throw error;
  });
  expect(answer).toEqual(one.answer === "refused" ? "refused" : asCredentials(one.answer));
});

/** The credentials that kubectl would use by its answer. */
function asCredentials({ context, cluster, user }: KubectlAnswer) {
  const decoded = (data: string | undefined) =>
    data === undefined ? undefined : Buffer.from(data, "base64").toString("utf8").trim();
  const basic = Buffer.from(`${user["username"]}:${user["password"]}`).toString("base64");
  const tls = {
    ca: decoded(cluster["certificate-authority-data"]),
    cert: decoded(user["client-certificate-data"]),
    key: decoded(user["client-key-data"]),
    serverName: cluster["tls-server-name"],
    insecureSkipVerify: cluster["insecure-skip-tls-verify"],
  };
  const bearer = user["token"] === undefined ? undefined : `Bearer ${user["token"]}`;
  return {
    context,
    server: cluster["server"],
    authorization: user["username"] === undefined ? bearer : `Basic ${basic}`,
    tls,
  };
}

interface Asked {
  readonly path?: string;
  readonly variables?: Processes["variables"];
  readonly contexts: KubeconfigOptions["contexts"];
}

function access({ path, variables = {}, contexts }: Asked): Promise<readonly ClusterAccess[]> {
  const processes = processesWith(variables);
  return kubeconfigAccess({ files, clock, log, processes, contexts, path });
}

async function names(asked: Asked): Promise<string[]> {
  return (await access(asked)).map(({ name }) => name);
}

async function single(asked: { path: string }): Promise<ClusterAccess> {
  const [only] = await access({ ...asked, contexts: "all" });
  if (only === undefined) throw new Error("no context");
  return only;
}

async function shown(one: ClusterAccess) {
  const { authorization } = await one.credentials();
  return { name: one.name, server: one.server, authorization };
}

function processesWith(variables: Processes["variables"]): Processes {
  return { ...environment.processes, variables };
}

async function write(name: string, content: string, mode?: number): Promise<string> {
  const path = `${directory}/${name}`;
  await files.write(path, content, mode === undefined ? {} : { mode });
  return path;
}

/** Contexts with a cluster and a user each, all of the context's name. */
function config(fields: {
  contexts: readonly string[];
  current?: string;
  token?: string;
  user?: string;
}): string {
  const { contexts, current = "", token = "t", user = `{token: ${token}}` } = fields;
  return [
    `current-context: "${current}"`,
    "clusters:",
    ...contexts.map((name) => `- {name: ${name}, cluster: {server: "https://${name}.example"}}`),
    "users:",
    ...contexts.map((name) => `- {name: ${name}, user: ${user}}`),
    "contexts:",
    ...contexts.map((name) => `- {name: ${name}, context: {cluster: ${name}, user: ${name}}}`),
    "",
  ].join("\n");
}
