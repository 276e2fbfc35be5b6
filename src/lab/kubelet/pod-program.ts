// The program that runs in every pod: an HTTP server on the address of the pod that answers with its
// name. It knows nothing of Kubernetes except its settings. Like a real program it can be terminated,
// killed, or crash. Invariant: it accepts connections exactly while the ledger records that it does;
// once it has exited, nothing of it listens or answers.
import { assertCostly } from "../../environment/assert.ts";
import type { Environment } from "../../environment/environment.ts";
import type { Listener, ServerExchange } from "../../environment/network.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import {
  askedHeaders,
  type EchoServer,
  echoDelayMs,
  echoLine,
  echoOf,
  grpcEchoOf,
  RetrySimulation,
} from "./echo-server.ts";
import type { Ledger } from "./ledger.ts";
import type { PodBehaviour } from "./pod-behaviour.ts";
import { WebSocketEcho, webSocketHeaders } from "./web-socket-echo.ts";

export interface ProgramIdentity {
  readonly cluster: string;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
  readonly address: string;
}

export interface PodProgramOptions extends Pick<Environment, "timers" | "clock" | "network"> {
  readonly identity: ProgramIdentity;
  readonly ports: readonly number[];
  readonly behaviour: PodBehaviour;
  /** It answers as such a server; undefined: who it is. */
  readonly echo: EchoServer | undefined;
  readonly ledger: Ledger;
  /** Its standard output, line by line. */
  readonly print: (line: string) => void;
}

/** The user agent of the kubelet's probes; probes are left out of the output. */
export const probeUserAgent = "kube-probe/1.33";

/** Ended by a signal: 128 plus its number, as a shell and every container runtime count. */
export const exitCodes = { completed: 0, crashed: 1, terminated: 143, killed: 137 } as const;

const json = { "content-type": "application/json" };

export class PodProgram {
  /** Resolves to the exit code when nothing of it is left; never rejects. */
  readonly exited: Promise<number>;
  readonly #options: PodProgramOptions;
  readonly #listeners: Listener[] = [];
  readonly #open = new Set<ServerExchange>();
  readonly #ending = new AbortController();
  readonly #retries = new RetrySimulation();
  #resolveExited: (exitCode: number) => void = () => undefined;
  #isWarm = false;
  #onIdle: () => void = () => undefined;
  #isStopping = false;

  /** Rejects with a `NetworkError`, leaving nothing behind, when it cannot listen. */
  static async start(options: PodProgramOptions): Promise<PodProgram> {
    const program = new PodProgram(options);
    try {
      await program.#listen();
    } catch (error) {
      await Promise.all(program.#listeners.map((listener) => listener.close()));
      throw error;
    }
    program.#begin();
    return program;
  }

  private constructor(options: PodProgramOptions) {
    this.#options = options;
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  /** TERM: what happens is the program's affair. */
  terminate(): void {
    const { behaviour, print } = this.#options;
    switch (behaviour.onTerm) {
      case "ignore":
        print("ignoring SIGTERM");
        return;
      case "exit":
        this.#exit(exitCodes.terminated);
        return;
      case "drain":
        this.#drain();
        return;
    }
  }

  /** KILL: it ends, whatever it was doing. */
  kill(): void {
    this.#exit(exitCodes.killed);
  }

  crash(): void {
    this.#options.print("crashing");
    this.#exit(exitCodes.crashed);
  }

  async #listen(): Promise<void> {
    const { network, identity, ports, echo } = this.#options;
    for (const port of new Set(ports)) {
      const http2 = echo?.isGrpc === true && port === echo.port;
      const upgrades = echo !== undefined && !http2;
      const options = { host: identity.address, port, http2, upgrades };
      const listener = await network.listen(options, (exchange) => this.#answer(exchange, port));
      this.#listeners.push(listener);
    }
  }

  #begin(): void {
    const { timers, behaviour, identity, ledger, ports, print } = this.#options;
    if (ports.length > 0) ledger.began(identity.address, identity.uid);
    print(`listening on ${identity.address}, ports ${ports.join(", ") || "none"}`);
    const later = (delayMs: number, act: () => void): void => {
      const cancel = timers.after(delayMs, act);
      this.#ending.signal.addEventListener("abort", cancel, { once: true });
    };
    if (behaviour.readyAfterMs === 0) this.#isWarm = true;
    else later(behaviour.readyAfterMs, () => this.#warm());
    if (behaviour.crashAfterMs !== undefined) later(behaviour.crashAfterMs, () => this.crash());
  }

  #warm(): void {
    this.#isWarm = true;
    this.#options.print("ready");
  }

  async #answer(exchange: ServerExchange, port: number): Promise<void> {
    const { timers, behaviour, echo } = this.#options;
    const { closed } = exchange.request;
    const askedMs = echo === undefined ? 0 : echoDelayMs(exchange.request);
    const waitMs = behaviour.responseTimeMs + askedMs;
    this.#open.add(exchange);
    // An answer is finished when its last byte has left, not when it has been written.
    closed.addEventListener("abort", () => this.#over(exchange), { once: true });
    try {
      if (waitMs > 0) await timers.sleep(waitMs, closed);
      const switching = echo && webSocketHeaders(exchange.request);
      if (switching === undefined) this.#respond(exchange, port);
      else await this.#echoFrames(exchange, switching);
    } catch (error) {
      // A client that leaves before its answer is an everyday thing; anything else is ours.
      if (!closed.aborted) throw error;
    }
  }

  #over(exchange: ServerExchange): void {
    this.#open.delete(exchange);
    if (this.#open.size === 0) this.#onIdle();
  }

  #respond(exchange: ServerExchange, port: number): void {
    const { identity, behaviour, echo, print } = this.#options;
    const { method, target, headers } = exchange.request;
    const failure = echo === undefined ? undefined : this.#retries.failureOf(exchange.request);
    if (failure === "reset") {
      print(`${method} ${target} reset`);
      exchange.abort();
      return;
    }
    const status = failure ?? (this.#isWarm ? behaviour.status : 503);
    if (!(headers["user-agent"] ?? "").startsWith("kube-probe/")) {
      const isEchoed = echo !== undefined && failure === undefined;
      print(isEchoed ? echoLine(exchange.request) : `${method} ${target} ${status}`);
    }
    if (echo?.isGrpc === true && port === echo.port) {
      const { body, trailers } = grpcEchoOf(exchange.request, echo.env);
      exchange.respond(status, { "content-type": "application/grpc" }).end(body, trailers);
      return;
    }
    const host = headers["host"] ?? "";
    const answer =
      echo === undefined
        ? { ...identity, port, method, path: target, host, headers }
        : echoOf(exchange.request, echo.env);
    const body = Buffer.from(`${JSON.stringify(answer)}\n`);
    const asked = echo === undefined ? {} : askedHeaders(exchange.request);
    const writer = exchange.respond(status, { ...asked, ...json });
    if (method === "HEAD") writer.end();
    else writer.end(body);
  }

  async #echoFrames(exchange: ServerExchange, headers: StringMap): Promise<void> {
    this.#options.print("established websocket connection");
    const writer = exchange.respond(101, headers);
    const echo = new WebSocketEcho();
    for await (const chunk of exchange.request.body) {
      writer.write(echo.take(chunk));
      await writer.drained();
      if (echo.isOver) writer.end();
    }
    writer.end();
  }

  #drain(): void {
    const { timers, behaviour, print } = this.#options;
    print(`SIGTERM: finishing ${this.#open.size} requests`);
    this.#stopAccepting();
    if (this.#open.size === 0) {
      this.#exit(exitCodes.completed);
      return;
    }
    this.#onIdle = () => this.#exit(exitCodes.completed);
    const cancel = timers.after(behaviour.drainTimeMs, () => this.#exit(exitCodes.completed));
    this.#ending.signal.addEventListener("abort", cancel, { once: true });
  }

  #stopAccepting(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const { ledger, identity } = this.#options;
    ledger.ended(identity.address, identity.uid);
    for (const listener of this.#listeners) listener.stopAccepting();
  }

  #exit(exitCode: number): void {
    if (this.#ending.signal.aborted) return;
    this.#stopAccepting();
    this.#ending.abort(new Error("the program has exited"));
    this.#options.print(`exited with code ${exitCode}`);
    // Closing a listener does not fail; the exit is known when the last connection is gone.
    void Promise.all(this.#listeners.map((listener) => listener.close())).then(() => {
      assertCostly(() => this.#open.size === 0, "a program that has exited answers nothing");
      this.#resolveExited(exitCode);
    });
  }
}
