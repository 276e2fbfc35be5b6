// Prints the start of `lockstep lab`: addresses as JSON, or commands for other terminals (kubectl, the
// observer, an ingress).
import type { Processes } from "../../../environment/processes.ts";
import { labVersionOf } from "../../../lab/cluster-server.ts";
import type { Lab } from "../../../lab/lab.ts";
import type { CommandContext } from "../../command.ts";
import { paintFor } from "../../terminal/paint.ts";
import { typedCommand } from "../../typed-command.ts";
import type { LabFlags } from "./command.ts";
import type { OpenStore } from "./store.ts";

interface FirstStepsOptions {
  readonly processes: Pick<Processes, "self" | "variables">;
  readonly clusters: number;
  /** Path of the kubeconfig. */
  readonly path: string;
}

export function firstSteps({ processes, clusters, path }: FirstStepsOptions): string {
  const second = clusters > 1 ? "  kubectl --context lab-2 get nodes\n" : "";
  const where = `--kubeconfig ${path}${contextFlags(clusters)}`;
  return `In another terminal:
  export KUBECONFIG=${path}
  kubectl get nodes
${second}  kubectl create deployment web --image=web --port=8080 --replicas=3
  kubectl expose deployment web --port=80 --target-port=8080
  kubectl get pods -o wide
  curl http://$(kubectl get pods -l app=web -o jsonpath='{.items[0].status.podIP}'):8080/
  kubectl rollout restart deployment web

In a third terminal, see how long each change takes:
  ${typedCommand(processes, `watch ${where}`)}

In a fourth terminal, run an ingress:
  ${typedCommand(processes, `ingress ${where} --listen 127.0.0.1`)}
In the second terminal, create a route and send a request:
  kubectl create ingress web --class=lockstep --rule='web.example/*=web:80'
  curl -H 'Host: web.example' http://127.0.0.1:8080/
`;
}

/** The current context is the first cluster; several clusters need a flag each. */
function contextFlags(clusters: number): string {
  if (clusters === 1) return "";
  return Array.from({ length: clusters }, (_, index) => ` --context lab-${index + 1}`).join("");
}

export function welcome(
  { environment, terminal }: CommandContext,
  flags: LabFlags,
  path: string | undefined,
): string {
  if (path === undefined) return "";
  const version = labVersionOf(flags.kubeVersion);
  const head = `The lab is running (Kubernetes API ${version}). Ctrl-C stops it.`;
  return `\n${paintFor(terminal).strong(head)}\n\n${firstSteps({ ...environment, ...flags, path })}\n`;
}

export function asJson(
  { servers }: Lab,
  { kubeVersion }: LabFlags,
  path: string | undefined,
  { etcd }: OpenStore,
): string {
  const gitVersion = labVersionOf(kubeVersion);
  const own = etcd === undefined ? {} : { etcd: { url: etcd.url, pid: etcd.pid } };
  return `${JSON.stringify({ gitVersion, kubeconfig: path ?? null, servers, ...own })}\n`;
}
