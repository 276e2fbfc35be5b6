// Lockstep and its proxy as two processes of one machine, which can be killed and started again one
// by one. Lockstep is the real loop, pusher and client; the proxy is the twin.
import type { Environment } from "../../src/environment/environment.ts";
import type { Network } from "../../src/environment/network.ts";
import type { ChildProcess } from "../../src/environment/processes.ts";
import type { TruthChange } from "../../src/ingress/decisions.ts";
import { IngressLoop } from "../../src/ingress/ingress-loop.ts";
import { DirectKubeClient } from "../../src/kube/client/direct-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { NginxPusher } from "../../src/outputs/nginx/nginx-pusher.ts";
import { TwinProxy } from "../../src/outputs/nginx/twin-proxy.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import type { SoakCluster } from "./soak-cluster.ts";

export interface SoakIngressOptions {
  readonly simulation: Simulation;
  /** Where pods run; the Ingresses are in the first. */
  readonly clusters: () => readonly SoakCluster[];
  readonly onTruth: (change: TruthChange) => void;
  /** The proxy's network to the pods, for a count of its tries. */
  readonly watched: (network: Network) => Network;
  /** Lockstep's own network, for its probes. */
  readonly probing: (network: Network) => Network;
}

/** The machine of both. */
export const edge = "edge";
export const edgeUrl = `http://${edge}:80`;

const socketPath = "/run/control.sock";
const programs = { lockstep: "soak-lockstep", proxy: "soak-proxy" } as const;

export type SoakProgram = keyof typeof programs;

export class SoakIngress {
  readonly #options: SoakIngressOptions;
  readonly #children = new Map<SoakProgram, ChildProcess>();
  #loop: IngressLoop | undefined;

  constructor(options: SoakIngressOptions) {
    this.#options = options;
    const { simulation } = options;
    simulation.registerProgram(programs.lockstep, ({ environment }) => this.#decide(environment));
    simulation.registerProgram(programs.proxy, ({ environment }) => this.#serve(environment));
  }

  get loop(): IngressLoop | undefined {
    return this.#loop;
  }

  runs(program: SoakProgram): boolean {
    return this.#children.has(program);
  }

  /** Does nothing while it runs. */
  async start(program: SoakProgram): Promise<void> {
    if (this.runs(program)) return;
    const { processes } = this.#options.simulation.host(edge);
    this.#children.set(program, await processes.spawn(programs[program], [], { detached: true }));
  }

  /** kill -9. Does nothing while it is down. */
  kill(program: SoakProgram): void {
    this.#children.get(program)?.kill("SIGKILL");
    this.#children.delete(program);
    if (program === "lockstep") this.#loop = undefined;
  }

  async #decide(environment: Environment): Promise<number> {
    const { clusters, onTruth, probing } = this.#options;
    const pusher = new NginxPusher({ ...environment, socketPath });
    const known = clusters().map(({ name, machine }) => ({
      name,
      client: new DirectKubeClient({
        ...environment,
        cluster: fixedAccess({ name, server: `http://${machine}`, token: "lockstep-token" }),
        userAgent: "lockstep",
        plainServers: "trusted",
      }),
    }));
    const [access] = known;
    if (access === undefined) throw new Error("there is no cluster");
    const loop = new IngressLoop({
      ...environment,
      network: probing(environment.network),
      clusters: known,
      access,
      className: "lockstep",
      policy: { followSlices: false },
      output: pusher,
      proxy: pusher,
      onTruth: (change) => {
        if (this.#loop === loop) onTruth(change);
      },
    });
    this.#loop = loop;
    pusher.start();
    await loop.run(new AbortController().signal);
    return 0;
  }

  async #serve(environment: Environment): Promise<number> {
    const { watched } = this.#options;
    const network = watched(environment.network);
    const listen = { host: edge, port: 80 };
    await new TwinProxy({ ...environment, network, socketPath, listen }).start();
    return await new Promise<number>(() => undefined);
  }
}
