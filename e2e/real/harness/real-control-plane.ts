// A real control plane for one test: etcd, one or more kube-apiservers and, if asked for, a
// kube-controller-manager, all on this machine and inside the network namespace of the suite, where
// 10.201.0.0/16 is local. Nothing outlives `stop`.
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeEnvironment } from "../../../src/environment/node/node-environment.ts";
import { freePort } from "../../../src/lab/free-port.ts";
import { realProgram } from "./real-binaries.ts";
import { RealProcess } from "./real-process.ts";

export interface RealUser {
  readonly token: string;
  readonly name: string;
  readonly groups: readonly string[];
}

export interface RealOptions {
  /** How many API servers share the etcd; one unless given. */
  readonly apiServers?: number;
  readonly apiServerFlags?: readonly string[];
  /** Names of controllers to run, `endpoints-controller`; no manager unless given. */
  readonly controllers?: readonly string[];
  readonly controllerManagerFlags?: readonly string[];
  /** Beside the administrator. */
  readonly users?: readonly RealUser[];
}

export interface RealServer {
  readonly url: string;
  /** Self-signed, so it verifies itself. */
  readonly ca: string;
  readonly process: RealProcess;
}

export interface RealControlPlane {
  /** Of the first server. */
  readonly url: string;
  readonly ca: string;
  /** The administrator's. */
  readonly token: string;
  /** Leads to the first server as the administrator. */
  readonly kubeconfig: string;
  readonly etcdUrl: string;
  readonly folder: string;
  readonly etcd: RealProcess;
  readonly servers: readonly RealServer[];
  readonly controllerManager: RealProcess | undefined;
  /** For tests that need one later than the rest, or a second. */
  startControllerManager(
    controllers: readonly string[],
    flags?: readonly string[],
  ): Promise<RealManager>;
  stop(): Promise<void>;
}

export interface RealManager {
  readonly process: RealProcess;
  /** `/metrics` there needs the administrator's token. */
  readonly url: string;
  readonly ca: string;
}

const loopback = "127.0.0.1";
const environment = nodeEnvironment();
const administrator: RealUser = { token: "admin-token", name: "admin", groups: ["system:masters"] };
/** Its controllers have no accounts of their own here, so it must be allowed what each of them is. */
const controllerManagerUser: RealUser = {
  token: "controller-manager-token",
  name: "system:kube-controller-manager",
  groups: ["system:masters"],
};

export async function startRealControlPlane(options: RealOptions = {}): Promise<RealControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-real-"));
  const processes: RealProcess[] = [];
  const stop = async () => {
    for (const one of processes.toReversed()) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { etcd, url: etcdUrl } = await startEtcd(folder, processes);
    const servers: RealServer[] = [];
    writeCredentials(folder, options.users ?? []);
    for (let index = 0; index < (options.apiServers ?? 1); index += 1) {
      servers.push(await startServer({ folder, etcdUrl, index, options, processes }));
    }
    const [first] = servers;
    if (first === undefined) throw new Error("a control plane needs an API server");
    const kubeconfig = writeKubeconfig(folder, "admin", first, administrator);
    const startControllerManager: RealControlPlane["startControllerManager"] = (names, flags) =>
      startManager({ folder, first, names, flags: flags ?? [], processes });
    const { controllers, controllerManagerFlags } = options;
    const manager =
      controllers === undefined
        ? undefined
        : await startControllerManager(controllers, controllerManagerFlags);
    return {
      url: first.url,
      ca: first.ca,
      token: administrator.token,
      kubeconfig,
      etcdUrl,
      folder,
      etcd,
      servers,
      controllerManager: manager?.process,
      startControllerManager,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A file that leads to a server as a user who has a token there. */
export function writeKubeconfig(
  folder: string,
  name: string,
  server: Pick<RealServer, "url" | "ca">,
  user: Pick<RealUser, "token">,
): string {
  const path = join(folder, `${name}.kubeconfig`);
  const ca = Buffer.from(server.ca, "utf8").toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "real", cluster: { server: server.url, "certificate-authority-data": ca } }],
    users: [{ name, user: { token: user.token } }],
    contexts: [{ name: "real", context: { cluster: "real", user: name } }],
    "current-context": "real",
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

async function startEtcd(folder: string, processes: RealProcess[]) {
  const url = `http://${loopback}:${await freePort(environment, loopback)}`;
  const peers = `http://${loopback}:${await freePort(environment, loopback)}`;
  const etcd = new RealProcess({
    name: "etcd",
    program: realProgram("etcd"),
    folder,
    args: [
      `--data-dir=${join(folder, "etcd")}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      `--initial-cluster=default=${peers}`,
    ],
  });
  processes.push(etcd);
  await etcd.ready(async () => (await fetch(`${url}/health`)).ok);
  return { etcd, url };
}

function writeCredentials(folder: string, users: readonly RealUser[]): void {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(join(folder, "sa.key"), privateKey.export({ type: "pkcs1", format: "pem" }));
  writeFileSync(join(folder, "sa.pub"), publicKey.export({ type: "spki", format: "pem" }));
  const lines = [administrator, controllerManagerUser, ...users].map(
    ({ token, name, groups }) => `${token},${name},${name},"${groups.join(",")}"\n`,
  );
  writeFileSync(join(folder, "tokens.csv"), lines.join(""));
}

async function startServer(of: {
  folder: string;
  etcdUrl: string;
  index: number;
  options: RealOptions;
  processes: RealProcess[];
}): Promise<RealServer> {
  const { folder, etcdUrl, index, options, processes } = of;
  const port = await freePort(environment, loopback);
  const certificates = join(folder, `certificates-${index}`);
  const server = new RealProcess({
    name: `kube-apiserver-${index}`,
    program: realProgram("kube-apiserver"),
    folder,
    args: [
      `--etcd-servers=${etcdUrl}`,
      `--bind-address=${loopback}`,
      `--secure-port=${port}`,
      // It distinguishes the servers of a cluster, and may not be a loopback address.
      `--advertise-address=10.201.255.${index + 1}`,
      `--cert-dir=${certificates}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${join(folder, "sa.pub")}`,
      `--service-account-signing-key-file=${join(folder, "sa.key")}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      `--token-auth-file=${join(folder, "tokens.csv")}`,
      "--authorization-mode=Node,RBAC",
      // Pods are made before any controller could have made their namespace's account.
      "--disable-admission-plugins=ServiceAccount",
      ...(options.apiServerFlags ?? []),
    ],
  });
  processes.push(server);
  const url = `https://${loopback}:${port}`;
  const certificate = join(certificates, "apiserver.crt");
  await server.ready(() => isHealthy(`${url}/readyz`, certificate));
  return { url, ca: readFileSync(certificate, "utf8"), process: server };
}

async function startManager(of: {
  folder: string;
  first: RealServer;
  names: readonly string[];
  flags: readonly string[];
  processes: RealProcess[];
}): Promise<RealManager> {
  const { folder, first, names, flags, processes } = of;
  const port = await freePort(environment, loopback);
  const kubeconfig = writeKubeconfig(folder, "manager", first, controllerManagerUser);
  const certificates = join(folder, `certificates-manager-${port}`);
  const manager = new RealProcess({
    name: `kube-controller-manager-${port}`,
    program: realProgram("kube-controller-manager"),
    folder,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      `--bind-address=${loopback}`,
      `--secure-port=${port}`,
      `--cert-dir=${certificates}`,
      `--controllers=${names.join(",")}`,
      "--leader-elect=false",
      ...flags,
    ],
  });
  processes.push(manager);
  const url = `https://${loopback}:${port}`;
  const certificate = join(certificates, "kube-controller-manager.crt");
  await manager.ready(() => isHealthy(`${url}/healthz`, certificate));
  return { process: manager, url, ca: readFileSync(certificate, "utf8") };
}

async function isHealthy(url: string, certificate: string): Promise<boolean> {
  const answered = new AbortController();
  try {
    const { status } = await environment.network.request({
      method: "GET",
      url,
      headers: { authorization: `Bearer ${administrator.token}` },
      tls: { ca: readFileSync(certificate, "utf8") },
      signal: answered.signal,
    });
    return status === 200;
  } finally {
    answered.abort();
  }
}
