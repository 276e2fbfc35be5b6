// `lockstep lab` as a user runs it: it starts, writes a kubeconfig, refuses wrong flags, and leaves
// nothing behind.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { parse } from "yaml";
import { finished, runLockstep, startLabProcess, stopAllLabs } from "./lab-process.ts";

/** The tool that names the process of a port. */
const hasSs = ["/usr/bin/ss", "/bin/ss", "/usr/sbin/ss", "/sbin/ss"].some(existsSync);

const folder = mkdtempSync(join(tmpdir(), "lockstep-e2e-lab-"));
afterEach(stopAllLabs);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("has a context per server of each cluster, and stops without a trace", async () => {
  const lab = await startLabProcess("--clusters", "2", "--apiservers", "2");
  expect(lab.servers.map(({ cluster, context }) => `${cluster} ${context}`)).toEqual([
    "lab-1 lab-1",
    "lab-1 lab-1-server-2",
    "lab-2 lab-2",
    "lab-2 lab-2-server-2",
  ]);
  const config = parse(readFileSync(lab.kubeconfig, "utf8"));
  expect(config.clusters.map((one: { cluster: { server: string } }) => one.cluster.server)).toEqual(
    lab.servers.map(({ url }) => url),
  );
  // Several servers have an address each; those of a cluster have one port.
  const sockets = lab.servers.map(({ url }) => new URL(url));
  expect(new Set(sockets.map(({ hostname }) => hostname)).size).toBe(4);
  expect(sockets[0]?.port).toBe(sockets[1]?.port);
  expect(statSync(lab.kubeconfig).mode & 0o777).toBe(0o600);
  expect(await lab.stop()).toBe(0);
  expect(lab.errorOutput()).toMatch(/The lab has stopped\.\n$/);
  expect(existsSync(lab.kubeconfig)).toBe(false);
  await expect(get(lab.servers[0]?.url ?? "")).rejects.toThrow(/ECONNREFUSED/);
});

it("writes the kubeconfig where it is asked to and removes it on SIGTERM", async () => {
  const path = join(folder, "lab.yaml");
  const lab = await startLabProcess("--kubeconfig", path);
  expect(lab.kubeconfig).toBe(path);
  expect(existsSync(path)).toBe(true);
  expect(lab.errorOutput()).toContain(`Wrote the kubeconfig ${path}; it is removed when the lab`);
  expect(await lab.stop("SIGTERM")).toBe(0);
  expect(existsSync(path)).toBe(false);
  expect(lab.errorOutput()).toContain(`The kubeconfig ${path} is removed.\n`);
});

it("takes over the kubeconfig of a lab that was killed", async () => {
  const path = join(folder, "killed.yaml");
  const killed = await startLabProcess("--kubeconfig", path);
  await killed.stop("SIGKILL");
  expect(existsSync(path)).toBe(true);
  const next = await startLabProcess("--kubeconfig", path);
  expect(await next.stop()).toBe(0);
});

it("leaves a foreign kubeconfig alone", async () => {
  const path = join(folder, "mine.yaml");
  writeFileSync(path, "apiVersion: v1\n");
  expect(await runLockstep("lab", "--kubeconfig", path)).toEqual({
    code: 2,
    output: "",
    errorOutput:
      `lockstep: ${path} exists. It was not written by lockstep lab, or was changed since, ` +
      `so it is not overwritten.\nGive another file with --kubeconfig, or remove it ` +
      `first.\n`,
  });
  expect(readFileSync(path, "utf8")).toBe("apiVersion: v1\n");
});

it("says which port is taken, by which process, and the flag for another", async () => {
  const lab = await startLabProcess();
  const port = new URL(lab.servers[0]?.url ?? "").port;
  const second = await runLockstep("lab", "--port", port);
  const owner = hasSs ? `node (pid ${lab.pid})` : "another process";
  expect(second).toEqual({
    code: 2,
    output: "",
    errorOutput:
      `lockstep: port ${port} is in use by ${owner}. ` +
      "Stop that process, or choose another port with --port.\n",
  });
  expect(await lab.stop()).toBe(0);
});

it("stops by itself, without a trace, when its output has no reader any more", async () => {
  const lab = spawn(process.execPath, ["bin/lockstep.mjs", "lab"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  lab.stdout.destroy();
  const { code, errorOutput } = await finished(lab);
  expect(errorOutput).toMatch(/The lab has stopped\.\n$/);
  expect(code).toBe(0);
});

it.each(["--help", "ingress --print-config"])(
  "lockstep %s ends at once when its output has no reader",
  async (line) => {
    const child = spawn(process.execPath, ["bin/lockstep.mjs", ...line.split(" ")], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 30_000,
      killSignal: "SIGKILL",
    });
    child.stdout.destroy();
    expect(await finished(child)).toEqual({ code: 0, output: "", errorOutput: "" });
  },
);

it("explains a wrong option and an unknown command", async () => {
  const option = await runLockstep("lab", "--clusters", "none");
  expect(option).toEqual({
    code: 2,
    output: "",
    errorOutput:
      "lockstep: option '--clusters <n>' argument 'none' is invalid. " +
      "It must be a whole number from 1 to 50.\nnode bin/lockstep.mjs lab --help shows the options.\n",
  });
  const command = await runLockstep("lap");
  expect(command).toEqual({
    code: 2,
    output: "",
    errorOutput:
      "lockstep: unknown command 'lap'\n(Did you mean lab?)\n" +
      "node bin/lockstep.mjs --help lists the commands.\n",
  });
});

it("refuses anonymous requests", async () => {
  const lab = await startLabProcess();
  const url = lab.servers[0]?.url ?? "";
  expect(await get(`${url}/healthz`)).toBe(200);
  expect(await get(`${url}/api/v1/namespaces`)).toBe(403);
  await lab.stop();
});

function get(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}
