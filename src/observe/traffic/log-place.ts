// Where an access log is, as people write it: a file, `-` for what is piped in, or
// `pod:NAMESPACE/NAME[:CONTAINER][@CONTEXT]` for a pod's log over the API; and its bytes from there.
import { resolve } from "node:path";
import { followFile } from "../../access-log/file-chunks.ts";
import { podLogChunks } from "../../access-log/pod-log.ts";
import { untilAborted } from "../../access-log/until-aborted.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";

export type LogPlace =
  | { readonly type: "file"; readonly path: string }
  | { readonly type: "stdin" }
  | {
      readonly type: "pod";
      readonly namespace: string;
      readonly pod: string;
      readonly container: string | undefined;
      /** The cluster's name; the only one, or the first that is given, when absent. */
      readonly cluster: string | undefined;
    };

export class LogPlaceError extends Error {
  override readonly name = "LogPlaceError";
  readonly code = "LOG_PLACE";
}

const podForm = /^pod:([a-z0-9.-]+)\/([a-z0-9.-]+)(?::([a-z0-9-]+))?(?:@(.+))?$/;

/** Throws a `LogPlaceError` that says what would be right. */
export function readLogPlace(text: string): LogPlace {
  if (text === "-") return { type: "stdin" };
  if (!text.startsWith("pod:")) {
    if (text === "")
      throw new LogPlaceError("an access log must be a file, - or pod:NAMESPACE/NAME");
    return { type: "file", path: resolve(text) };
  }
  const [, namespace, pod, container, cluster] = podForm.exec(text) ?? [];
  if (namespace === undefined || pod === undefined) {
    throw new LogPlaceError(`${text} is not a pod: use pod:NAMESPACE/NAME[:CONTAINER][@CONTEXT]`);
  }
  return { type: "pod", namespace, pod, container, cluster };
}

export interface LogChunksOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log" | "files"> {
  /** The input that is piped into this process. */
  readonly stdin: () => AsyncIterable<Uint8Array>;
  /** By name, in the order given. */
  readonly clients: ReadonlyMap<string, KubeClient>;
  readonly signal: AbortSignal;
  /** Of a pod's log, whether it is being received. */
  readonly onConnected?: (isConnected: boolean) => void;
}

/** Lines written from now on; of a pipe, all lines. */
export function logChunks(place: LogPlace, options: LogChunksOptions): AsyncIterable<Uint8Array> {
  switch (place.type) {
    case "file":
      return followFile({ ...options, path: place.path, from: "end" });
    case "stdin":
      return untilAborted(options.stdin(), options.signal);
    case "pod":
      return podLogChunks({ ...options, ...place, client: clientOf(place.cluster, options) });
  }
}

function clientOf(cluster: string | undefined, { clients }: LogChunksOptions): KubeClient {
  const [first] = clients.values();
  const client = cluster === undefined ? first : clients.get(cluster);
  if (client !== undefined) return client;
  const names = [...clients.keys()].join(", ");
  throw new LogPlaceError(
    `the cluster ${cluster} of the pod is not observed. Observed clusters: ${names}`,
  );
}
