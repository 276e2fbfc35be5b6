// Where `kubectl logs` gets its lines: whoever runs the pods gives this to the server.
import type { BodyWriter } from "../environment/network.ts";
import { badRequest } from "./apiserver/decode/body.ts";
import { objectsAt, textAt } from "./apiserver/kinds/fields.ts";
import type { KubeObject } from "./apiserver/kube-object.ts";

export interface PodLogRequest {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly container: string;
  /** Stay and send new lines until the pod or the client is gone. */
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly sinceSeconds: number | undefined;
}

export interface PodLogs {
  /** Writes the lines and returns; the caller ends the body. Returns soon after `closed`. */
  write(request: PodLogRequest, writer: BodyWriter, closed: AbortSignal): Promise<void>;
}

/** For servers whose pods nobody runs. */
export const noPodLogs: PodLogs = {
  async write() {
    // Real servers answer an empty log for a pod that no node runs.
  },
};

export function readPodLogRequest(pod: KubeObject, query: URLSearchParams): PodLogRequest {
  const { name, namespace = "", uid = "" } = pod.metadata;
  return {
    namespace,
    name,
    uid,
    container: chooseContainer(pod, query.get("container") ?? ""),
    follow: query.get("follow") === "true",
    previous: query.get("previous") === "true",
    timestamps: query.get("timestamps") === "true",
    tailLines: readCount(query, "tailLines"),
    sinceSeconds: readCount(query, "sinceSeconds"),
  };
}

function chooseContainer(pod: KubeObject, asked: string): string {
  const { name } = pod.metadata;
  const containers = objectsAt(pod, "spec", "containers").map((one) => textAt(one, "name"));
  const inits = objectsAt(pod, "spec", "initContainers").map((one) => textAt(one, "name"));
  const [only = ""] = containers;
  if (asked === "" && containers.length === 1) {
    return only;
  }
  if (asked === "") {
    const among = inits.length === 0 ? "" : ` or one of the init containers: [${inits.join(" ")}]`;
    throw badRequest(
      `a container name must be specified for pod ${name}, choose one of: ` +
        `[${containers.join(" ")}]${among}`,
    );
  }
  if (!containers.includes(asked) && !inits.includes(asked)) {
    throw badRequest(`container ${asked} is not valid for pod ${name}`);
  }
  return asked;
}

function readCount(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) {
    return undefined;
  }
  if (!/^\d+$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Number(text);
}
