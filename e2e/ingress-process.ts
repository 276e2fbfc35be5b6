// A replica of the ingress as users run it, for tests to kill and to start again: `lockstep ingress`
// as a process of its own, with its nginx under a prefix of its own.
import type { ChildProcess } from "../src/environment/processes.ts";
import { readAccessLog } from "../src/lab/traffic/access-log.ts";
import { ControlError } from "../src/outputs/nginx/control-answer.ts";
import { ControlClient, type ControlState } from "../src/outputs/nginx/control-client.ts";
import { socketPathOf } from "../src/outputs/nginx/nginx-prefix.ts";
import { NginxProcess } from "../src/outputs/nginx/nginx-process.ts";
import { textOf } from "./proxy-world.ts";
import type { ShopsWorld } from "./shops-world.ts";

/** Where it says that it answers questions. */
const statusLine = /endpoints and reasons: (http:\/\/127\.0\.0\.1:\d+)\/state/;

export class IngressProcess {
  readonly name: string;
  /** Where it takes requests. */
  readonly address: string;
  /** nginx's own folder. */
  readonly prefix: string;
  readonly #world: ShopsWorld;
  readonly #port: number;
  readonly #args: readonly string[];
  readonly #kubeconfig: string | undefined;
  readonly #nginx: NginxProcess;
  readonly #control: ControlClient;
  #child: ChildProcess | undefined;
  /** Resolves when all of what the newest run said and wrote has been read. */
  #output: Promise<unknown> = Promise.resolve();
  /** Everything the newest run has said. */
  #said = "";
  #written = "";
  /** Its output is read on once this has resolved. */
  #mayRead: Promise<void> = Promise.resolve();

  /** Resolves when it serves by the cluster's routes. */
  static async start(
    world: ShopsWorld,
    name: string,
    args: readonly string[] = [],
  ): Promise<IngressProcess> {
    const replica = new IngressProcess(world, name, await world.freePort(), args);
    world.atStop(() => replica.#stop());
    await replica.start();
    return replica;
  }

  /** A second one with the same prefix and port, not started yet. */
  beside(name: string, args: readonly string[], kubeconfig?: string): IngressProcess {
    const second = new IngressProcess(this.#world, name, this.#port, args, {
      prefix: this.prefix,
      kubeconfig,
    });
    this.#world.atStop(() => second.#stop());
    return second;
  }

  private constructor(
    world: ShopsWorld,
    name: string,
    port: number,
    args: readonly string[],
    shared: { readonly prefix?: string; readonly kubeconfig?: string | undefined } = {},
  ) {
    const { environment, folder } = world;
    this.#world = world;
    this.name = name;
    this.address = `127.0.0.1:${port}`;
    this.#port = port;
    this.#args = args;
    this.prefix = shared.prefix ?? `${folder}/${name}`;
    this.#kubeconfig = shared.kubeconfig;
    this.#nginx = new NginxProcess({ ...environment, prefix: this.prefix, program: "nginx" });
    const socketPath = socketPathOf(this.prefix);
    this.#control = new ControlClient({ ...environment, socketPath });
  }

  /** Also again, after it was killed: the prefix and the port stay the same. */
  async start(): Promise<void> {
    const { pid } = await this.run();
    await this.#world.until(`${this.name} is ready`, async () => {
      if (!this.#world.environment.processes.isAlive(pid)) {
        throw new Error(`${this.name} ended before it was ready:\n${this.#said}`);
      }
      return (await this.ask("/readyz")).startsWith("ok");
    });
  }

  /** Does not wait until it serves, which it may never do. */
  async run(): Promise<ChildProcess> {
    const { environment } = this.#world;
    const options = {
      kubeconfig: this.#kubeconfig ?? (await this.#world.kubeconfigFile()),
      "http-address": "127.0.0.1",
      "http-port": this.#port,
      "status-port": 0,
      workers: 2,
      prefix: this.prefix,
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const program = ["bin/lockstep.mjs", "ingress", ...args, ...this.#args];
    this.#said = "";
    this.#written = "";
    const child = await environment.processes.spawn(process.execPath, program);
    this.#child = child;
    this.#output = Promise.all([this.#listen(child), this.#collect(child)]);
    return child;
  }

  /** The standard error of the newest run. */
  get said(): string {
    return this.#said;
  }

  /** Its standard output. */
  get written(): string {
    return this.#written;
  }

  get statusPort(): number {
    return Number(/:(\d+)$/.exec(this.#statusUrl ?? "")?.[1]);
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** As the kubelet ends a pod; gives its exit code. */
  async terminate(): Promise<number | null | undefined> {
    this.#child?.kill("SIGTERM");
    return await this.exited();
  }

  /** Its exit code, once it has ended by itself and all that it said has been read. */
  async exited(): Promise<number | null | undefined> {
    const exit = await this.#child?.exited;
    await this.#output;
    this.#child = undefined;
    return exit?.code;
  }

  /** kill -9, of Lockstep alone. */
  async kill(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#child?.exited;
    this.#child = undefined;
  }

  /** nginx's own state; undefined while none runs. */
  async nginx(): Promise<ControlState | undefined> {
    try {
      return await this.#control.state();
    } catch (error) {
      if (error instanceof ControlError) return undefined;
      throw error;
    }
  }

  /** The addresses of a service's active endpoints, by its truth table. */
  async activeAddresses(service: string): Promise<ReadonlySet<string>> {
    const state = JSON.parse(await this.ask("/state")) as StatePart;
    const endpoints = state.services[service]?.endpoints ?? [];
    const active = endpoints.filter((endpoint) => endpoint.state === "active");
    return new Set(active.map(({ address }) => address));
  }

  /** The addresses that it routed to and then left, which nginx has confirmed. */
  async leftAddresses(service: string): Promise<ReadonlySet<string>> {
    const { entries } = JSON.parse(await this.ask("/routed?after=0")) as RoutedPart;
    const own = entries.filter((entry) => entry.service === service);
    return new Set(own.flatMap(({ left }) => left.map(({ address }) => address)));
  }

  /** Whether none of what it watches in its clusters is known to be current. */
  async isBlind(): Promise<boolean> {
    const { clusters } = JSON.parse(await this.ask("/state")) as StatePart;
    const watches = clusters.flatMap((cluster) => Object.values(cluster.watches));
    return watches.every(({ state }) => state !== "fresh");
  }

  /** The addresses it tried, by the target of the request. nginx writes them a second later. */
  async tries(): Promise<ReadonlyMap<string, readonly string[]>> {
    const log = await this.#world.environment.files.read(`${this.prefix}/logs/access.log`);
    return readAccessLog(Buffer.from(log ?? []).toString("utf8"));
  }

  async #listen({ errorOutput }: ChildProcess): Promise<void> {
    for await (const chunk of errorOutput) this.#said += Buffer.from(chunk).toString("utf8");
  }

  async #collect({ output }: ChildProcess): Promise<void> {
    for await (const chunk of output) {
      await this.#mayRead;
      this.#written += Buffer.from(chunk).toString("utf8");
    }
  }

  /** Stops reading its standard output; gives what reads on. */
  holdOutput(): () => void {
    let readOn = (): void => undefined;
    this.#mayRead = new Promise((resolve) => {
      readOn = resolve;
    });
    return readOn;
  }

  get #statusUrl(): string | undefined {
    return statusLine.exec(this.#said)?.[1];
  }

  /** Empty before it has said where it answers. */
  async ask(path: string): Promise<string> {
    const url = this.#statusUrl;
    if (url === undefined) return "";
    const { network } = this.#world.environment;
    const { body } = await network.request({ method: "GET", url: `${url}${path}` });
    return await textOf(body);
  }

  /** As Ctrl-C would; leftovers of a failed test are ended too. */
  async #stop(): Promise<void> {
    this.#child?.kill("SIGINT");
    await this.#child?.exited;
    const { masterPid, workerPids = [] } = (await this.nginx()) ?? {};
    const master = masterPid ?? (await this.#nginx.masterPid());
    await this.#nginx.endNow([...(master === undefined ? [] : [master]), ...workerPids]);
  }
}

interface RoutedPart {
  readonly entries: readonly {
    readonly service: string;
    readonly left: readonly { readonly address: string }[];
  }[];
}

interface StatePart {
  readonly clusters: readonly {
    readonly watches: Readonly<Record<string, { readonly state: string }>>;
  }[];
  readonly services: Readonly<
    Record<
      string,
      { readonly endpoints: readonly { readonly address: string; readonly state: string }[] }
    >
  >;
}
