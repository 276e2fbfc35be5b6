// Two calm tenants and a hostile one in one cluster, with Lockstep and its proxy in virtual time. A
// run measures for how long the proxy held something wrong of each calm host after each step; the
// same seed without the hostile tenant is what it is compared with.

import { ApiServer } from "../../src/apiserver/api-server.ts";
import type { KeyPair } from "../../src/apiserver/certificate-authority.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import type { Environment } from "../../src/environment/environment.ts";
import { type Random, randomBetween, randomInt } from "../../src/environment/random.ts";
import { IngressLoop } from "../../src/ingress/ingress-loop.ts";
import { DirectKubeClient } from "../../src/kube/client/direct-client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { NginxPusher } from "../../src/outputs/nginx/nginx-pusher.ts";
import type { TwinState } from "../../src/outputs/nginx/twin-control.ts";
import { TwinProxy } from "../../src/outputs/nginx/twin-proxy.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { tryToWrite, write } from "./api-write.ts";
import { CalmTenant, type Expected } from "./calm-tenant.ts";
import { HostileTenant, unansweredSuffix } from "./hostile-tenant.ts";
import { wrongOf } from "./seen-host.ts";

export interface TenantKeys {
  /** By calm namespace. */
  readonly calm: Readonly<Record<string, readonly KeyPair[]>>;
  readonly hostile: KeyPair;
}

export interface TenantRunOptions {
  readonly seed: number;
  readonly keys: TenantKeys;
  readonly isHostile: boolean;
}

/** One step, and for how long each host was wrong until the next one. */
export interface Step {
  readonly what: string;
  readonly wrongMs: Map<string, number>;
  /** The last difference, by host. */
  readonly wrong: Map<string, string>;
}

export interface TenantRun {
  readonly steps: readonly Step[];
  /** The acts of the hostile tenant. */
  readonly acts: readonly string[];
}

const calmNamespaces = ["calm-1", "calm-2"] as const;
const hostileNamespace = "hostile";
const api = "api";
const edge = "edge";
const socketPath = "/run/control.sock";

/**
 * A sixteenth of what nginx has, so that a few objects fill it. A load holds everything twice, beside the
 * reserve, which is a sixteenth too (src/outputs/nginx/proxy-memory.ts).
 */
const memoryBytes = 4 * 1024 * 1024;
const memory = { stateBytes: memoryBytes, certificateBytes: memoryBytes };
const capacityBytes = (memoryBytes - memoryBytes / 8) / 2;
const capacity = { routes: capacityBytes, certificates: capacityBytes };

const steps = 6;
/** Long enough for an external name to be looked up again, which is the slowest thing of all. */
const namesLastMs = 5_000;
const stepMs = { from: 2 * namesLastMs, to: 3 * namesLastMs } as const;
const settleMs = 5_000;
/** Between two acts, on average. */
const meanActMs = 3_000;
/** How often it is looked at what the proxy holds. */
const lookMs = 100;
/** Large objects take the time of a run; enough of them to fill whatever has a bound. */
const largestShare = 0.15;

export function runTenants(options: TenantRunOptions): Promise<TenantRun> {
  const { seed } = options;
  return simulate({ seed, maxVirtualMs: 3_600_000 }, async (simulation) => {
    const world = new TenantWorld(simulation, options);
    await world.open();
    return await world.play();
  });
}

class TenantWorld {
  readonly #simulation: Simulation;
  readonly #options: TenantRunOptions;
  /** Of the plan: the same with and without the hostile tenant. */
  readonly #random: Random;
  readonly #tenants: readonly CalmTenant[];
  readonly #hostile: HostileTenant;
  readonly #server: ApiServer;
  readonly #steps: Step[] = [];
  readonly #acts: string[] = [];
  readonly #programs = new Map<string, { kill(signal: "SIGKILL"): void }>();
  #proxy: TwinState | undefined;
  #isOver = false;

  constructor(simulation: Simulation, options: TenantRunOptions) {
    const { keys } = options;
    this.#simulation = simulation;
    this.#options = options;
    this.#random = simulation.host("plan").random;
    this.#tenants = calmNamespaces.map(
      (namespace, index) =>
        new CalmTenant({
          namespace,
          network: `192.${index}`,
          keyPairs: keys.calm[namespace] ?? [],
          write: (one) => write(this.#client, one),
          resolve: (name, address) => simulation.names.set(name, [address], namesLastMs),
        }),
    );
    this.#hostile = new HostileTenant({
      namespace: hostileNamespace,
      random: simulation.host("hostile").random,
      victims: () => this.#tenants.flatMap(({ hosts }) => hosts),
      keyPair: keys.hostile,
      largestShare,
    });
    const environment = simulation.host(api);
    const tokens = ["admin", "lockstep"].map((name) => [name, { name, groups: [] }] as const);
    this.#server = new ApiServer({
      ...environment,
      storage: new MemoryStorage(environment),
      name: "cluster",
      gitVersion: "v1.33.1",
      authentication: { tokens: new Map(tokens) },
    });
    simulation.names.silence(unansweredSuffix);
    simulation.registerProgram("lockstep", ({ environment: own }) => this.#decide(own));
    simulation.registerProgram("proxy", ({ environment: own }) => this.#serve(own));
  }

  async open(): Promise<void> {
    await this.#server.start({ host: api, port: 80 });
    for (const tenant of this.#tenants) await tenant.open();
    const metadata = { name: hostileNamespace };
    await write(this.#client, { method: "POST", path: "/api/v1/namespaces", body: { metadata } });
    await this.#start("proxy");
    await this.#start("lockstep");
    await this.#simulation.sleep(settleMs);
  }

  async play(): Promise<TenantRun> {
    if (this.#options.isHostile) this.#harm().catch((error) => this.#simulation.fail(error));
    for (let step = 0; step < steps; step += 1) {
      const lengthMs = randomBetween(this.#random, stepMs.from, stepMs.to);
      await this.#step(lengthMs);
    }
    this.#isOver = true;
    for (const program of ["lockstep", "proxy"]) this.#kill(program);
    await this.#server.stop();
    return { steps: this.#steps, acts: this.#acts };
  }

  /** One change of a calm tenant, or a restart; then the time until the next. */
  async #step(lengthMs: number): Promise<void> {
    const endsAtMs = this.#simulation.now() + lengthMs;
    const what = await this.#do(randomInt(this.#random, 1_000));
    const step: Step = { what, wrongMs: new Map(), wrong: new Map() };
    this.#steps.push(step);
    while (this.#simulation.now() < endsAtMs) {
      this.#look(step);
      await this.#simulation.sleep(lookMs);
    }
  }

  async #do(choice: number): Promise<string> {
    if (choice % 4 === 0) {
      const program = choice % 3 === 0 ? "proxy" : "lockstep";
      const downMs = choice * 3;
      this.#kill(program);
      await this.#simulation.sleep(downMs);
      await this.#start(program);
      return `${program} is killed and back after ${downMs} ms`;
    }
    const tenant = this.#tenants[choice % this.#tenants.length];
    return (await tenant?.change(Math.floor(choice / 4))) ?? "nothing";
  }

  #look(step: Step): void {
    const expected: readonly Expected[] = this.#tenants.flatMap((tenant) => tenant.expected);
    for (const one of expected) {
      const wrong = wrongOf(one, this.#proxy);
      if (wrong === undefined) continue;
      step.wrongMs.set(one.host, (step.wrongMs.get(one.host) ?? 0) + lookMs);
      step.wrong.set(one.host, wrong);
    }
  }

  async #harm(): Promise<void> {
    const { random } = this.#simulation.host("hostile");
    while (!this.#isOver) {
      await this.#simulation.sleep(randomBetween(random, 0, 2 * meanActMs));
      const { name, writes } = this.#hostile.next();
      this.#acts.push(`${(this.#simulation.now() / 1000).toFixed(1)} s ${name}`);
      for (const one of writes) {
        if (this.#isOver) return;
        await tryToWrite(this.#client, one);
      }
    }
  }

  get #client(): HttpKubeClient {
    const cluster = fixedAccess({ name: "cluster", server: `http://${api}`, token: "admin" });
    const environment = this.#simulation.host("operator");
    return new HttpKubeClient({ ...environment, cluster, userAgent: "operator" });
  }

  async #start(program: string): Promise<void> {
    const { processes } = this.#simulation.host(edge);
    this.#programs.set(program, await processes.spawn(program, [], { detached: true }));
  }

  #kill(program: string): void {
    this.#programs.get(program)?.kill("SIGKILL");
    if (program === "proxy") this.#proxy = undefined;
  }

  async #decide(environment: Environment): Promise<number> {
    const cluster = fixedAccess({ name: "cluster", server: `http://${api}`, token: "lockstep" });
    const client = new DirectKubeClient({
      ...environment,
      cluster,
      userAgent: "lockstep",
      plainServers: "trusted",
    });
    const pusher = new NginxPusher({ ...environment, socketPath, capacity });
    const access = { name: "cluster", client };
    const loop = new IngressLoop({
      ...environment,
      clusters: [access],
      access,
      className: "lockstep",
      policy: { followSlices: false },
      output: pusher,
      proxy: pusher,
      onTruth: () => undefined,
    });
    pusher.start();
    await loop.run(new AbortController().signal);
    return 0;
  }

  async #serve(environment: Environment): Promise<number> {
    const listen = { host: edge, port: 80 };
    const onPushed = (state: TwinState): void => {
      this.#proxy = state;
    };
    await new TwinProxy({ ...environment, socketPath, listen, onPushed, memory }).start();
    return await new Promise<number>(() => undefined);
  }
}
