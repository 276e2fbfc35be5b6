// Pushes in the name of one pusher to one nginx: the load of everything and the changes after it.
// An entry that nginx refuses is found by halving and left out, so that it harms only itself.
import { ControlError } from "./control-answer.ts";
import type { ControlClient, Pusher } from "./control-client.ts";
import type { ProxyEntry, ProxyState } from "./proxy-state.ts";
import { partBody, partsOf } from "./push-parts.ts";

/** A service and the version by which every request is routed now. */
export interface RoutedEntry {
  readonly name: string;
  readonly version: number;
}

export interface PushSessionOptions {
  readonly client: ControlClient;
  readonly pusher: Pusher;
  readonly onRefused: (entry: ProxyEntry, reason: string) => void;
}

type SendPart = (body: string) => Promise<void>;

export class PushSession {
  readonly #client: ControlClient;
  readonly #pusher: Pusher;
  readonly #onRefused: PushSessionOptions["onRefused"];

  constructor(options: PushSessionOptions) {
    this.#client = options.client;
    this.#pusher = options.pusher;
    this.#onRefused = options.onRefused;
  }

  /** Everything, visible as a whole at the end. When it fails, nothing of it was seen. */
  async load(state: ProxyState, signal: AbortSignal): Promise<readonly RoutedEntry[]> {
    const client = this.#client;
    const pusher = this.#pusher;
    const generation = await client.beginLoad(pusher, signal);
    const entries = state.takeAll();
    try {
      const present = entries.filter(({ value }) => value !== undefined);
      const send: SendPart = (body) => client.loadPart(pusher, generation, body, signal);
      const accepted: ProxyEntry[] = [];
      for (const part of partsOf(present)) accepted.push(...(await this.#send(part, send)));
      await client.commitLoad(pusher, generation, signal);
      return routed([...accepted, ...entries.filter(({ value }) => value === undefined)]);
    } catch (error) {
      state.giveBack(entries);
      throw error;
    }
  }

  /** What is new, part by part; `onRouted` is called as each is acknowledged. */
  async change(
    state: ProxyState,
    signal: AbortSignal,
    onRouted: (entries: readonly RoutedEntry[]) => void,
  ): Promise<void> {
    const entries = state.takeUnpushed();
    const unsent = new Set(entries);
    const send: SendPart = (body) => this.#client.change(this.#pusher, body, signal);
    try {
      for (const part of partsOf(entries)) {
        onRouted(routed(await this.#send(part, send)));
        for (const entry of part) unsent.delete(entry);
      }
    } catch (error) {
      state.giveBack(unsent);
      throw error;
    }
  }

  /** Gives the entries that nginx took. */
  async #send(part: readonly ProxyEntry[], send: SendPart): Promise<readonly ProxyEntry[]> {
    try {
      await send(partBody(part));
      return part;
    } catch (error) {
      if (!(error instanceof ControlError) || error.code !== "MALFORMED") throw error;
      const [first] = part;
      if (first === undefined || part.length === 1) {
        if (first !== undefined) this.#onRefused(first, error.message);
        return [];
      }
    }
    const middle = Math.ceil(part.length / 2);
    const firstHalf = await this.#send(part.slice(0, middle), send);
    return [...firstHalf, ...(await this.#send(part.slice(middle), send))];
  }
}

function routed(entries: readonly ProxyEntry[]): readonly RoutedEntry[] {
  return entries.filter(({ kind }) => kind === "service");
}
