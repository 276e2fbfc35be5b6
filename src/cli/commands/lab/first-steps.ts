// What to type into other terminals while a lab runs: kubectl, the observer, an ingress.
import type { Processes } from "../../../environment/processes.ts";
import { typedCommand } from "../../typed-command.ts";

export interface FirstStepsOptions {
  readonly processes: Pick<Processes, "self" | "variables">;
  readonly clusters: number;
  /** Of the kubeconfig. */
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

/** A single cluster is the current context; of several only the first would be. */
function contextFlags(clusters: number): string {
  if (clusters === 1) return "";
  return Array.from({ length: clusters }, (_, index) => ` --context lab-${index + 1}`).join("");
}
