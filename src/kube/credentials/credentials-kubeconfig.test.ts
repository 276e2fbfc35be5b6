// Kubeconfig files on a real disk, down to a request over real TLS with what they say.
import { webcrypto } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Clock, MonotonicMs, WallMs } from "../../environment/clock.ts";
import { nodeEnvironment } from "../../environment/node/node-environment.ts";
import type { Processes } from "../../environment/processes.ts";
import { makeAuthority } from "../../lab/apiserver/certificate-authority.ts";
import { HttpKubeClient } from "../client/http-client.ts";
import type { ClusterAccess } from "./credentials.ts";
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

  it("looks in the home folder when nothing else is said", async () => {
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
    ["users: [", "MALFORMED", /^the kubeconfig \S+ is malformed: .+ at line 1, column 9/],
    ["just text", "MALFORMED", /^the kubeconfig \S+ is not a YAML object$/],
    [
      "clusters: [{name: c, cluster: {}}]",
      "MALFORMED",
      /^the kubeconfig \S+ is malformed: clusters\[0\]\.cluster\.server is missing$/,
    ],
    ["", "NOT_FOUND", /^the kubeconfig \S+ has no contexts$/],
    [
      config({ contexts: ["a", "b"] }),
      "NOT_FOUND",
      /^the kubeconfig has no context "absent"; it has: a, b$/,
    ],
    [
      "contexts: [{name: absent, context: {cluster: c, user: u}}]",
      "NOT_FOUND",
      /^the kubeconfig has no cluster "c", which context "absent" refers to; it has: none$/,
    ],
    [
      config({ contexts: ["absent"] }).replace("user: absent", "user: nobody"),
      "NOT_FOUND",
      /^the kubeconfig has no user "nobody", which context "absent" refers to; it has: absent$/,
    ],
    [
      config({ contexts: ["absent"], user: "{as: root}" }),
      "UNSUPPORTED",
      /^user "absent" impersonates another \(as\), which is not supported$/,
    ],
    [
      config({ contexts: ["absent"], user: "{exec: {command: x}}" }),
      "MALFORMED",
      /^the exec section of user "absent" is malformed: apiVersion should be a string, not empty$/,
    ],
    [
      config({ contexts: ["absent"], user: "{client-key-data: '%%'}" }),
      "MALFORMED",
      /^the key of user "absent" is not PEM in base64$/,
    ],
  ])("is said in a sentence (%#)", async (text, code, message) => {
    const path = await write("config", text);
    await expect(access({ path, contexts: ["absent"] })).rejects.toMatchObject({
      name: "CredentialsError",
      code,
      message: expect.stringMatching(message),
    });
  });

  it("is said of a file that is absent or cannot be read, with where we looked", async () => {
    await expect(access({ path: `${directory}/absent`, contexts: "all" })).rejects.toMatchObject({
      code: "UNREADABLE",
      message: `there is no kubeconfig (looked for ${directory}/absent); name one with --kubeconfig or $KUBECONFIG`,
    });
    await expect(access({ path: directory, contexts: "all" })).rejects.toMatchObject({
      code: "UNREADABLE",
      message: expect.stringMatching(`^the kubeconfig: cannot read ${directory}: EISDIR`),
    });
    const path = await write("config", config({ contexts: ["a"], user: "{tokenFile: absent}" }));
    await expect((await single({ path })).credentials()).rejects.toMatchObject({
      code: "UNREADABLE",
      message: `the token of user "a": no such file: ${directory}/absent`,
    });
  });
});

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
