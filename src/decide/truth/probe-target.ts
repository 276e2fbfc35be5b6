// How an endpoint in doubt is asked: as its kubelet asks it where that is by HTTP, else by whether it
// takes a connection.
import type { HttpProbe, ProbeTarget } from "../../sources/probe-once.ts";
import type { Candidate } from "./verdict.ts";

export function probeTargetOf(candidate: Candidate): ProbeTarget {
  const { cluster, address, port, podUid, pod } = candidate;
  const node = pod?.pod.nodeName ?? "";
  const http = httpProbeOf(candidate);
  return {
    cluster,
    address,
    port,
    ...(podUid === undefined ? {} : { podUid }),
    ...(node === "" ? {} : { node }),
    ...(http === undefined ? {} : { http }),
  };
}

function httpProbeOf({ pod }: Candidate): HttpProbe | undefined {
  if (pod === undefined) return undefined;
  const { readinessProbe, ports } = pod.pod;
  if (readinessProbe?.type !== "httpGet" || readinessProbe.isDressed) return undefined;
  const { port: asked, path = "", scheme, timeoutSeconds } = readinessProbe;
  const port =
    typeof asked === "number"
      ? asked
      : ports.find(({ name, protocol }) => name === asked && protocol === "TCP")?.containerPort;
  if (port === undefined) return undefined;
  return {
    port,
    path: path.startsWith("/") ? path : `/${path}`,
    secure: scheme === "HTTPS",
    timeoutMs: timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000,
  };
}
