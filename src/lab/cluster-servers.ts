// The API servers of one cluster: they share a storage and know the same users, and each has a log
// of its own, in the form of the version it stands for. All of them start, or none.
import type { ListenOptions } from "../environment/network.ts";
import { ApiServer } from "./apiserver/api-server.ts";
import { AuditLog } from "./apiserver/audit/audit-log.ts";
import type { PeerAddresses } from "./apiserver/audit/peer-addresses.ts";
import type { User } from "./apiserver/http/authentication.ts";
import type { RequestObserver } from "./apiserver/http/served-request.ts";
import { RequestJournal } from "./apiserver/journal/request-journal.ts";
import { isIp } from "./apiserver/kinds/ip-address.ts";
import {
  keepKubernetesService,
  loopbackUser,
} from "./apiserver/kubernetes-service/kept-service.ts";
import type { KubernetesService } from "./apiserver/kubernetes-service/kubernetes-service.ts";
import { MemoryStorage } from "./apiserver/storage/memory-storage.ts";
import type { ClusterOptions, ClusterServer } from "./cluster.ts";
import { apiServerCommand } from "./components/api-server-command.ts";
import { componentForm } from "./components/component-form.ts";
import type { ComponentLogs } from "./controllers/klog/component-logs.ts";
import { Klog } from "./controllers/klog/klog.ts";
import { controlPlaneNode } from "./controllers/kube-controllers.ts";
import { type ProfileName, profileNamed } from "./controllers/profiles.ts";
import { servedKinds } from "./served-kinds.ts";

export const defaultProfile: ProfileName = "1.33";

/** Whoever has the lab's kubeconfig may do everything in it. */
export const administrator: User = { name: "lab-admin", groups: ["system:masters"] };

/** Who the parts of the cluster are to its API servers, as kubeadm has it. */
const componentUsers: readonly User[] = [
  { name: "system:kube-controller-manager", groups: [] },
  { name: "system:kube-scheduler", groups: [] },
  { name: `system:node:${controlPlaneNode}`, groups: ["system:nodes"] },
];

/** All of them, or none when one cannot listen. */
export async function startServers(
  options: ClusterOptions,
  podLogs: ComponentLogs,
  peers: PeerAddresses,
  tokens: Map<string, User>,
): Promise<readonly ClusterServer[]> {
  const { name, environmentOf, tls, profile = defaultProfile } = options;
  const form = componentForm(profile);
  const { clock, random } = environmentOf(name);
  const addressOf = options.serverAddressOf ?? options.hostOf;
  const token = random.uuid();
  const loopbackToken = random.uuid();
  tokens.set(token, administrator);
  tokens.set(loopbackToken, loopbackUser);
  for (const user of componentUsers) tokens.set(componentToken(token, user.name), user);
  const storage = new MemoryStorage({ clock });
  const servers: ClusterServer[] = [];
  const made: ApiServer[] = [];
  try {
    for (const [index, port] of options.ports.entries()) {
      const own = index === 0 ? name : `${name}-server-${index + 1}`;
      const klog = new Klog({ clock: environmentOf(own).clock });
      const apiServer = new ApiServer({
        ...environmentOf(own),
        storage,
        name: own,
        gitVersion: labVersionOf(profile),
        authentication: { tokens },
        podLogs,
        kinds: servedKinds(profile),
        requestMetrics: form.requests,
        observers: [...recordsOf(options, own, klog, peers), ...(options.observers ?? [])],
        objects: index === 0 ? (options.objects ?? []) : [],
      });
      for (const metric of form.lacksMetrics) apiServer.metrics.removeSingleMetric(metric);
      made.push(apiServer);
      const listen = { host: addressOf(own), port, ...(tls === undefined ? {} : { tls }) };
      const url = urlOf(listen, (await apiServer.start(listen)).port);
      noteServing(profile, klog, url);
      const kept = isIp(listen.host)
        ? keepKubernetesService({
            ...environmentOf(own),
            storage,
            klog,
            profile,
            flags: options.kubernetesService ?? {},
            url,
            token: loopbackToken,
            isFirst: index === 0,
          })
        : undefined;
      const stop = () => stopServer(apiServer, kept);
      const server = { cluster: name, name: own, url, token, apiServer, klog, stop };
      servers.push(server);
      options.onReady?.(server);
    }
  } catch (error) {
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all(made.map((apiServer) => apiServer.stop()));
    throw error;
  }
  return servers;
}

/** The server leaves the list of those that can be reached while it can still write to it. */
async function stopServer(
  apiServer: ApiServer,
  kept: KubernetesService | undefined,
): Promise<void> {
  await kept?.stop();
  await apiServer.stop();
}

/** What a server writes down of each request: into its own log, and into an audit log if asked. */
function recordsOf(
  options: ClusterOptions,
  server: string,
  klog: Klog,
  peers: PeerAddresses,
): readonly RequestObserver[] {
  const { profile = defaultProfile, serverVerbosity = 0, recorder } = options;
  const { clock, random } = options.environmentOf(server);
  const { traces, requestLines: lines, audit } = componentForm(profile);
  const journal = { clock, random, klog, traces, lines, verbosity: serverVerbosity, peers };
  const write = (line: string): void => recorder?.audit(server, line);
  return [
    new RequestJournal(journal),
    ...(recorder === undefined ? [] : [new AuditLog({ clock, form: audit, peers, write })]),
  ];
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

/** The first lines of a server's log. */
function noteServing(profile: ProfileName, klog: Klog, url: string): void {
  const { lines } = componentForm(profile);
  const { source, address } = lines.apiServerServing;
  const { port } = new URL(url);
  klog.write("I", lines.apiServerVersion, `Version: ${profileNamed(profile).gitVersion}`);
  klog.write("I", source, `Serving securely on ${address}:${port}`);
}

/** The version whose behaviour the server follows, and that it is ours. */
export function labVersionOf(profile: ProfileName): string {
  return `${profileNamed(profile).gitVersion}+lockstep`;
}

/** Derived, so that who has one component's token does not have another's by accident. */
export function componentToken(token: string, user: string): string {
  return `${token}/${user}`;
}

function urlOf({ host, tls }: ListenOptions, port: number): string {
  const scheme = tls === undefined ? "http" : "https";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
