// Creates the reader of one proxy from its address. If the kind of proxy was not given, it is
// detected at the first answer. So a proxy that is away at the start is read as soon as it comes.
import type { IsService } from "../../access-log/backend-name.ts";
import type { Environment } from "../../environment/environment.ts";
import type { RoutedWitness } from "../routed-witness.ts";
import { IngressNginxReader } from "./ingress-nginx-reader.ts";
import { LockstepReader } from "./lockstep-reader.ts";
import { detectProxyKind, type ProxyAddress, type ProxyKind } from "./proxy-address.ts";
import { type ProxyReader, ProxySource } from "./proxy-source.ts";

export interface ProxySourceSettings
  extends Pick<Environment, "clock" | "timers" | "network" | "log"> {
  readonly address: ProxyAddress;
  readonly witness: RoutedWitness;
  /** Says which service is meant by a name that could mean several. */
  readonly isService?: IsService | undefined;
  /** The names of the observed clusters. */
  readonly clusters: readonly string[];
}

/** To be started and stopped by the caller. */
export function proxySource(settings: ProxySourceSettings): ProxySource {
  const { address } = settings;
  const reader =
    address.kind === undefined ? new DetectingReader(settings) : readerOf(address.kind, settings);
  return new ProxySource({ ...settings, name: address.name, reader });
}

function readerOf(kind: ProxyKind, settings: ProxySourceSettings): ProxyReader {
  const { address, clusters } = settings;
  const { url } = address;
  switch (kind) {
    case "lockstep":
      return new LockstepReader({ ...settings, url, clusters: new Set(clusters) });
    case "ingress-nginx":
      return new IngressNginxReader({ ...settings, url });
  }
}

class DetectingReader implements ProxyReader {
  readonly #settings: ProxySourceSettings;
  #reader: ProxyReader | undefined;

  constructor(settings: ProxySourceSettings) {
    this.#settings = settings;
  }

  get kind(): ProxyKind | undefined {
    return this.#reader?.kind;
  }

  get ambiguous(): readonly string[] {
    return this.#reader?.ambiguous ?? [];
  }

  async read(signal: AbortSignal): Promise<void> {
    const { address } = this.#settings;
    this.#reader ??= readerOf(
      await detectProxyKind(address.url, { ...this.#settings, signal }),
      this.#settings,
    );
    await this.#reader.read(signal);
  }

  stop(): void {
    this.#reader?.stop();
  }
}
