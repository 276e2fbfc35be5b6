// Shared parts of the network contract: the world of a test, and the few steps that nearly every
// test takes. Nothing here waits by real time, so it works in virtual time as well.
import type { Environment } from "../../src/environment/environment.ts";
import {
  type ExchangeHandler,
  type Listener,
  type Network,
  NetworkError,
  type ServerExchange,
} from "../../src/environment/network.ts";

export interface NetworkWorld {
  readonly client: Environment;
  readonly server: Environment;
  /** Where `server` can listen and `client` can reach it: an address or a simulated host's name. */
  readonly serverHost: string;
}

/** Makes a fresh world, runs one test body in it and cleans up. */
export type RunInNetworkWorld = (test: (world: NetworkWorld) => Promise<void>) => Promise<void>;

export interface Served {
  readonly network: Network;
  /** `http://host:port`, without a slash at the end. */
  readonly url: string;
  readonly listener: Listener;
}

/** Listens with the handler for as long as `use` runs. */
export async function whileServing(
  world: NetworkWorld,
  handler: ExchangeHandler,
  use: (served: Served) => Promise<void>,
): Promise<void> {
  const listener = await world.server.network.listen({ host: world.serverHost, port: 0 }, handler);
  try {
    const url = `http://${world.serverHost}:${listener.port}`;
    await use({ network: world.client.network, url, listener });
  } finally {
    await listener.close();
  }
}

/** A handler that leaves the first exchange to the test instead of answering it. */
export function heldExchange(): { handler: ExchangeHandler; exchange: Promise<ServerExchange> } {
  let hand: (exchange: ServerExchange) => void = () => undefined;
  const exchange = new Promise<ServerExchange>((resolve) => {
    hand = resolve;
  });
  return { handler: (held) => hand(held), exchange };
}

/** The failure of something that must fail with a `NetworkError`. */
export async function failureOf(promise: Promise<unknown>): Promise<NetworkError> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof NetworkError) return outcome;
  throw new Error("expected a NetworkError", { cause: outcome });
}

export async function readAll(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  return (await readAll(body)).toString("utf8");
}

/** Resolves when the signal has aborted. */
export function abortion(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Bytes that differ from place to place, so that a swapped or lost chunk shows. */
export function patternedBytes(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 1) bytes[at] = (at * 31 + (at >> 8) * 7) & 0xff;
  return bytes;
}
