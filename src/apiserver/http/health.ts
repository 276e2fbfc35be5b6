// /healthz, /livez and /readyz: "ok", or each check with its result. The reason of a failure is
// sent only to clients that ask for that check by name, as in the real server.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Storage } from "../storage/storage.ts";
import { type Answer, textAnswer } from "./answer.ts";

/** Those of the real server's checks that can fail here, and those people know it by. */
const checksOf: ReadonlyMap<string, readonly string[]> = new Map([
  ["healthz", ["ping", "log", "etcd"]],
  ["livez", ["ping", "log", "etcd"]],
  ["readyz", ["ping", "log", "etcd", "etcd-readiness", "informer-sync", "shutdown"]],
]);

/** At most one question to the storage in half its timeout of 2 s; k8s.io/apiserver's etcd3.go. */
const askEveryMs = 1_000;

/** The real server sends this header, against guessing of the type, with this one answer. */
const asItStands = { "x-content-type-options": "nosniff" };

export class Health {
  readonly #clock: Clock;
  readonly #storage: Storage;
  #asked: { readonly at: MonotonicMs; readonly answer: Promise<string | undefined> } | undefined;

  constructor(options: { readonly clock: Clock; readonly storage: Storage }) {
    this.#clock = options.clock;
    this.#storage = options.storage;
  }

  /** Paths that need no authentication. */
  static isPublic(path: string): boolean {
    return checksOf.has(path.slice(1));
  }

  /** Undefined for other paths, and for checks that there are not. */
  async answer(path: string, query: URLSearchParams): Promise<Answer | undefined> {
    const [, name = "", ...rest] = path.split("/");
    const checks = checksOf.get(name);
    if (checks === undefined) return undefined;
    if (rest.length === 0) return this.#all(name, checks, query);
    const check = rest.join("/");
    if (!checks.includes(check)) return undefined;
    const problem = await this.#problem(check);
    if (problem === undefined) return textAnswer(200, "ok");
    return textAnswer(500, `internal server error: ${problem}\n`);
  }

  async #all(name: string, checks: readonly string[], query: URLSearchParams): Promise<Answer> {
    const excluded = query.getAll("exclude");
    const lines: string[] = [];
    let isWell = true;
    for (const check of checks) {
      if (excluded.includes(check)) {
        lines.push(`[+]${check} excluded: ok\n`);
        continue;
      }
      const problem = await this.#problem(check);
      isWell &&= problem === undefined;
      const verdict = problem === undefined ? "ok" : "failed: reason withheld";
      lines.push(`[${problem === undefined ? "+" : "-"}]${check} ${verdict}\n`);
    }
    const unknown = excluded.filter((check) => !checks.includes(check));
    if (unknown.length > 0) lines.push(unknownLine(unknown));
    if (!isWell) return textAnswer(500, `${lines.join("")}${name} check failed\n`);
    if (!query.has("verbose")) return { ...textAnswer(200, "ok"), headers: asItStands };
    return textAnswer(200, `${lines.join("")}${name} check passed\n`);
  }

  async #problem(check: string): Promise<string | undefined> {
    return check.startsWith("etcd") ? this.#storageProblem() : undefined;
  }

  #storageProblem(): Promise<string | undefined> {
    const now = this.#clock.monotonicMs();
    const last = this.#asked;
    if (last !== undefined && elapsedMs(last.at, now) < askEveryMs) return last.answer;
    const answer = this.#ask();
    this.#asked = { at: now, answer };
    return answer;
  }

  async #ask(): Promise<string | undefined> {
    try {
      await this.#storage.check?.();
      return undefined;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return `error getting data from etcd: ${why}`;
    }
  }
}

function unknownLine(names: readonly string[]): string {
  const quoted = [...new Set(names)].sort().map((one) => JSON.stringify(one));
  return `warn: some health checks cannot be excluded: no matches for ${quoted.join(",")}\n`;
}
