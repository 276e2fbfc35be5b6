// The twin of the proxy and its pusher on Lockstep's machine in virtual time, and programs at the
// pods' addresses, each on a machine of its own that can be cut off.
import type { Listener } from "../../src/environment/network.ts";
import { NginxPusher } from "../../src/outputs/nginx/nginx-pusher.ts";
import { TwinProxy } from "../../src/outputs/nginx/twin-proxy.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";

const machine = "lockstep";
const httpPort = 80;
const podPort = 8080;
const socketPath = "/run/control.sock";

export class WorldProxy {
  readonly pusher: NginxPusher;
  readonly #simulation: Simulation;
  readonly #twin: TwinProxy;
  readonly #listeners: Listener[] = [];

  constructor(simulation: Simulation) {
    const host = simulation.host(machine);
    this.#simulation = simulation;
    this.pusher = new NginxPusher({ ...host, socketPath });
    this.#twin = new TwinProxy({ ...host, socketPath, listen: { host: machine, port: httpPort } });
  }

  async start(): Promise<void> {
    await this.#twin.start();
    this.pusher.start();
  }

  /** Answers with its address from now on, on a machine of the name `at`. */
  async program(at: string, address: string): Promise<void> {
    const { network } = this.#simulation.host(at);
    const answer = Buffer.from(address);
    this.#listeners.push(
      await network.listen({ host: address, port: podPort }, (exchange) =>
        exchange.respond(200).end(answer),
      ),
    );
  }

  /** The address that answered a request through the proxy, or the status. */
  async ask(host: string): Promise<string> {
    const { network } = this.#simulation.host("client");
    const url = `http://${machine}:${httpPort}/`;
    const { status, body } = await network.request({ method: "GET", url, headers: { host } });
    let text = "";
    for await (const chunk of body) text += Buffer.from(chunk).toString("utf8");
    return status === 200 ? text : String(status);
  }

  async stop(): Promise<void> {
    await this.pusher.stop();
    await this.#twin.stop();
    await Promise.all(this.#listeners.map((listener) => listener.close()));
  }
}
