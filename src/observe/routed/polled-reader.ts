// Reads a proxy that answers which endpoints it routes to, and not since when: a difference between
// two answers was routed at some time after the former was asked for, and by every worker some time
// after the latter had come, which is when it is reported.
import { type MonotonicMs, monotonicAfter } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import type { RoutedEndpoint, RoutedWitness } from "../routed-witness.ts";
import type { Backend, Backends, PolledFormat } from "./polled-format.ts";
import {
  type AskProxy,
  type ProxyAnswer,
  ProxyAnswerError,
  ProxyClosedError,
} from "./proxy-request.ts";
import type { ProxyReader } from "./proxy-source.ts";
import { SeenPorts } from "./seen-ports.ts";
import { type KnownServices, ServiceNames } from "./service-names.ts";

export interface PolledReaderOptions extends Pick<Environment, "clock" | "timers">, KnownServices {
  readonly format: PolledFormat;
  readonly ask: AskProxy;
  readonly witness: RoutedWitness;
}

interface Reading {
  readonly backends: Backends;
  readonly body: Buffer;
  readonly sentAt: MonotonicMs;
  readonly receivedAt: MonotonicMs;
}

type Services = ReadonlyMap<string, readonly RoutedEndpoint[]>;

export class PolledReader implements ProxyReader {
  readonly #options: PolledReaderOptions;
  readonly #names: ServiceNames;
  /** Readings that the workers may not have taken up yet. */
  readonly #settling = new Set<CancelTimer>();
  /** The last reading that was reported, and its endpoints by service, of all ports. */
  #reported: Reading | undefined;
  #services: Services = new Map();
  /** Of the same services and backends. */
  readonly #seenPorts = new SeenPorts();
  /** The last answer; its backends are taken over when the next one is the same. */
  #latest: Reading | undefined;

  constructor(options: PolledReaderOptions) {
    this.#options = options;
    this.#names = new ServiceNames({ ...options, servicesNamed: options.format.servicesNamed });
  }

  get kind(): PolledFormat["kind"] {
    return this.#options.format.kind;
  }

  get ambiguous(): readonly string[] {
    return this.#names.ambiguous;
  }

  async read(signal: AbortSignal): Promise<void> {
    const { format } = this.#options;
    const { what, status, body, sentAt, receivedAt } = await this.#ask(signal);
    if (status !== 200) {
      throw new ProxyClosedError(`${what} returned status ${status}; ${format.howToOpen}`);
    }
    const isSame = this.#latest?.body.equals(body) === true;
    const answered = isSame ? this.#latest?.backends : format.read(body.toString("utf8"));
    if (answered === undefined) {
      const { product, expected } = format;
      throw new ProxyAnswerError(
        `${what} did not return an answer of ${product}: expected ${expected}`,
      );
    }
    const backends = isSame ? answered : withEmptyParts(answered, this.#latest?.backends);
    const reading = { backends, body, sentAt, receivedAt };
    this.#latest = reading;
    if (format.settleMs > 0) this.#later(reading);
    else this.#tell(reading);
  }

  stop(): void {
    for (const cancel of this.#settling) cancel();
    this.#settling.clear();
  }

  async #ask(signal: AbortSignal): Promise<ProxyAnswer> {
    const { ask, format } = this.#options;
    try {
      return await ask(format.path, signal);
    } catch (error) {
      if (!(error instanceof ProxyClosedError)) throw error;
      throw new ProxyClosedError(`${error.message}; ${format.howToOpen}`, { cause: error });
    }
  }

  #later(reading: Reading): void {
    const cancel = this.#options.timers.after(this.#options.format.settleMs, () => {
      this.#settling.delete(cancel);
      this.#tell(reading);
    });
    this.#settling.add(cancel);
  }

  #tell(reading: Reading): void {
    const { witness, format } = this.#options;
    const before = this.#reported;
    const knownServices = this.#services;
    const known = this.#names.services;
    const isNamed = this.#names.learn(reading.backends);
    this.#reported = reading;
    if (before?.backends === reading.backends && !isNamed) return;
    const at = monotonicAfter(reading.receivedAt, format.settleMs);
    const named = this.#names.services;
    const services = byService(reading.backends, named);
    this.#services = services;
    // One that we have only now learnt to be a service was routed to all along.
    const isState = (name: string) => before?.backends.has(name) !== false && !known.has(name);
    const states = new Set([...named].flatMap(([name, one]) => (isState(name) ? [one] : [])));
    for (const [service, endpoints] of services) {
      if (states.has(service)) witness.began(new Map([[service, endpoints]]), at);
      else if (!isSameList(endpoints, knownServices.get(service))) {
        witness.routed(service, endpoints, at, before?.sentAt);
      }
    }
    for (const service of knownServices.keys()) {
      if (!services.has(service)) witness.dropped(service, at, before?.sentAt);
    }
    this.#noteParts(reading.backends, known, named);
  }

  /** After the words on what was given up, which are the last ones there. */
  #noteParts(
    backends: Backends,
    known: ReadonlyMap<string, string>,
    named: ReadonlyMap<string, string>,
  ): void {
    for (const [name, service] of named) {
      this.#seenPorts.note(service, name, backends.get(name)?.endpoints ?? []);
    }
    for (const [name, service] of known) {
      if (named.has(name)) continue;
      this.#options.witness.gaveUp(service, this.#seenPorts.giveUp(service, name));
    }
  }
}

/** By service, `namespace/name`: the endpoints of all its ports. */
function byService(backends: Backends, named: ReadonlyMap<string, string>): Services {
  const services = new Map<string, Map<string, RoutedEndpoint>>();
  for (const [name, service] of named) {
    const all = services.get(service) ?? new Map<string, RoutedEndpoint>();
    for (const one of backends.get(name)?.endpoints ?? []) {
      all.set(`${one.address} ${one.port}`, one);
    }
    services.set(service, all);
  }
  return new Map([...services].map(([service, all]) => [service, [...all.values()]]));
}

/** A part without endpoints is not in the answer, and is still there. */
function withEmptyParts(now: Backends, before: Backends | undefined): Backends {
  const lost = [...(before ?? [])].filter(([name, { partOf }]) => {
    return partOf !== undefined && !now.has(name) && now.has(partOf);
  });
  if (lost.length === 0) return now;
  const empty = lost.map(([name, one]): [string, Backend] => [name, { ...one, endpoints: [] }]);
  return new Map([...now, ...empty]);
}

/** In the same order; in another one it is looked at once more, which does no harm. */
function isSameList(
  one: readonly RoutedEndpoint[],
  other: readonly RoutedEndpoint[] | undefined,
): boolean {
  return (
    one.length === other?.length &&
    one.every(({ address, port }, index) => {
      return other[index]?.address === address && other[index].port === port;
    })
  );
}
