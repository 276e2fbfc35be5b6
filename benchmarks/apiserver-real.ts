// A real kube-apiserver to measure beside ours: where its programs are, and one of it on an etcd.
import { generateKeyPairSync } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { freePort } from "../src/lab/free-port.ts";
import { SupervisedProcess } from "../src/lab/processes/supervised-process.ts";
import { BenchServer } from "./bench-server.ts";

export interface RealPrograms {
  readonly folder: string;
  /** `kube-apiserver v1.36.3, etcd v3.6.8`. */
  readonly versions: string;
}

const environment = nodeEnvironment();
const host = "127.0.0.1";
const token = "admin-token";

/** It refuses to advertise a loopback address; no client connects to this one. */
const advertised = "10.201.0.1";

/** Undefined when none have been built. */
export function findRealPrograms(): RealPrograms | undefined {
  const { LOCKSTEP_REAL_BIN: given, XDG_CACHE_HOME: cache } = process.env;
  const built = join(cache ?? join(homedir(), ".cache"), "lockstep", "real");
  const folders = given === undefined ? newestFirst(built) : [given];
  const folder = folders.find((one) => existsSync(join(one, "kube-apiserver")));
  if (folder === undefined) return undefined;
  const file = join(folder, "versions.json");
  const versions: { kubernetes?: string; etcd?: string } = existsSync(file)
    ? JSON.parse(readFileSync(file, "utf8"))
    : {};
  const { kubernetes = "of unknown version", etcd = "of unknown version" } = versions;
  return { folder, versions: `kube-apiserver ${kubernetes}, etcd ${etcd}` };
}

export class RealServer extends BenchServer {
  readonly #process: SupervisedProcess;

  static async start(
    { folder: programs }: RealPrograms,
    folder: string,
    store: string,
  ): Promise<RealServer> {
    const port = await freePort(environment, host);
    writeCredentials(folder);
    const startedAt = performance.now();
    const supervised = await SupervisedProcess.start({
      ...environment,
      name: "kube-apiserver",
      command: [join(programs, "kube-apiserver"), ...flags(folder, port, store)],
      isReady: () => isReady(folder, port),
    });
    const readyMs = performance.now() - startedAt;
    const ca = readFileSync(join(folder, "apiserver.crt"), "utf8");
    return new RealServer(supervised, { port, ca, token }, readyMs);
  }

  private constructor(
    supervised: SupervisedProcess,
    address: { readonly port: number; readonly ca: string; readonly token: string },
    readyMs: number,
  ) {
    super({ address, readyMs, pid: supervised.pid ?? 0 });
    this.#process = supervised;
  }

  async stop(): Promise<void> {
    this.closeConnections();
    await this.#process.stop();
  }
}

function flags(folder: string, port: number, store: string): readonly string[] {
  return [
    `--etcd-servers=${store}`,
    `--bind-address=${host}`,
    `--advertise-address=${advertised}`,
    `--secure-port=${port}`,
    `--cert-dir=${folder}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${folder}/accounts.key`,
    `--service-account-signing-key-file=${folder}/accounts.key`,
    "--service-cluster-ip-range=10.96.0.0/16",
    `--token-auth-file=${folder}/tokens.csv`,
    "--authorization-mode=RBAC",
    "--disable-admission-plugins=ServiceAccount",
  ];
}

function writeCredentials(folder: string): void {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs1", format: "pem" });
  writeFileSync(join(folder, "accounts.key"), pem, { mode: 0o600 });
  const user = `${token},admin,admin,"system:masters"\n`;
  writeFileSync(join(folder, "tokens.csv"), user, { mode: 0o600 });
}

/** Ready, and with the namespaces that the measurements write to. */
async function isReady(folder: string, port: number): Promise<boolean> {
  const certificate = join(folder, "apiserver.crt");
  if (!existsSync(certificate)) return false;
  const ca = readFileSync(certificate, "utf8");
  for (const path of ["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"]) {
    try {
      const { status, body } = await environment.network.request({
        method: "GET",
        url: `https://${host}:${port}${path}`,
        headers: { authorization: `Bearer ${token}` },
        tls: { ca },
      });
      for await (const chunk of body) void chunk;
      if (status !== 200) return false;
    } catch {
      // Not there yet, which is all that matters here.
      return false;
    }
  }
  return true;
}

function newestFirst(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
}
