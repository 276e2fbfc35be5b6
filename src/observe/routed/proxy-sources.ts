// Creates the reader of one proxy from its address. If the kind of proxy was not given, it is
// detected at the first answer. So a proxy that is away at the start is read as soon as it comes.
import type { Environment } from "../../environment/environment.ts";
import type { RoutedWitness } from "../routed-witness.ts";
import { LockstepReader } from "./lockstep-reader.ts";
import { polledFormats } from "./polled-format.ts";
import { PolledReader } from "./polled-reader.ts";
import { detectProxyKind, type ProxyAddress, type ProxyKind } from "./proxy-address.ts";
import { type AskProxy, askingUrl } from "./proxy-request.ts";
import { type ProxyReader, ProxySource } from "./proxy-source.ts";
import type { KnownServices } from "./service-names.ts";

export interface ProxySourceSettings
  extends Pick<Environment, "clock" | "timers" | "network" | "log">,
    KnownServices {
  readonly address: ProxyAddress;
  /** How to ask it; at its address unless given. */
  readonly ask?: AskProxy;
  readonly witness: RoutedWitness;
  /** While it does not answer, it is asked this often; as often as otherwise unless given. */
  readonly lostEveryMs?: number;
  /** The names of the observed clusters. */
  readonly clusters: readonly string[];
}

/** To be started and stopped by the caller. */
export function proxySource(settings: ProxySourceSettings): ProxySource {
  const { address } = settings;
  const ask = settings.ask ?? askingUrl({ ...settings, url: address.url });
  const reader =
    address.kind === undefined
      ? new DetectingReader(settings, ask)
      : readerOf(address.kind, settings, ask);
  return new ProxySource({ ...settings, name: address.name, reader });
}

function readerOf(kind: ProxyKind, settings: ProxySourceSettings, ask: AskProxy): ProxyReader {
  if (kind === "lockstep") {
    return new LockstepReader({ ...settings, ask, clusters: new Set(settings.clusters) });
  }
  return new PolledReader({ ...settings, ask, format: polledFormats[kind] });
}

class DetectingReader implements ProxyReader {
  readonly #settings: ProxySourceSettings;
  readonly #ask: AskProxy;
  #reader: ProxyReader | undefined;

  constructor(settings: ProxySourceSettings, ask: AskProxy) {
    this.#settings = settings;
    this.#ask = ask;
  }

  get kind(): ProxyKind | undefined {
    return this.#reader?.kind;
  }

  get ambiguous(): readonly string[] {
    return this.#reader?.ambiguous ?? [];
  }

  async read(signal: AbortSignal): Promise<void> {
    const { url } = this.#settings.address;
    this.#reader ??= readerOf(
      await detectProxyKind(url, this.#ask, signal),
      this.#settings,
      this.#ask,
    );
    await this.#reader.read(signal);
  }

  stop(): void {
    this.#reader?.stop();
  }
}
