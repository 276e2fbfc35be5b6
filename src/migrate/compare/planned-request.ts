// The requests of a comparison: GET and HEAD only, each once, from the rules of Ingresses or from an
// access log.

import type { AccessLogEntry } from "../../access-log/access-log-entry.ts";
import { anyHost, hostOf } from "../../decide/routing/host-name.ts";
import { readAnnotations } from "../../decide/routing/ingress/annotations.ts";
import { matchOf } from "../../decide/routing/ingress/ingress-paths.ts";
import { counted } from "../../environment/counted.ts";
import type { Ingress } from "../../kube/kinds/ingress.ts";

/** Nothing else is ever sent. */
export type SafeMethod = "GET" | "HEAD";

export interface PlannedRequest {
  readonly method: SafeMethod;
  /** For the Host header and SNI. */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
}

/** A label under a wildcard, and the host where a rule has none: no one would use these names. */
const madeUpLabel = "lockstep-compare";
const madeUpHost = "lockstep-compare.invalid";

/** Longer ones are refused by both. */
const maxTargetLength = 4_096;

export class RequestPlan {
  readonly #limit: number;
  readonly #skip: readonly string[];
  readonly #requests = new Map<string, PlannedRequest>();
  #beyond = 0;
  #unsafe = 0;
  #withoutHost = 0;
  #skipped = 0;

  constructor({ limit, skip }: { readonly limit: number; readonly skip: readonly string[] }) {
    this.#limit = limit;
    this.#skip = skip;
  }

  get requests(): readonly PlannedRequest[] {
    return [...this.#requests.values()];
  }

  get isFull(): boolean {
    return this.#requests.size >= this.#limit;
  }

  /** Sentences about requests that are not sent. */
  get notes(): readonly string[] {
    const counts: readonly (readonly [number, string])[] = [
      [this.#beyond, `beyond --limit ${this.#limit}`],
      [this.#unsafe, "with another method than GET and HEAD"],
      [this.#withoutHost, "without a host in the log; --host gives one"],
      [this.#skipped, "left out by --skip"],
    ];
    return counts.flatMap(([count, why]) =>
      count === 0 ? [] : [`${counted(count, "request")} not sent: ${why}`],
    );
  }

  /** Each host and path of the rules, with GET and HEAD. */
  addIngress(ingress: Ingress): void {
    const settings = readAnnotations(ingress.annotations, () => undefined);
    for (const rule of ingress.rules) {
      const host = hostOf(rule.host);
      if (host === undefined) continue;
      for (const entry of rule.paths) {
        const match = matchOf(entry, settings);
        if (typeof match === "string") continue;
        const target = match.type === "Regex" ? literalStart(match.path) : match.path;
        for (const method of ["GET", "HEAD"] as const) {
          this.#add({ method, host: askedHost(host), target });
        }
      }
    }
  }

  addLogged({ method, host: logged, target }: AccessLogEntry, hostOtherwise?: string): void {
    if (method !== "GET" && method !== "HEAD") {
      this.#unsafe += 1;
      return;
    }
    const host = hostOf((logged ?? hostOtherwise ?? "").replace(/:\d+$/, ""));
    if (host === undefined || host === anyHost) {
      this.#withoutHost += 1;
      return;
    }
    if (target === undefined || !isTarget(target)) return;
    this.#add({ method, host, target });
  }

  #add(request: PlannedRequest): void {
    const { method, host, target } = request;
    if (this.#skip.some((text) => target.includes(text))) {
      this.#skipped += 1;
      return;
    }
    const key = `${method} ${host} ${target}`;
    if (this.#requests.has(key)) return;
    if (this.isFull) this.#beyond += 1;
    else this.#requests.set(key, request);
  }
}

function isTarget(text: string): boolean {
  return text.length <= maxTargetLength && /^\/[\x21-\x7e]*$/.test(text);
}

function askedHost(host: string): string {
  if (host === anyHost) return madeUpHost;
  return host.startsWith("*.") ? `${madeUpLabel}${host.slice(1)}` : host;
}

/** The part of an expression before the first character with a meaning of its own: `/api(/|$)` is `/api`. */
function literalStart(expression: string): string {
  const [start = "/"] = /^\/[A-Za-z0-9/_-]*/.exec(expression) ?? [];
  // A quantifier would make the last character optional.
  const next = expression.charAt(start.length);
  return ["?", "*", "{"].includes(next) && start.length > 1 ? start.slice(0, -1) : start;
}
