// Exec plugins as real programs, with a clock moved by hand.
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Clock, MonotonicMs, WallMs } from "../../environment/clock.ts";
import { nodeEnvironment } from "../../environment/node/node-environment.ts";
import { ExecIdentity } from "./credentials-exec.ts";
import { parseExecSpec } from "./credentials-exec-spec.ts";

const { files, processes } = nodeEnvironment();
const apiVersion = "client.authentication.k8s.io/v1";
const startMs = Date.parse("2026-01-02T03:00:00Z");
const cluster = { server: "https://10.0.0.1:6443" };

let directory: string;
let elapsedMs: number;
const clock: Clock = {
  monotonicMs: () => elapsedMs as MonotonicMs,
  wallMs: () => (startMs + elapsedMs) as WallMs,
};

beforeEach(async () => {
  elapsedMs = 0;
  directory = await files.temporaryDirectory("credentials-exec-");
});
afterEach(() => files.remove(directory));

it("runs the plugin once for all simultaneous callers", async () => {
  const identity = await plugin(tokenScript("2026-01-02T04:00:00Z"));
  const all = await Promise.all(Array.from({ length: 10 }, () => identity.current()));
  expect(new Set(all.map(({ authorization }) => authorization))).toEqual(
    new Set(["Bearer token-1"]),
  );
  expect(await identity.current()).toEqual({ authorization: "Bearer token-1" });
  expect(await runs()).toBe(1);
});

it("renews a minute before the expiry", async () => {
  const identity = await plugin(tokenScript("2026-01-02T04:00:00Z"));
  await identity.current();
  elapsedMs = 3_540_000 - 1;
  expect(await identity.current()).toEqual({ authorization: "Bearer token-1" });
  elapsedMs = 3_540_000;
  expect(await identity.current()).toEqual({ authorization: "Bearer token-2" });
});

it("uses a short-lived credential for half its life", async () => {
  const identity = await plugin(tokenScript("2026-01-02T03:01:00Z"));
  await identity.current();
  elapsedMs = 29_999;
  await identity.current();
  expect(await runs()).toBe(1);
  elapsedMs = 30_000;
  await identity.current();
  expect(await runs()).toBe(2);
});

it("asks again when the server refused what it gave, but not for an older refusal", async () => {
  const identity = await plugin(tokenScript());
  const first = await identity.current();
  elapsedMs = 5_000;
  identity.invalidate(first);
  const second = await identity.current();
  expect(second).toEqual({ authorization: "Bearer token-2" });
  elapsedMs = 10_000;
  identity.invalidate(first);
  expect(await identity.current()).toBe(second);
});

it("does not run the plugin again and again for a server that refuses everything", async () => {
  const identity = await plugin(tokenScript());
  for (let count = 0; count < 10; count += 1) identity.invalidate(await identity.current());
  expect(await runs()).toBe(1);
});

it("tells the plugin what the kubeconfig says, and takes a client certificate from it", async () => {
  const script = `printf '%s' "$KUBERNETES_EXEC_INFO" > ${directory}/info
printf '%s' "$1 $REGION" > ${directory}/arguments
echo '{"kind":"ExecCredential","apiVersion":"${apiVersion}",
  "status":{"clientCertificateData":"CERT","clientKeyData":"KEY"}}'`;
  const exec = { args: ["get-token"], env: [{ name: "REGION", value: "east" }] };
  const identity = await plugin(script, { ...exec, provideClusterInfo: true });
  expect(await identity.current()).toEqual({ cert: "CERT", key: "KEY" });
  expect(await text("arguments")).toBe("get-token east");
  expect(JSON.parse(await text("info"))).toEqual({
    kind: "ExecCredential",
    apiVersion,
    spec: { cluster, interactive: false },
  });
});

it("names the plugin, its exit code and what it said when it fails, and rests a while", async () => {
  const identity = await plugin(`echo x >> ${directory}/runs; echo 'not logged in' >&2; exit 3`);
  const failure = {
    code: "PLUGIN_FAILED",
    message: `the credential plugin ${directory}/plugin of user "ann" failed with exit code 3: not logged in`,
  };
  await expect(identity.current()).rejects.toMatchObject(failure);
  await expect(identity.current()).rejects.toMatchObject(failure);
  expect(await runs()).toBe(1);
  elapsedMs = 5_000;
  await expect(identity.current()).rejects.toMatchObject(failure);
  expect(await runs()).toBe(2);
});

it("shows the hint of a plugin that is not installed", async () => {
  const spec = parseExecSpec(
    "ann",
    { apiVersion, command: "no-such-plugin", installHint: "Install it from example.com." },
    cluster,
  );
  await expect(new ExecIdentity({ processes, clock, spec }).current()).rejects.toMatchObject({
    message:
      'the credential plugin no-such-plugin of user "ann" failed: cannot start no-such-plugin: ' +
      "program not found; check that it is installed and on the PATH\nInstall it from example.com.",
  });
});

it.each([
  ["secret-token", "is not JSON"],
  ["[]", "is not a JSON object"],
  [
    '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"}',
    `is not an ExecCredential of ${apiVersion}`,
  ],
  [
    `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{}}`,
    "has neither a token nor a client certificate",
  ],
  [
    `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"clientKeyData":"K"}}`,
    "has only one of client certificate and key",
  ],
])("refuses what is no credential, without showing it: %s", async (output, why) => {
  const identity = await plugin(`echo '${output}'`);
  await expect(identity.current()).rejects.toMatchObject({
    code: "PLUGIN_FAILED",
    message: `what the credential plugin ${directory}/plugin of user "ann" printed ${why}`,
  });
});

async function plugin(script: string, exec: object = {}): Promise<ExecIdentity> {
  const command = `${directory}/plugin`;
  await files.write(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const spec = parseExecSpec("ann", { apiVersion, command, ...exec }, cluster);
  return new ExecIdentity({ processes, clock, spec });
}

/** Prints `token-1` the first time, `token-2` the second, … */
function tokenScript(expirationTimestamp?: string): string {
  const expiry =
    expirationTimestamp === undefined ? "" : `,"expirationTimestamp":"${expirationTimestamp}"`;
  return `echo x >> ${directory}/runs
n=$(wc -l < ${directory}/runs | tr -d ' ')
echo '{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"token":"token-'$n'"${expiry}}}'`;
}

async function runs(): Promise<number> {
  return (await text("runs")).split("\n").length - 1;
}

async function text(name: string): Promise<string> {
  return Buffer.from((await files.read(`${directory}/${name}`)) ?? []).toString("utf8");
}
