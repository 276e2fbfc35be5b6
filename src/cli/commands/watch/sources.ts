// The sources of the last hops: proxies of `--proxy`, polled for their endpoints, and access logs
// of `--access-log`, read as they grow. A source that fails is reported; its hop is then unknown.

import { AccessLogParser } from "../../../access-log/access-log-parser.ts";
import type { IsService } from "../../../access-log/backend-name.ts";
import type { LogFormat } from "../../../access-log/log-format.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ObservedCluster, Observer } from "../../../observe/observer.ts";
import {
  type ProxyAddress,
  ProxyAddressError,
  readProxyAddress,
} from "../../../observe/routed/proxy-address.ts";
import { type FoundProxy, ProxyDiscovery } from "../../../observe/routed/proxy-discovery.ts";
import { type AskProxy, askingPod, askingUrl } from "../../../observe/routed/proxy-request.ts";
import type { ProxySource, ProxyStatus } from "../../../observe/routed/proxy-source.ts";
import { proxySource } from "../../../observe/routed/proxy-sources.ts";
import {
  type LogPlace,
  LogPlaceError,
  logChunks,
  readLogPlace,
} from "../../../observe/traffic/log-place.ts";
import { TrafficSource } from "../../../observe/traffic/traffic-source.ts";
import type { TrafficInput, TrafficTarget } from "../../../observe/traffic/traffic-witness.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { type CommandContext, UsageError } from "../../command.ts";
import { throwAsUsage } from "../../flags.ts";

interface AskedProxiesOptions {
  readonly environment: Environment;
  readonly observer: Observer;
  /** The values of `--proxy`. */
  readonly proxies: readonly string[];
  /** The names of the observed clusters. */
  readonly clusters: readonly string[];
  /** All of them unless given. */
  readonly namespaces: readonly string[] | undefined;
}

/** One proxy replica, how to ask it, and how that goes. */
interface AskedProxy {
  readonly ask: AskProxy;
  readonly source: ProxySource;
}

/** Most proxies that are found and do not answer never will: their ports are closed. */
const closedEveryMs = 30_000;

/** The value of `--proxy` that finds the proxies of the clusters. */
const findThem = "auto";

export class AskedProxies {
  readonly #options: AskedProxiesOptions;
  readonly #given: readonly AskedProxy[];
  readonly #discoveries: readonly ProxyDiscovery[];
  /** By name. */
  readonly #found = new Map<string, AskedProxy>();
  /** Of proxies that are gone. */
  readonly #stops = new Set<Promise<void>>();

  /** Throws a `UsageError` for an invalid address. */
  constructor(options: AskedProxiesOptions) {
    this.#options = options;
    const { environment, observer, proxies, namespaces } = options;
    this.#given = addressesOf(proxies.filter((one) => one !== findThem)).map((address) =>
      this.#asked(address, askingUrl({ ...environment, url: address.url })),
    );
    const searched = proxies.includes(findThem) ? [...observer.clients] : [];
    this.#discoveries = searched.map(
      ([cluster, client]) =>
        new ProxyDiscovery({
          ...environment,
          cluster,
          client,
          namespaces,
          onFound: (found) => this.#follow(cluster, client, found),
        }),
    );
  }

  start(): void {
    for (const { source } of this.#given) source.start();
    for (const discovery of this.#discoveries) discovery.start();
  }

  all(): readonly { readonly ask: AskProxy; readonly status: ProxyStatus }[] {
    return this.#all().map(({ ask, source }) => ({ ask, status: source.status }));
  }

  /** Problems that make a hop unknown. */
  notes(): readonly string[] {
    const proxies = this.#all().flatMap(({ source: { status } }) => {
      const { name, state, problem, ambiguous } = status;
      const silent = `proxy ${name} does not report its endpoints, so its routed times are unknown`;
      return [
        ...(state === "connected" || problem === undefined ? [] : [`${silent}: ${problem}`]),
        ...(ambiguous.length === 0
          ? []
          : [`proxy ${name} has backends that match several services: ${ambiguous.join(", ")}`]),
      ];
    });
    return [...proxies, ...this.#discoveries.flatMap((one) => one.notes())];
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all(this.#discoveries.map((one) => one.stop()));
    await Promise.all([...this.#all().map(({ source }) => source.stop()), ...this.#stops]);
  }

  #all(): readonly AskedProxy[] {
    return [...this.#given, ...this.#found.values()];
  }

  /** Those that run in the cluster now. */
  #follow(cluster: string, client: KubeClient, found: readonly FoundProxy[]): void {
    const { environment, observer } = this.#options;
    const prefix = observer.clients.size > 1 ? `${cluster}/` : "";
    const named = new Map<string, FoundProxy>(
      found.map((one) => [`${prefix}${one.namespace}/${one.pod}`, one]),
    );
    for (const [name, { source }] of this.#found) {
      if (named.has(name) || !name.startsWith(prefix)) continue;
      this.#found.delete(name);
      const stopped = source.stop().finally(() => this.#stops.delete(stopped));
      this.#stops.add(stopped);
    }
    for (const [name, proxy] of named) {
      if (this.#found.has(name)) continue;
      const { kind, port } = proxy;
      const ask = askingPod({ ...environment, ...proxy, client, port });
      const asked = this.#asked({ name, url: name, kind }, ask, closedEveryMs);
      this.#found.set(name, asked);
      asked.source.start();
    }
  }

  #asked(address: ProxyAddress, ask: AskProxy, lostEveryMs?: number): AskedProxy {
    const { environment, observer, clusters } = this.#options;
    const source = proxySource({
      ...environment,
      address,
      ask,
      ...(lostEveryMs !== undefined && { lostEveryMs }),
      clusters,
      witness: observer.replica(address.name),
      isService: (service) => observer.isService(service),
      isServiceAddress: (service, address) => observer.isServiceAddress(service, address),
      servicesAt: (endpoint) => observer.servicesAt(endpoint),
    });
    return { ask, source };
  }
}

function addressesOf(proxies: readonly string[]): readonly ProxyAddress[] {
  try {
    const addresses = proxies.map(readProxyAddress);
    const names = addresses.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice === undefined) return addresses;
    throw new UsageError(`--proxy ${twice} is given twice: remove one.`);
  } catch (error) {
    return throwAsUsage([ProxyAddressError], error, "--proxy ");
  }
}

interface LogsAsked {
  /** The values of `--access-log`. */
  readonly accessLogs: readonly string[];
  /** Undefined: detect one of the known formats. */
  readonly logFormat: LogFormat | undefined;
}

interface FollowedLogsOptions extends LogsAsked {
  readonly environment: Environment;
  readonly stdin: CommandContext["stdin"];
  readonly target: TrafficTarget & { readonly isService: IsService };
  readonly clusters: readonly ObservedCluster[];
  /** Called with each input from a log and the name of the log. */
  readonly onInput?: (name: string, input: TrafficInput) => void;
}

export class FollowedLogs {
  readonly #sources: readonly TrafficSource[];

  /** Throws a `UsageError` for an invalid place. */
  constructor(options: FollowedLogsOptions) {
    const { environment, accessLogs, target, onInput } = options;
    const clients = new Map(options.clusters.map(({ cluster, client }) => [cluster, client]));
    const { logFormat: format } = options;
    this.#sources = accessLogs.map((text) => {
      const place = placeOf(text);
      refuseForeignCluster(place, clients);
      return new TrafficSource({
        ...environment,
        name: text,
        parser: new AccessLogParser({
          format,
          isService: (service) => target.isService(service),
        }),
        target,
        ...(onInput && { onInput: (input) => onInput(text, input) }),
        chunks: (stream) =>
          logChunks(place, { ...environment, ...stream, clients, stdin: () => stdinOf(options) }),
      });
    });
  }

  start(): void {
    // Never rejects; a failure is in the status of the source.
    for (const source of this.#sources) void source.start();
  }

  /** Must be called first with every event of a change. */
  onEvent(event: JourneyEvent): void {
    for (const source of this.#sources) source.onEvent(event);
  }

  /** Problems that make a hop unknown. */
  notes(): readonly string[] {
    return this.#sources.flatMap(({ status }) => {
      const { name, state, problem, report } = status;
      const { example, notUnderstood, lines, withoutEndpoints } = report;
      return [
        ...(state === "failed" ? [`cannot read access log ${name}: ${problem}`] : []),
        ...(example === undefined
          ? []
          : [
              `access log ${name}: ${notUnderstood} of ${lines} lines have an unknown format. ` +
                `The first is line ${example.line}: ${example.problem}`,
            ]),
        ...(withoutEndpoints === 0
          ? []
          : [`access log ${name} does not contain the endpoint of each request`]),
      ];
    });
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.stop()));
  }
}

/** A missing file is probably misspelt. A file that disappears later is waited for. */
export async function refuseMissingLogs(
  { files }: Pick<Environment, "files">,
  { accessLogs }: Pick<LogsAsked, "accessLogs">,
): Promise<void> {
  for (const text of accessLogs) {
    const place = placeOf(text);
    if (place.type !== "file") continue;
    const { path } = place;
    const kind = await files.kind(path);
    if (kind === "folder") {
      throw new UsageError(`the access log ${path} is a folder: give a file.`);
    }
    if (kind !== undefined) continue;
    throw new UsageError(`access log ${path} does not exist.`);
  }
}

function placeOf(text: string): LogPlace {
  try {
    return readLogPlace(text);
  } catch (error) {
    return throwAsUsage([LogPlaceError], error, "--access-log: ");
  }
}

function refuseForeignCluster(place: LogPlace, clients: ReadonlyMap<string, KubeClient>): void {
  if (place.type !== "pod" || place.cluster === undefined || clients.has(place.cluster)) return;
  const names = [...clients.keys()].join(", ");
  throw new UsageError(`${place.cluster} is not a watched cluster. Watched clusters: ${names}.`);
}

function stdinOf({ stdin }: FollowedLogsOptions): AsyncIterable<Uint8Array> {
  if (stdin !== undefined) return stdin();
  throw new UsageError("no access log on standard input: pipe one in, or give a file.");
}
