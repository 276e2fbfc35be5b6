// The API servers of one cluster: they share a storage and know the same users, and each has a log
// of its own, in the form of the version it stands for. All of them start, or none.
import type { PeerAddresses } from "../apiserver/audit/peer-addresses.ts";
import type { User } from "../apiserver/http/authentication.ts";
import { firstRevision, MemoryStorage } from "../apiserver/storage/memory-storage.ts";
import type { Storage, StorageEvent } from "../apiserver/storage/storage.ts";
import { Klog } from "../components/klog.ts";
import type { ClusterOptions, ClusterServer, ServerSurroundings } from "./cluster.ts";
import { type ServerPlan, startServer } from "./cluster-server.ts";
import { controlPlaneNode } from "./controllers/kube-controllers.ts";
import {
  type KubernetesServiceFlags,
  loopbackUser,
} from "./kubernetes-service/kubernetes-service-reconciler.ts";
import type { ProfileName } from "./versions/profiles.ts";

export const defaultProfile: ProfileName = "1.33";

/** The user of the lab's kubeconfig, who may do everything. */
export const administrator: User = { name: "lab-admin", groups: ["system:masters"] };

/** The users of the cluster's components, as in kubeadm. */
const componentUsers: readonly User[] = [
  { name: "system:kube-controller-manager", groups: [] },
  { name: "system:kube-scheduler", groups: [] },
  { name: `system:node:${controlPlaneNode}`, groups: ["system:nodes"] },
];

/** All of them, or none when one cannot listen. */
export async function startServers(
  options: ClusterOptions,
  { podLogs, podListensAt, peers, tokens }: ServerSurroundings,
): Promise<readonly ClusterServer[]> {
  const { name, environmentOf, recorder } = options;
  const { clock, random } = environmentOf(name);
  const token = random.uuid();
  const loopbackToken = random.uuid();
  for (const [known, user] of clusterTokens(token, loopbackToken)) tokens.set(known, user);
  const storage = new MemoryStorage({ clock });
  const { onStored } = options;
  if (onStored !== undefined) noteStored(storage, onStored);
  const servers: ClusterServer[] = [];
  try {
    for (const plan of serverPlans(options, { token, loopbackToken })) {
      const environment = environmentOf(plan.name);
      const klog = new Klog({ clock: environment.clock });
      const audit = (line: string): void => recorder?.audit(plan.name, line);
      const started = await startServer({
        ...plan,
        environment,
        storage,
        tokens,
        podLogs,
        podListensAt,
        klog,
        peers,
        ...(recorder === undefined ? {} : { audit, isolatedReaders: recorder.isolatedReaders }),
        observers: options.observers ?? [],
        objects: plan.isFirst ? (options.objects ?? []) : [],
      });
      const server = { cluster: name, name: plan.name, token, klog, ...started };
      servers.push(server);
      options.onReady?.(server);
    }
  } catch (error) {
    await Promise.all(servers.map((server) => server.stop()));
    throw error;
  }
  return servers;
}

/** The first watch of the storage, so it receives each event before any server does. */
function noteStored(storage: Storage, onEvent: (event: StorageEvent) => void): void {
  storage.watch("", firstRevision, {
    onEvent,
    onProgress: () => undefined,
    onLost: (error) => {
      throw error;
    },
  });
}

/** The users that are known from the start, by token. */
export function clusterTokens(
  token: string,
  loopbackToken: string,
): readonly (readonly [string, User])[] {
  return [
    [token, administrator],
    [loopbackToken, loopbackUser],
    ...componentUsers.map((user) => [componentToken(token, user.name), user] as const),
  ];
}

/** One for each port. */
export function serverPlans(
  options: ClusterOptions,
  { token, loopbackToken }: { readonly token: string; readonly loopbackToken: string },
): readonly ServerPlan[] {
  const { name, tls, profile = defaultProfile, kubernetesService = {} } = options;
  const { accessControl = false, fieldOwners = false, serverVerbosity: verbosity = 0 } = options;
  const addressOf = options.serverAddressOf ?? options.hostOf;
  return options.ports.map((port, index) => {
    const own = index === 0 ? name : `${name}-server-${index + 1}`;
    return {
      name: own,
      listen: { host: addressOf(own, index), port, ...(tls === undefined ? {} : { tls }) },
      profile,
      kubernetesService,
      accessControl,
      fieldOwners,
      secret: token,
      loopbackToken,
      verbosity,
      isFirst: index === 0,
    };
  });
}

export function commandOf(
  options: ClusterOptions,
  url: string,
  peers: PeerAddresses,
): readonly string[] {
  const { kubernetesService = {}, serverVerbosity = 0, recorder } = options;
  const isAudited = recorder !== undefined;
  const { host, port } = new URL(url);
  const at = { address: peers.address(host), port };
  return apiServerCommand({ ...at, kubernetesService, verbosity: serverVerbosity, isAudited });
}

/** Derived, so that who has one component's token does not have another's by accident. */
export function componentToken(token: string, user: string): string {
  return `${token}/${user}`;
}

interface ApiServerCommandOptions {
  /** Where others reach it. */
  readonly address: string;
  readonly port: string;
  readonly kubernetesService: KubernetesServiceFlags;
  readonly verbosity: number;
  readonly isAudited: boolean;
}

/** The range of cluster IPs in apiserver/kinds/service-addresses.ts. */
const serviceRange = "10.96.0.0/16";

function apiServerCommand(options: ApiServerCommandOptions): readonly string[] {
  const { address, port, kubernetesService, verbosity, isAudited } = options;
  const { reconcilerType, apiserverCount } = kubernetesService;
  return [
    "kube-apiserver",
    `--advertise-address=${address}`,
    `--secure-port=${port}`,
    `--service-cluster-ip-range=${serviceRange}`,
    ...(apiserverCount === undefined ? [] : [`--apiserver-count=${apiserverCount}`]),
    ...(reconcilerType === undefined ? [] : [`--endpoint-reconciler-type=${reconcilerType}`]),
    ...(isAudited ? ["--audit-log-path=/var/log/kubernetes/audit.log"] : []),
    `--v=${verbosity}`,
  ];
}
