// `--store` of `lockstep lab`: objects in memory, in an etcd of the lab, or in a running etcd.
import { EtcdStorage } from "../../../apiserver/storage/etcd/etcd-storage.ts";
import { StorageTimeoutError } from "../../../apiserver/storage/storage.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { LabOptions } from "../../../lab/lab.ts";
import { EtcdMissingError, startEtcd } from "../../../lab/processes/etcd-process.ts";
import { UsageError } from "../../command.ts";
import { refuse } from "../../flags.ts";
import { errorsOnly } from "../../quiet-log.ts";

export type StoreChoice =
  | { readonly type: "memory" }
  /** Started and stopped by the lab. */
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
  return refuse(
    "It must be memory, etcd, or etcd=http://HOST:PORT " +
      "(several addresses of one etcd separated by commas).",
  );
}

export async function openStore(
  given: Environment,
  choice: StoreChoice,
  /** Used by this run only. */
  folder: string,
  onNews: (news: string) => void,
): Promise<OpenStore> {
  // A killed server is reported once, not again for each of its watches.
  const environment = { ...given, log: errorsOnly(given.log) };
  if (choice.type === "memory") {
    return { options: undefined, etcd: undefined, close: async () => undefined };
  }
  if (choice.type === "etcd") {
    await refuseSilent(environment, choice.endpoints);
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

/** Checked before servers start and wait for it. */
async function refuseSilent(environment: Environment, endpoints: readonly string[]): Promise<void> {
  const storage = new EtcdStorage({ ...environment, endpoints, compactEveryMs: 0 });
  try {
    await storage.check();
  } catch (error) {
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
