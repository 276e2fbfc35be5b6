// One API server of a cluster with what belongs to it: its log, its records of requests, and its
// part in keeping the service `kubernetes`. The same in the lab's own process and in one of its own.

import { ApiServer } from "../apiserver/api-server.ts";
import { AuditLog } from "../apiserver/audit/audit-log.ts";
import type { PeerAddresses } from "../apiserver/audit/peer-addresses.ts";
import type { User } from "../apiserver/http/authentication.ts";
import type { PodListensAt } from "../apiserver/http/pod-proxy.ts";
import type { RequestObserver } from "../apiserver/http/request-record.ts";
import { RequestJournal } from "../apiserver/journal/request-journal.ts";
import type { Storage } from "../apiserver/storage/storage.ts";
import type { Klog } from "../components/klog.ts";
import type { PodLogs } from "../components/pod-logs.ts";
import { isIp } from "../environment/ip-address.ts";
import type { ListenOptions } from "../environment/network.ts";
import type { Random } from "../environment/random.ts";
import { componentBindings, serverAccess } from "./cluster-access.ts";
import {
  type KubernetesServiceFlags,
  startKubernetesServiceReconciler,
} from "./kubernetes-service/kubernetes-service-reconciler.ts";
import type { LabEnvironment } from "./lab-environment.ts";
import { servedKinds } from "./served-kinds.ts";
import { type ProfileName, profileNamed } from "./versions/profiles.ts";

/** The settings of a server: plain data for another process. */
export interface ServerPlan {
  /** `lab-1`, `lab-1-server-2`. */
  readonly name: string;
  readonly listen: ListenOptions;
  readonly profile: ProfileName;
  readonly kubernetesService: KubernetesServiceFlags;
  /** The cluster's own: the keys of its accounts' tokens are made of it. */
  readonly secret: string;
  /** See `ClusterOptions`. */
  readonly accessControl: boolean;
  /** See `ClusterOptions`. */
  readonly fieldOwners: boolean;
  /** Of the server to itself. */
  readonly loopbackToken: string;
  /** `--v`. */
  readonly verbosity: number;
  /** The first of a cluster begins at once to keep the service `kubernetes`. */
  readonly isFirst: boolean;
}

export interface ServerParts extends ServerPlan {
  readonly environment: LabEnvironment;
  readonly storage: Storage;
  readonly tokens: ReadonlyMap<string, User>;
  readonly podLogs: PodLogs;
  /** See `ApiServerOptions`. */
  readonly podListensAt?: PodListensAt;
  readonly klog: Klog;
  readonly peers: PeerAddresses;
  /** Takes each line of its audit log; it keeps none unless given. */
  readonly audit?: (line: string) => void;
  /** See `ApiServerOptions`. */
  readonly isolatedReaders?: ReadonlyMap<string, Random>;
  readonly observers?: readonly RequestObserver[];
  /** In the storage before it listens. */
  readonly objects?: Iterable<object>;
  /**
   * The storage outlives the server: such an object may be there already, and other servers have
   * clients who come over with what they know, so the caches begin at once.
   */
  readonly isOneOfSeveral?: boolean;
  /** Ends a start that waits for the storage. */
  readonly stop?: AbortSignal;
}

export interface StartedServer {
  readonly url: string;
  readonly apiServer: ApiServer;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** Nothing is left behind when it cannot listen. */
export async function startServer(parts: ServerParts): Promise<StartedServer> {
  const { environment, listen, profile, storage, klog } = parts;
  const apiServer = makeServer(parts);
  let url: string;
  try {
    url = urlOf(listen, (await apiServer.start(listen, parts.stop)).port);
  } catch (error) {
    await apiServer.stop();
    throw error;
  }
  noteServing(profile, klog, url);
  const { kubernetesService: flags, loopbackToken: token } = parts;
  // Processes start when they start; the servers of one process would all have the same rhythm.
  const begins = parts.isFirst || parts.isOneOfSeveral === true ? "at-once" : "spread";
  const own = { storage, klog, profile, flags, url, token, begins } as const;
  const reconciler = isIp(listen.host)
    ? startKubernetesServiceReconciler({ ...environment, ...own })
    : undefined;
  const stop = async (): Promise<void> => {
    const { stopOrder } = profileNamed(profile).kubernetesService;
    if (stopOrder === "listener-first") await apiServer.stop();
    await reconciler?.stop();
    await apiServer.stop();
  };
  return { url, apiServer, stop };
}

/** apiextensions-apiserver: how long a definition waits where --apiserver-count is more than one. */
const establishingMs = 5000;

function makeServer(parts: ServerParts): ApiServer {
  const { environment, name, profile, storage, tokens, secret, observers = [] } = parts;
  const form = profileNamed(profile).formats;
  const apiServer = new ApiServer({
    ...environment,
    storage,
    name,
    gitVersion: labVersionOf(profile),
    ...serverAccess(parts, tokens, secret),
    trackFieldsFrom: parts.fieldOwners ? "creation" : "first-apply",
    podLogs: parts.podLogs,
    ...(parts.podListensAt && { podListensAt: parts.podListensAt }),
    kinds: servedKinds(profile),
    requestMetrics: form.requests,
    observers: [...recordsOf(parts), ...observers],
    ...(parts.isolatedReaders && { isolatedReaders: parts.isolatedReaders }),
    objects: [...(parts.isFirst ? componentBindings(parts) : []), ...(parts.objects ?? [])],
    keepsExistingObjects: parts.isOneOfSeveral ?? false,
    startsCaches: parts.isOneOfSeveral ?? false,
    establishingDelayMs: (parts.kubernetesService.apiserverCount ?? 1) > 1 ? establishingMs : 0,
  });
  for (const metric of form.lacksMetrics) apiServer.metrics.removeSingleMetric(metric);
  return apiServer;
}

/** The records of each request: in the server's own log, and in an audit log if asked. */
function recordsOf(parts: ServerParts): readonly RequestObserver[] {
  const { environment, profile, verbosity, klog, peers, audit } = parts;
  const { clock, random } = environment;
  const { traces, requestLines: lines, audit: form } = profileNamed(profile).formats;
  const journal = { clock, random, klog, traces, lines, verbosity, peers };
  return [
    new RequestJournal(journal),
    ...(audit === undefined ? [] : [new AuditLog({ clock, form, peers, write: audit })]),
  ];
}

/** The first lines of a server's log. */
function noteServing(profile: ProfileName, klog: Klog, url: string): void {
  const { lines } = profileNamed(profile).formats;
  const { source, address } = lines.apiServerServing;
  const { port } = new URL(url);
  klog.write("I", lines.apiServerVersion, `Version: ${profileNamed(profile).gitVersion}`);
  klog.write("I", source, `Serving securely on ${address}:${port}`);
}

/** The version whose behaviour the server follows, and that it is ours. */
export function labVersionOf(profile: ProfileName): string {
  return `${profileNamed(profile).gitVersion}+lockstep`;
}

export function urlOf({ host, tls }: ListenOptions, port: number): string {
  const scheme = tls === undefined ? "http" : "https";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
