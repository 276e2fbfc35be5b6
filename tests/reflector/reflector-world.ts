// A reflector of pods in virtual time, and a small API server that keeps a script. Unless the
// script says otherwise the server is honest: it lists by page, answers quorum reads and sends
// every change after a watch's version.
import { Registry } from "prom-client";
import type { BodyWriter, ServerExchange } from "../../src/environment/network.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { type Pod, podKind } from "../../src/kube/kinds/pod.ts";
import { Reflector } from "../../src/kube/reflector/reflector.ts";
import type { ReflectorOptions } from "../../src/kube/reflector/reflector-parts.ts";
import type { Change } from "../../src/kube/store/store-change.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";

export type RequestKind = "list" | "page" | "quorum" | "watch";

/** Answers one request in the server's place. */
export type ScriptedAnswer = (exchange: ServerExchange, query: URLSearchParams) => void;

export interface SeenRequest {
  readonly kind: RequestKind;
  readonly atMs: number;
  readonly query: Readonly<Record<string, string>>;
}

export interface ReflectorWorld {
  readonly simulation: Simulation;
  readonly server: ScriptedServer;
  readonly reflector: Reflector<Pod, "node">;
  readonly registry: Registry;
  /** The deliveries to the handler as texts: `added web-0@3 by list`. */
  readonly delivered: string[];
}

export function reflectorWorld(
  run: (world: ReflectorWorld) => Promise<void>,
  options: Partial<ReflectorOptions<Pod, "node">> & { readonly seed?: number } = {},
): Promise<void> {
  return simulate({ seed: options.seed ?? 1 }, async (simulation) => {
    const server = new ScriptedServer(simulation);
    await simulation.host("api").network.listen({ host: "api", port: 80 }, server.handle);
    const client = clientOf(simulation, "api");
    const registry = new Registry();
    const delivered: string[] = [];
    const { clock, timers, random, log } = simulation.host("lockstep");
    const reflector = new Reflector<Pod, "node">({
      kind: podKind,
      client,
      cluster: "c1",
      indexes: { node: (pod) => pod.nodeName },
      handlers: [(change) => void delivered.push(describe(change))],
      metrics: registry,
      clock,
      timers,
      random,
      log,
      ...options,
    });
    await run({ simulation, server, reflector, registry, delivered });
    await reflector.stop();
  });
}

export function clientOf(simulation: Simulation, host: string): HttpKubeClient {
  const { network, clock, timers, log } = simulation.host("lockstep");
  const cluster = fixedAccess({ name: "c1", server: `http://${host}:80` });
  return new HttpKubeClient({ network, clock, timers, log, cluster, userAgent: "test" });
}

export function names(pods: Iterable<Pod>): readonly string[] {
  return [...pods].map((pod) => pod.metadata.name).sort();
}

export class ScriptedServer {
  readonly requests: SeenRequest[] = [];
  readonly pods = new Map<string, object>();
  readonly #simulation: Simulation;
  readonly #scripts = new Map<RequestKind, ScriptedAnswer[]>();
  readonly #history: { version: number; line: Buffer }[] = [];
  readonly #watches = new Set<BodyWriter>();
  #version = 1;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  get version(): number {
    return this.#version;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** The next requests of this kind are answered by these, one each. */
  script(kind: RequestKind, ...answers: readonly ScriptedAnswer[]): void {
    this.#scripts.set(kind, [...(this.#scripts.get(kind) ?? []), ...answers]);
  }

  seen(kind: RequestKind): readonly SeenRequest[] {
    return this.requests.filter((request) => request.kind === kind);
  }

  /** An object of another kind changed: the version rises and no watch of pods gets an event. */
  touchOther(): void {
    this.#version += 1;
  }

  put(name: string, uid = `uid-${name}`): void {
    const type = this.pods.has(name) ? "MODIFIED" : "ADDED";
    this.#version += 1;
    const pod = rawPod(name, uid, this.#version);
    this.pods.set(name, pod);
    this.#publish(type, pod);
  }

  delete(name: string, uid = `uid-${name}`): void {
    this.#version += 1;
    this.pods.delete(name);
    this.#publish("DELETED", rawPod(name, uid, this.#version));
  }

  /** To every open watch, whatever its version. */
  send(type: string, object: object): void {
    for (const watch of this.#watches) {
      watch.write(eventLine(type, object));
    }
  }

  bookmark(version = this.#version): void {
    this.send("BOOKMARK", { kind: "Pod", metadata: { resourceVersion: String(version) } });
  }

  endWatches(how: "end" | "abort"): void {
    for (const watch of this.#watches) {
      watch[how]();
    }
    this.#watches.clear();
  }

  readonly handle = (exchange: ServerExchange): void => {
    const query = new URL(exchange.request.target, "http://api").searchParams;
    const kind = kindOf(query);
    const atMs = this.#simulation.now();
    this.requests.push({ kind, atMs, query: Object.fromEntries(query) });
    const scripted = this.#scripts.get(kind)?.shift();
    if (scripted !== undefined) {
      scripted(exchange, query);
    } else if (kind === "watch") {
      this.watch(exchange, query);
    } else {
      this.list(exchange, query);
    }
  };

  readonly list: ScriptedAnswer = (exchange, query) => {
    const from = Number(query.get("continue") ?? 0);
    const limit = Number(query.get("limit") ?? 500);
    const pods = [...this.pods.values()];
    const rest = from + limit < pods.length ? { continue: String(from + limit) } : {};
    const metadata = { resourceVersion: String(this.#version), ...rest };
    const body = { kind: "PodList", metadata, items: pods.slice(from, from + limit) };
    exchange.respond(200).end(Buffer.from(JSON.stringify(body)));
  };

  readonly watch: ScriptedAnswer = (exchange, query) => {
    const writer = exchange.respond(200);
    const from = Number(query.get("resourceVersion") ?? 0);
    for (const event of this.#history) {
      if (event.version > from) {
        writer.write(event.line);
      }
    }
    this.adopt(exchange, writer);
  };

  /** Counts the exchange among the open watches. */
  adopt(exchange: ServerExchange, writer: BodyWriter): void {
    this.#watches.add(writer);
    exchange.request.closed.addEventListener("abort", () => this.#watches.delete(writer));
  }

  #publish(type: string, object: object): void {
    this.#history.push({ version: this.#version, line: eventLine(type, object) });
    this.send(type, object);
  }
}

/** Refuses with a Kubernetes Status. */
export function refusal(
  code: number,
  fields: { reason?: string; message?: string; details?: object; retryAfter?: string } = {},
): ScriptedAnswer {
  const { retryAfter, ...status } = fields;
  const headers = {
    "content-type": "application/json",
    ...(retryAfter === undefined ? {} : { "retry-after": retryAfter }),
  };
  const body = JSON.stringify({ kind: "Status", status: "Failure", code, ...status });
  return (exchange) => exchange.respond(code, headers).end(Buffer.from(body));
}

export function eventLine(type: string, object: object): Buffer {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`);
}

export function rawPod(name: string, uid: string, version: number): object {
  return {
    metadata: { namespace: "shop", name, uid, resourceVersion: String(version), labels: {} },
    spec: { nodeName: "n1" },
    status: { phase: "Running" },
  };
}

function kindOf(query: URLSearchParams): RequestKind {
  if (query.get("watch") === "true") {
    return "watch";
  }
  if (query.has("continue")) {
    return "page";
  }
  return query.get("limit") === "1" ? "quorum" : "list";
}

function describe(change: Change<Pod>): string {
  const { name, resourceVersion } = change.object.metadata;
  const lost =
    change.type === "deleted" && change.finalStateUnknown ? " (final state unknown)" : "";
  return `${change.type} ${name}@${resourceVersion} by ${change.learntBy}${lost}`;
}
