// Reads a running ingress-nginx. Its nginx answers at 127.0.0.1:10246 in its pod what its controller
// has handed over last; each worker takes that up at its next look, within a second. So a difference
// between two answers was routed at some time after the former was asked for, and by every worker a
// second after the latter had come, which is when it is reported.
import { type IsService, servicesMeant } from "../../access-log/backend-name.ts";
import { type MonotonicMs, monotonicAfter } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import type { RoutedWitness } from "../routed-witness.ts";
import { type Backends, byService, readBackends } from "./backends.ts";
import { askProxy, ProxyAnswerError } from "./proxy-request.ts";
import type { ProxyReader } from "./proxy-source.ts";
import { SeenPorts } from "./seen-ports.ts";

export interface IngressNginxReaderOptions
  extends Pick<Environment, "clock" | "timers" | "network"> {
  /** Of its status listener, without a path. */
  readonly url: string;
  readonly witness: RoutedWitness;
  /** Says which service is meant by a name that could mean several. */
  readonly isService?: IsService | undefined;
}

/** Answered without changing anything: the path takes POST as well, GET only reads. */
export const backendsPath = "/configuration/backends";

/** BACKENDS_SYNC_INTERVAL in rootfs/etc/nginx/lua/balancer.lua. */
const workersLookEveryMs = 1_000;

interface Reading {
  readonly backends: Backends;
  readonly body: Buffer;
  readonly sentAt: MonotonicMs;
  readonly receivedAt: MonotonicMs;
}

export class IngressNginxReader implements ProxyReader {
  readonly kind = "ingress-nginx";
  readonly #options: IngressNginxReaderOptions;
  /** Readings that the workers may not have taken up yet. */
  readonly #settling = new Set<CancelTimer>();
  /** The last reading that was reported. */
  #reported: Reading | undefined;
  /**
   * By backend, the service that it was reported under. It stays the same while the backend exists:
   * a list of services that is missing for a while must not look like a change of routes.
   */
  #services: ReadonlyMap<string, string> = new Map();
  /** Of the same services and backends. */
  readonly #seenPorts = new SeenPorts();
  /** The last answer; its backends are taken over when the next one is the same. */
  #latest: Reading | undefined;
  ambiguous: readonly string[] = [];

  constructor(options: IngressNginxReaderOptions) {
    this.#options = options;
  }

  async read(signal: AbortSignal): Promise<void> {
    const url = `${this.#options.url}${backendsPath}`;
    const { status, body, sentAt, receivedAt } = await askProxy({ ...this.#options, url, signal });
    if (status !== 200) throw new ProxyAnswerError(`GET ${url} returned status ${status}`);
    const isSame = this.#latest?.body.equals(body) === true;
    const backends = isSame ? this.#latest?.backends : readBackends(body.toString("utf8"));
    if (backends === undefined) {
      throw new ProxyAnswerError(
        `GET ${url} did not return an answer of ingress-nginx: expected a list of backends with names`,
      );
    }
    const reading = { backends, body, sentAt, receivedAt };
    this.#latest = reading;
    this.#later(reading);
  }

  stop(): void {
    for (const cancel of this.#settling) cancel();
    this.#settling.clear();
  }

  #later(reading: Reading): void {
    const cancel = this.#options.timers.after(workersLookEveryMs, () => {
      this.#settling.delete(cancel);
      this.#tell(reading);
    });
    this.#settling.add(cancel);
  }

  #tell(reading: Reading): void {
    const { witness } = this.#options;
    const before = this.#reported;
    const known = this.#services;
    this.#reported = reading;
    this.#services = this.#named(reading.backends);
    // Names are only ever learnt as long as the backends are the same ones.
    const isOld = before?.backends === reading.backends && known.size === this.#services.size;
    if (isOld) return;
    const at = monotonicAfter(reading.receivedAt, workersLookEveryMs);
    const services = byService(reading.backends, (name) => this.#services.get(name));
    // One that we have only now learnt to be a service was routed to all along.
    const isState = (name: string) => before?.backends.has(name) !== false && !known.has(name);
    const states = new Set(
      [...this.#services].flatMap(([name, one]) => (isState(name) ? one : [])),
    );
    for (const [service, endpoints] of services) {
      if (states.has(service)) witness.began(new Map([[service, endpoints]]), at);
      else witness.routed(service, endpoints, at, before?.sentAt);
    }
    for (const service of new Set(known.values())) {
      if (!services.has(service)) witness.dropped(service, at, before?.sentAt);
    }
    this.#noteParts(reading.backends, known);
  }

  /** After the words on what was given up, which are the last ones there. */
  #noteParts(backends: Backends, known: ReadonlyMap<string, string>): void {
    for (const [name, service] of this.#services) {
      this.#seenPorts.note(service, name, backends.get(name) ?? []);
    }
    for (const [name, service] of known) {
      if (this.#services.has(name)) continue;
      this.#options.witness.gaveUp(service, this.#seenPorts.giveUp(service, name));
    }
  }

  #named(backends: Backends): ReadonlyMap<string, string> {
    const named = new Map<string, string>();
    const ambiguous: string[] = [];
    for (const name of backends.keys()) {
      const known = this.#services.get(name);
      const meant = known === undefined ? servicesMeant(name, this.#options.isService) : [known];
      const [service] = meant;
      if (meant.length > 1) ambiguous.push(name);
      else if (service !== undefined) named.set(name, service);
    }
    this.ambiguous = ambiguous;
    return named;
  }
}
