// `--store` of `lockstep lab`: what it means, and the etcd and the folder that come with it.

import { EtcdStorage } from "../../../apiserver/storage/etcd/etcd-storage.ts";
import { StorageTimeoutError } from "../../../apiserver/storage/storage.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { LabOptions } from "../../../lab/lab.ts";
import { EtcdMissingError, startEtcd } from "../../../lab/processes/etcd-process.ts";
import { UsageError } from "../../command.ts";
import { errorsOnly } from "../../quiet-log.ts";

export type StoreChoice =
  | { readonly type: "memory" }
  /** Started and kept by the lab. */
  | { readonly type: "own etcd" }
  | { readonly type: "etcd"; readonly endpoints: readonly string[] };

export interface OpenStore {
  /** Undefined in memory. */
  readonly options: LabOptions["store"];
  /** The lab's own etcd. */
  readonly etcd: { readonly url: string; readonly pid: number | undefined } | undefined;
  /** After the lab has stopped. Idempotent. */
  close(): Promise<void>;
}

export function parseStore(word: string): StoreChoice {
  if (word === "memory") return { type: "memory" };
  if (word === "etcd") return { type: "own etcd" };
  const [, list = ""] = /^etcd=(.*)$/.exec(word) ?? [];
  const endpoints = list.split(",").map((one) => one.replace(/\/+$/, ""));
  if (endpoints.every(isAddress)) return { type: "etcd", endpoints };
  throw new UsageError(
    `--store ${word}: use memory, etcd, or etcd=http://HOST:PORT ` +
      "(several addresses of one etcd separated by commas)",
  );
}

export async function openStore(
  given: Environment,
  choice: StoreChoice,
  /** Of this run alone. */
  folder: string,
  onNews: (news: string) => void,
): Promise<OpenStore> {
  // What a killed server means to each watch is not news beside that it was killed.
  const environment = { ...given, log: errorsOnly(given.log) };
  if (choice.type === "memory") {
    return { options: undefined, etcd: undefined, close: async () => undefined };
  }
  if (choice.type === "etcd") await refuseSilent(environment, choice.endpoints);
  if (choice.type === "etcd") {
    const options = { environment, endpoints: choice.endpoints, folder, onNews };
    return { options, etcd: undefined, close: async () => undefined };
  }
  try {
    const etcd = await startEtcd({ environment, folder: `${folder}/etcd`, onNews });
    const options = { environment, endpoints: [etcd.url], folder, onNews };
    return { options, etcd, close: () => etcd.stop() };
  } catch (error) {
    throw error instanceof EtcdMissingError ? new UsageError(error.message) : error;
  }
}

/** Before servers are started that would wait for it. */
async function refuseSilent(environment: Environment, endpoints: readonly string[]): Promise<void> {
  const storage = new EtcdStorage({ ...environment, endpoints, compactEveryMs: 0 });
  try {
    await storage.check();
  } catch (error) {
    // That nobody answered in time needs no reason beside it.
    const isSilent = error instanceof StorageTimeoutError;
    const why = isSilent ? "" : ` (${error instanceof Error ? error.message : String(error)})`;
    throw new UsageError(`no etcd answers at ${endpoints.join(", ")}${why}; is it running?`);
  } finally {
    storage.stop();
  }
}

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname, search } = new URL(text);
  return protocol === "http:" && pathname === "/" && search === "";
}
