// The requests of the doctor to a live cluster. All of them read. A refused read of one kind is noted
// with the missing permission and its effect, a failed one with the error; the others go on. Pages and
// their number are bounded; the rate is the client's.

import { NetworkError } from "../../environment/network.ts";
import {
  DeadlineExceededError,
  type KubeClient,
  parseJson,
  StatusError,
} from "../../kube/client/client.ts";
import { CredentialsError } from "../../kube/credentials/credentials.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { effectsWithout, type LiveKind, recordIn, recordsIn, textIn } from "./live-kinds.ts";

/** As many as a reflector lists at a time. */
const pageSize = 500;

/** 200,000 objects; the facts have no room for more. */
const pagesMax = 400;

const deadlineMs = 30_000;

export interface LiveReaderOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
}

export class LiveReader {
  readonly #options: LiveReaderOptions;
  /** Where each kind is, once it answered. */
  readonly #roots = new Map<string, string>();
  readonly #problems = new Map<string, string>();
  /** The same client, for the watches: their requests are counted too. */
  readonly client: KubeClient;
  requests = 0;
  /** Watches that were opened. */
  watches = 0;
  /** Reads that had a result. */
  answers = 0;

  constructor(options: LiveReaderOptions) {
    this.#options = options;
    const { client } = options;
    this.client = {
      request: (request) => {
        this.requests += 1;
        return client.request(request);
      },
      stream: (request) => {
        this.watches += 1;
        return client.stream(request);
      },
    };
  }

  /** Parts that could not be examined, each as a sentence. */
  get problems(): readonly string[] {
    return [...this.#problems.values()];
  }

  /** Whether a read of it was refused or failed. */
  hasFailed(verb: "get" | "list", resource: string): boolean {
    return this.#problems.has(`${verb} ${resource}`);
  }

  /** Found by another reader, which uses the same client. */
  noteProblem(sentence: string): void {
    this.#problems.set(sentence, sentence);
  }

  /** Known once the kind was counted. */
  canList({ kind }: LiveKind): boolean {
    return this.#roots.has(kind);
  }

  /** The number of objects; undefined when the server does not report it, or the kind is not readable. */
  async count(kind: LiveKind): Promise<number | undefined> {
    for (const root of kind.roots) {
      const page = await this.#page(kind, root, "limit=1");
      if (page === "absent") continue;
      if (page === undefined) return undefined;
      this.#roots.set(kind.kind, root);
      const metadata = recordIn(page, "metadata");
      const remaining = metadata["remainingItemCount"];
      const listed = recordsIn(page["items"]).length;
      if (textIn(metadata, "continue") === "") return listed;
      return typeof remaining === "number" ? listed + remaining : undefined;
    }
    const { resource } = kind;
    this.#problems.set(`list ${resource}`, `${resource}: this API server does not have them.`);
    return undefined;
  }

  /** One page after the other; none of a kind that is not readable. */
  async *pages(kind: LiveKind): AsyncGenerator<readonly RawRecord[]> {
    const root = this.#roots.get(kind.kind);
    if (root === undefined) return;
    let next = "";
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const rest = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
      const page = await this.#page(kind, root, `limit=${pageSize}${rest}`);
      if (page === undefined || page === "absent") return;
      yield recordsIn(page["items"]);
      next = textIn(recordIn(page, "metadata"), "continue");
      if (next === "") return;
    }
    const { resource } = kind;
    const limit = `${resource}: only the first ${pagesMax * pageSize} were read.`;
    this.#problems.set(`list ${resource}`, limit);
  }

  /** Undefined when it is not there or not readable. */
  async object(resource: string, path: string): Promise<RawRecord | undefined> {
    const body = await this.#read({ verb: "get", resource, path });
    const object = body === undefined || body === "absent" ? undefined : json(body);
    return isRecord(object) ? object : undefined;
  }

  /** The items of one list; undefined when it is not there or not readable. */
  async items(resource: string, path: string): Promise<readonly RawRecord[] | undefined> {
    const body = await this.#read({ verb: "list", resource, path });
    const list = body === undefined || body === "absent" ? undefined : json(body);
    return isRecord(list) ? recordsIn(list["items"]) : undefined;
  }

  async text(resource: string, path: string): Promise<string | undefined> {
    const body = await this.#read({ verb: "get", resource, path });
    return body === "absent" ? undefined : body?.toString("utf8");
  }

  /** The first path that answers, with its text; the problem of the last one otherwise. */
  async firstText(
    resource: string,
    paths: readonly string[],
  ): Promise<{ readonly path: string; readonly text: string } | undefined> {
    const key = `get ${resource}`;
    const before = this.#problems.get(key);
    for (const path of paths) {
      const text = await this.text(resource, path);
      if (text === undefined) continue;
      if (before === undefined) this.#problems.delete(key);
      return { path, text };
    }
    return undefined;
  }

  async #page(
    { resource }: LiveKind,
    root: string,
    query: string,
  ): Promise<RawRecord | "absent" | undefined> {
    const path = `${root}/${resource}?${query}`;
    const body = await this.#read({ verb: "list", resource, path });
    if (body === undefined || body === "absent") return body;
    const page = json(body);
    return isRecord(page) ? page : undefined;
  }

  async #read(read: Read): Promise<Buffer | "absent" | undefined> {
    const { signal } = this.#options;
    const { verb, resource, path } = read;
    try {
      const answer = await this.client.request({ verb, method: "GET", path, deadlineMs, signal });
      this.answers += 1;
      return answer.body;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof StatusError && error.code === 404) return "absent";
      this.#problems.set(`${verb} ${resource}`, problemOf(read, error));
      return undefined;
    }
  }
}

interface Read {
  readonly verb: "get" | "list";
  readonly resource: string;
  readonly path: string;
}

function json(body: Buffer): unknown {
  try {
    return parseJson({ status: 200, headers: {}, body });
  } catch {
    return undefined;
  }
}

/** Only errors of the exchange; others are mistakes of the program. */
function problemOf({ verb, resource }: Read, error: unknown): string {
  if (error instanceof StatusError && error.code === 403) {
    const effect = effectsWithout[resource] ?? "this part is not examined";
    return `Missing permission: ${verb} ${resource}. Effect: ${effect}. All permissions are in deploy/rbac/doctor.yaml.`;
  }
  const isKnown =
    error instanceof StatusError ||
    error instanceof NetworkError ||
    error instanceof DeadlineExceededError ||
    error instanceof CredentialsError;
  if (!isKnown) throw error;
  return `${resource}: ${error.message.replace(/\.$/, "")}.`;
}
