// An etcd as its JSON gateway shows it, on a simulated machine, with the failures that a real one
// cannot be made to have at a chosen moment.
import type { Environment } from "../../src/environment/environment.ts";
import type { BodyWriter, Listener, ServerExchange } from "../../src/environment/network.ts";

interface Pair {
  readonly key: string;
  readonly value?: string;
  readonly mod_revision: string;
  readonly version?: string;
}

interface Change {
  readonly revision: number;
  readonly event: object;
}

interface RangeBody {
  readonly key: string;
  readonly range_end?: string;
  readonly limit?: string;
  readonly revision?: string;
}

interface Operation {
  readonly request_put?: { readonly key: string; readonly value: string };
  readonly request_delete_range?: { readonly key: string };
  readonly request_range?: RangeBody;
}

interface Body extends RangeBody {
  readonly compare: readonly {
    readonly key: string;
    readonly target: string;
    readonly mod_revision?: string;
    readonly version?: string;
  }[];
  readonly success: readonly Operation[];
  readonly failure: readonly Operation[];
  readonly create_request: { readonly start_revision: string };
}

const outOfRange = 11;

export class EtcdModel {
  readonly #environment: Environment;
  readonly #host: string;
  #pairs = new Map<string, Pair>();
  #changes: Change[] = [];
  #revision = 1;
  #listener: Listener | undefined;
  readonly #watchers = new Map<BodyWriter, number>();
  compacted = 0;
  /** Paths asked so far. */
  readonly calls: string[] = [];
  /** Decides what becomes of the answer to a call that has been done. */
  fate: (path: string) => "answered" | "lost" = () => "answered";
  /** Cuts the connection after so many bytes of a line to a watcher. */
  cutLineAt: ((line: string) => number | undefined) | undefined;

  constructor(environment: Environment, host: string) {
    this.#environment = environment;
    this.#host = host;
  }

  get url(): string {
    return `http://${this.#host}:2379`;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Watches that are open. */
  get watches(): number {
    return this.#watchers.size;
  }

  async start(): Promise<void> {
    const at = { host: this.#host, port: 2379 };
    this.#listener = await this.#environment.network.listen(at, (one) => this.#serve(one));
  }

  /** Gone, with all its connections; its data is kept. */
  async stop(): Promise<void> {
    this.#watchers.clear();
    await this.#listener?.close();
  }

  compact(revision: number): void {
    this.compacted = revision;
    this.#changes = this.#changes.filter((change) => change.revision >= revision);
  }

  /** As a restored backup: empty, and with fewer revisions. */
  forgetEverything(): void {
    this.#pairs = new Map();
    this.#changes = [];
    this.#revision = 1;
  }

  async #serve(exchange: ServerExchange): Promise<void> {
    const path = exchange.request.target.replace(/^\/v3\//, "");
    this.calls.push(path);
    const chunks: Uint8Array[] = [];
    for await (const chunk of exchange.request.body) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (path === "watch") {
      this.#watch(exchange, body);
      return;
    }
    const answer = this.#answer(path, body);
    if (this.fate(path) === "lost") {
      exchange.abort();
      return;
    }
    exchange.respond("code" in answer ? 400 : 200).end(Buffer.from(JSON.stringify(answer)));
  }

  #answer(path: string, body: Body): object {
    switch (path) {
      case "kv/range":
        return this.#range(body);
      case "kv/txn":
        return this.#transact(body);
      case "kv/compaction":
        this.compact(Number(body.revision));
        return this.#headed({});
      default:
        return { code: 12, message: `no ${path} in this model` };
    }
  }

  #range({ key, range_end, limit, revision }: RangeBody): object {
    if (revision !== undefined && Number(revision) < this.compacted) {
      const message = "etcdserver: mvcc: required revision has been compacted";
      return { code: outOfRange, message };
    }
    const [from, to] = [text(key), range_end === undefined ? undefined : text(range_end)];
    const found = [...this.#pairs.values()]
      .filter((pair) => (to === undefined ? pair.key === key : isBetween(text(pair.key), from, to)))
      .sort((one, other) => (text(one.key) < text(other.key) ? -1 : 1));
    const count = String(found.length);
    return this.#headed({ kvs: found.slice(0, Number(limit ?? found.length)), count });
  }

  #transact({ compare, success, failure }: Body): object {
    const holds = compare.every(({ key, target, mod_revision, version }) => {
      const pair = this.#pairs.get(key);
      if (target === "VERSION") return Number(pair?.version ?? 0) === Number(version);
      return Number(pair?.mod_revision ?? 0) === Number(mod_revision);
    });
    const responses = (holds ? success : failure).map((operation) => this.#do(operation));
    return this.#headed({ ...(holds ? { succeeded: true } : {}), responses });
  }

  #do({
    request_put: put,
    request_delete_range: removal,
    request_range: range,
  }: Operation): object {
    if (range !== undefined) return { response_range: this.#range(range) };
    const key = put?.key ?? removal?.key ?? "";
    const previous = this.#pairs.get(key);
    this.#revision += 1;
    const mod_revision = String(this.#revision);
    const prev_kv = previous === undefined ? {} : { prev_kv: previous };
    if (put === undefined) {
      this.#pairs.delete(key);
      this.#happened({ type: "DELETE", kv: { key, mod_revision }, ...prev_kv });
      return { response_delete_range: {} };
    }
    const pair = { key, mod_revision, version: String(Number(previous?.version ?? 0) + 1) };
    const kv = put.value === "" ? pair : { ...pair, value: put.value };
    this.#pairs.set(key, kv);
    this.#happened({ kv, ...prev_kv });
    return { response_put: {} };
  }

  #happened(event: object): void {
    this.#changes.push({ revision: this.#revision, event });
    for (const watcher of this.#watchers.keys()) this.#feed(watcher);
  }

  #watch(exchange: ServerExchange, body: Body): void {
    const from = Number(body.create_request.start_revision);
    const writer = exchange.respond(200);
    this.#send(writer, { created: true });
    if (from < this.compacted) {
      this.#send(writer, { canceled: true, compact_revision: String(this.compacted) });
      return;
    }
    this.#watchers.set(writer, from);
    exchange.request.closed.addEventListener("abort", () => this.#watchers.delete(writer));
    this.#feed(writer);
  }

  #feed(writer: BodyWriter): void {
    const from = this.#watchers.get(writer) ?? Number.POSITIVE_INFINITY;
    const due = this.#changes.filter(({ revision }) => revision >= from);
    if (due.length === 0) return;
    this.#watchers.set(writer, this.#revision + 1);
    this.#send(writer, { events: due.map(({ event }) => event) });
  }

  #send(writer: BodyWriter, result: object): void {
    const line = JSON.stringify({ result: this.#headed(result) });
    const cutAt = this.cutLineAt?.(line);
    if (cutAt === undefined) {
      writer.write(Buffer.from(`${line}\n`));
      return;
    }
    this.#watchers.delete(writer);
    writer.write(Buffer.from(line.slice(0, cutAt)));
    // Data in transit arrives before the end does.
    this.#environment.timers.after(5, () => writer.abort());
  }

  #headed(answer: object): object {
    return { header: { revision: String(this.#revision) }, ...answer };
  }
}

function text(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}

function isBetween(key: string, from: string, to: string): boolean {
  return key >= from && key < to;
}
