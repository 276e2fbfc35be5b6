// Probes the readiness of a pod by its spec: every period, from the node, over the network. The
// result changes only after as many equal answers in a row as the spec requires.
import type { Environment } from "../../environment/environment.ts";
import { type Network, NetworkError } from "../../environment/network.ts";
import { Deadline } from "../../kube/client/deadline.ts";
import type { KubeletProbe } from "./kubelet-pod.ts";
import { probeUserAgent } from "./pod-program.ts";

export interface ReadinessProbesOptions extends Pick<Environment, "timers" | "network"> {
  /** All have to succeed. */
  readonly probes: readonly KubeletProbe[];
  readonly address: string;
  /** Called at every change; a pod with a probe begins as not ready. */
  readonly onChange: (isReady: boolean) => void;
  readonly onFailure: (problem: string) => void;
}

/** Runs until the signal aborts. */
export async function runReadinessProbes(
  options: ReadinessProbesOptions,
  signal: AbortSignal,
): Promise<void> {
  const ready = new Set<KubeletProbe>();
  const found = (probe: KubeletProbe, isReady: boolean): void => {
    if (isReady) ready.add(probe);
    else ready.delete(probe);
    options.onChange(ready.size === options.probes.length);
  };
  await Promise.all(options.probes.map((probe) => repeat(options, probe, found, signal)));
}

async function repeat(
  options: ReadinessProbesOptions,
  probe: KubeletProbe,
  found: (probe: KubeletProbe, isReady: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  const { timers } = options;
  let isReady = false;
  let inARow = 0;
  try {
    await timers.sleep(probe.initialDelayMs, signal);
    for (;;) {
      const problem = await problemOf(options, probe, signal);
      if (signal.aborted) return;
      if (problem !== "") options.onFailure(problem);
      inARow = (problem === "") === isReady ? 0 : inARow + 1;
      if (inARow >= (isReady ? probe.failureThreshold : probe.successThreshold)) {
        isReady = !isReady;
        inARow = 0;
        found(probe, isReady);
      }
      await timers.sleep(probe.periodMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Empty when the pod answered as it should. */
async function problemOf(
  { network, timers, address }: ReadinessProbesOptions,
  probe: KubeletProbe,
  signal: AbortSignal,
): Promise<string> {
  const deadline = new Deadline({
    timers,
    deadlineMs: probe.timeoutMs,
    signal,
    what: "Readiness probe",
  });
  const url = `http://${address}:${probe.port}${probe.type === "httpGet" ? probe.path : "/"}`;
  try {
    return await ask(network, probe, url, deadline.signal);
  } catch (error) {
    return problemFrom(error, probe);
  } finally {
    deadline.release();
  }
}

async function ask(
  network: Network,
  { type }: KubeletProbe,
  url: string,
  signal: AbortSignal,
): Promise<string> {
  const headers = { "user-agent": probeUserAgent, connection: "close" };
  const method = type === "httpGet" ? "GET" : "HEAD";
  const { status, body } = await network.request({ method, url, headers, signal });
  for await (const _ of body) {
    // The probe does not use the body, but has to read it for the connection to end.
  }
  if (type === "tcpSocket" || (status >= 200 && status < 400)) return "";
  return `Readiness probe failed: HTTP probe failed with statuscode: ${status}`;
}

function problemFrom(error: unknown, { type }: KubeletProbe): string {
  if (!(error instanceof Error)) throw error;
  // A server that answers anything at all has accepted the connection.
  if (type === "tcpSocket" && error instanceof NetworkError && error.code === "NOT_HTTP") return "";
  return `Readiness probe failed: ${error.message}`;
}
