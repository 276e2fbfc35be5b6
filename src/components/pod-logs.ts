// Where `kubectl logs` gets its lines: the part that runs the pods gives this to the API server.
import type { BodyWriter } from "../environment/network.ts";

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

/** For servers whose pods do not run. */
export const noPodLogs: PodLogs = {
  async write() {
    // Real servers answer an empty log for a pod that no node runs.
  },
};
