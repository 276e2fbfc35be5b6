// Other ingress controllers on real sockets, as they are published: Contour with its Envoy, and Traefik.
// Built by `npm run test:real` (scripts/peer-binaries.mjs), unmodified, with their defaults.
import { writeFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import type { Environment } from "../../../src/environment/environment.ts";
import { HttpKubeClient } from "../../../src/kube/client/http-client.ts";
import type { ClusterAccess } from "../../../src/kube/credentials/credentials.ts";
import { freePort } from "../../../src/lab/free-port.ts";
import { type KubeconfigContext, kubeconfig } from "../../../src/lab/kubeconfig.ts";
import type { EntryReplica } from "../../../src/lab/traffic/entry.ts";
import { RealProcess } from "./real-process.ts";

export const peerNames = ["contour", "traefik"] as const;
export type PeerName = (typeof peerNames)[number];

export interface PeerOptions {
  readonly environment: Environment;
  /** Where it reads Ingresses, Services and EndpointSlices. */
  readonly access: ClusterAccess;
  readonly context: KubeconfigContext;
  /** Of the Ingresses that it serves; created here. */
  readonly className: string;
  /** Of the test alone; logs and settings go there. */
  readonly folder: string;
  readonly atStop: (undo: () => Promise<void>) => void;
}

const host = "127.0.0.1";
const deadlineMs = 30_000;

/** As `scripts/peer-binaries.mjs` reports it. */
export interface BuiltPeer {
  /** With its name: `Traefik 3.6.12`. */
  readonly version: string;
  /** Of its programs; absent when it could not be built. */
  readonly folder?: string;
  readonly problem?: string;
}

export function builtPeer(peer: PeerName): BuiltPeer {
  const given = process.env["LOCKSTEP_PEERS"];
  const problem = "npm run test:real -- peers builds it";
  if (given === undefined) return { version: peer, problem };
  const all: Readonly<Record<PeerName, BuiltPeer>> = JSON.parse(given);
  return all[peer];
}

export interface RunningPeer extends EntryReplica {
  /** Of its programs. */
  readonly pids: readonly number[];
}

/** Resolves when its programs run; whether it serves already, a request shows. */
export async function startPeer(peer: PeerName, options: PeerOptions): Promise<RunningPeer> {
  const { folder, problem } = builtPeer(peer);
  if (folder === undefined) throw new Error(problem);
  await createIngressClass(peer, options);
  return peer === "contour"
    ? await startContour(folder, options)
    : await startTraefik(folder, options);
}

async function startContour(programs: string, options: PeerOptions): Promise<RunningPeer> {
  const { environment, folder, context, className, atStop } = options;
  await createDefinitions(`${programs}/crds.yaml`, options);
  const port = () => freePort(environment, host);
  const [http, xds] = [await port(), await port()];
  const config = `${folder}/contour-kubeconfig`;
  writeFileSync(config, kubeconfig([context]), { mode: 0o600 });
  const listens = async (what: string) => [
    `--${what}-address=${host}`,
    `--${what}-port=${await port()}`,
  ];
  const contour = new RealProcess({
    name: "contour",
    hasOwnSession: true,
    program: `${programs}/contour`,
    folder,
    args: [
      "serve",
      "--insecure",
      "--disable-leader-election",
      `--kubeconfig=${config}`,
      `--ingress-class-name=${className}`,
      `--xds-address=${host}`,
      `--xds-port=${xds}`,
      `--envoy-service-http-address=${host}`,
      `--envoy-service-http-port=${http}`,
      ...(await listens("envoy-service-https")),
      ...(await listens("stats")),
      ...(await listens("http")),
      ...(await listens("health")),
      ...(await listens("debug-http")),
    ],
  });
  atStop(() => contour.stop());
  await contour.ready(async () => contour.log().includes("started xDS server"));
  const bootstrap = `${folder}/envoy.json`;
  const written = new RealProcess({
    name: "contour-bootstrap",
    program: `${programs}/contour`,
    folder,
    args: [
      "bootstrap",
      `--xds-address=${host}`,
      `--xds-port=${xds}`,
      `--admin-address=${folder}/envoy-admin.sock`,
      bootstrap,
    ],
  });
  while (written.isRunning) await environment.timers.sleep(20);
  const envoy = new RealProcess({
    name: "envoy",
    hasOwnSession: true,
    program: `${programs}/envoy`,
    folder,
    args: [
      "-c",
      bootstrap,
      "--service-cluster",
      "contour",
      "--service-node",
      "envoy",
      "--disable-hot-restart",
    ],
  });
  atStop(() => envoy.stop());
  return { name: "contour", address: `${host}:${http}`, pids: [contour.pid, envoy.pid] };
}

async function startTraefik(programs: string, options: PeerOptions): Promise<RunningPeer> {
  const { environment, folder, context, atStop } = options;
  const http = await freePort(environment, host);
  writeFileSync(`${folder}/traefik-ca.pem`, context.ca);
  const traefik = new RealProcess({
    name: "traefik",
    hasOwnSession: true,
    program: `${programs}/traefik`,
    folder,
    args: [
      "--global.checknewversion=false",
      "--global.sendanonymoususage=false",
      `--entrypoints.web.address=${host}:${http}`,
      "--providers.kubernetesingress=true",
      `--providers.kubernetesingress.endpoint=${context.server}`,
      `--providers.kubernetesingress.token=${context.token}`,
      `--providers.kubernetesingress.certauthfilepath=${folder}/traefik-ca.pem`,
    ],
  });
  atStop(() => traefik.stop());
  return { name: "traefik", address: `${host}:${http}`, pids: [traefik.pid] };
}

/** Traefik serves the classes of its controller; Contour looks at the name of the class alone. */
const controllers: Readonly<Record<PeerName, string>> = {
  contour: "projectcontour.io/ingress-controller",
  traefik: "traefik.io/ingress-controller",
};

async function createIngressClass(peer: PeerName, options: PeerOptions): Promise<void> {
  await create(options, "/apis/networking.k8s.io/v1/ingressclasses", {
    metadata: { name: options.className },
    spec: { controller: controllers[peer] },
  });
}

async function createDefinitions(file: string, options: PeerOptions): Promise<void> {
  const text = Buffer.from((await options.environment.files.read(file)) ?? "").toString("utf8");
  for (const document of parseAllDocuments(text)) {
    const body: unknown = document.toJS();
    if (body === null) continue;
    await create(options, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body);
  }
}

async function create(
  { environment, access }: PeerOptions,
  path: string,
  body: unknown,
): Promise<void> {
  const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "e2e" });
  await client.request({ verb: "create", method: "POST", path, body, deadlineMs });
}
