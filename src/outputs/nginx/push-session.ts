// Pushes in the name of one pusher to one nginx: the load of everything and the changes after it.
// An entry that nginx refuses, or has no room for, is found by halving and left out, so that it harms
// only itself. Routes are not left out of a load: which of them are is decided by who uses most
// (ProxyState), not by who comes last.
import { ControlError } from "./control-answer.ts";
import type { ControlClient, Pusher } from "./control-client.ts";
import type { ProxyEntry, ProxyState } from "./proxy-state.ts";
import { partBody, partBytes, partsOf } from "./push-parts.ts";
import { entryRefId } from "./unpushed-entries.ts";

/** A service and the version by which every request is routed now. */
export interface RoutedEntry {
  readonly name: string;
  readonly version: number;
}

export interface PushSessionOptions {
  readonly client: ControlClient;
  readonly pusher: Pusher;
  readonly onRefused: (entry: ProxyEntry, reason: string) => void;
  /** nginx has no room for these now; the others are not affected. */
  readonly onNoRoom: (entries: readonly ProxyEntry[]) => void;
}

/** One push under way. */
interface Push {
  readonly send: (body: string) => Promise<void>;
  /** Whether an entry may be left out when there is no room for it. */
  readonly canSpare: (entry: ProxyEntry) => boolean;
  readonly leftOut: ProxyEntry[];
}

export class PushSession {
  readonly #client: ControlClient;
  readonly #pusher: Pusher;
  readonly #onRefused: PushSessionOptions["onRefused"];
  readonly #onNoRoom: PushSessionOptions["onNoRoom"];

  constructor(options: PushSessionOptions) {
    this.#client = options.client;
    this.#pusher = options.pusher;
    this.#onRefused = options.onRefused;
    this.#onNoRoom = options.onNoRoom;
  }

  /** Everything, visible as a whole at the end. When it fails, nothing of it was seen. */
  async load(state: ProxyState, signal: AbortSignal): Promise<readonly RoutedEntry[]> {
    const client = this.#client;
    const pusher = this.#pusher;
    const generation = await client.beginLoad(pusher, signal);
    const entries = state.takeAll();
    try {
      const present = entries.filter(({ value }) => value !== undefined);
      const push: Push = {
        send: (body) => client.loadPart(pusher, generation, body, signal),
        canSpare: isCertificate,
        leftOut: [],
      };
      const accepted: ProxyEntry[] = [];
      for (const part of partsOf(present)) accepted.push(...(await this.#send(part, push)));
      await client.commitLoad(pusher, generation, signal);
      if (push.leftOut.length > 0) this.#onNoRoom(push.leftOut);
      return routed([...accepted, ...entries.filter(({ value }) => value === undefined)]);
    } catch (error) {
      state.giveBack(entries);
      throw error;
    }
  }

  /**
   * Pushes new entries, part by part; `onRouted` is called as each is acknowledged. Services that
   * change meanwhile go between two parts, so a removal waits for one part and not for all.
   */
  async change(
    state: ProxyState,
    signal: AbortSignal,
    onRouted: (entries: readonly RoutedEntry[]) => void,
  ): Promise<void> {
    const entries = state.takeUnpushed();
    /** By id; a service that has changed again is there in its newest version alone. */
    const unsent = new Map(entries.map((entry) => [entryRefId(entry), entry]));
    const push: Push = {
      send: (body) => this.#client.change(this.#pusher, body, signal),
      canSpare: () => true,
      leftOut: [],
    };
    const sendPart = async (part: readonly ProxyEntry[]): Promise<void> => {
      const newest = part.filter((entry) => unsent.get(entryRefId(entry)) === entry);
      onRouted(routed(await this.#send(newest, push)));
      for (const entry of newest) unsent.delete(entryRefId(entry));
    };
    try {
      for (const part of partsOf(entries)) {
        await sendPart(part);
        if (unsent.size === 0) break;
        const services = state.takeUnpushedServices(partBytes);
        for (const service of services) unsent.set(entryRefId(service), service);
        for (const own of partsOf(services)) await sendPart(own);
      }
    } catch (error) {
      state.giveBack(unsent.values());
      throw error;
    } finally {
      if (push.leftOut.length > 0) this.#onNoRoom(push.leftOut);
    }
  }

  /** Gives the entries that nginx took. */
  async #send(part: readonly ProxyEntry[], push: Push): Promise<readonly ProxyEntry[]> {
    const wanted = part.filter((entry) => !isFullFor(entry, push));
    if (wanted.length < part.length) {
      push.leftOut.push(...part.filter((entry) => isFullFor(entry, push)));
    }
    if (wanted.length === 0) return [];
    try {
      await push.send(partBody(wanted));
      return wanted;
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      const isNoRoom = error.code === "NO_MEMORY" && wanted.some(push.canSpare);
      if (!isNoRoom && error.code !== "MALFORMED") throw error;
      const [first] = wanted;
      if (first !== undefined && wanted.length === 1) {
        if (isNoRoom) push.leftOut.push(first);
        else this.#onRefused(first, error.message);
        return [];
      }
    }
    const middle = Math.ceil(wanted.length / 2);
    const firstHalf = await this.#send(wanted.slice(0, middle), push);
    return [...firstHalf, ...(await this.#send(wanted.slice(middle), push))];
  }
}

function isCertificate({ kind }: ProxyEntry): boolean {
  return kind === "certificate";
}

/** Certificates have memory of their own: where one found no room, none of the others will. */
function isFullFor(entry: ProxyEntry, { leftOut }: Push): boolean {
  return isCertificate(entry) && entry.value !== undefined && leftOut.some(isCertificate);
}

function routed(entries: readonly ProxyEntry[]): readonly RoutedEntry[] {
  return entries.filter(({ kind, isLeftOut }) => kind === "service" && isLeftOut !== true);
}
