// Reads a cluster's counts for a question, after saying what it will read.
import { resolve as absolute } from "node:path";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { kubeconfigAccess } from "../../../kube/credentials/credentials-kubeconfig.ts";
import { type CommandContext, UsageError } from "../../command.ts";
import { numberText } from "../../terminal/value-text.ts";
import { type ClusterCounts, readCounts, readingStatement } from "./cluster-counts.ts";

export async function readFromContext(
  { environment, terminal, stop }: CommandContext,
  { name, kubeconfig }: { readonly name: string; readonly kubeconfig: string | undefined },
): Promise<ClusterCounts> {
  const path = kubeconfig === undefined ? undefined : absolute(kubeconfig);
  const [cluster] = await kubeconfigAccess({ ...environment, path, contexts: [name] });
  if (cluster === undefined) throw new UsageError(`the kubeconfig gives no access to ${name}`);
  terminal.writeError(readingStatement(name));
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "lockstep-whatif" });
  const counts = await readCounts(client, stop);
  terminal.writeError(`${foundText(counts)}\n`);
  return counts;
}

function foundText(counts: ClusterCounts): string {
  const { given, gitVersion, version, hasFlags, withSelector, withoutSelector } = counts;
  const { services = 0, pods = 0, nodes = 0 } = given;
  const padded =
    services > withSelector
      ? `Fewer than ${services} services are simulated as ${services}.\n`
      : "";
  const flags = hasFlags
    ? "with the flags of its controller manager"
    : "with default flags because its controller manager is not visible";
  return (
    `Found services: ${numberText(withSelector)} with a selector, ` +
    `${numberText(withoutSelector)} without; pods: ${numberText(pods)}; nodes: ` +
    `${numberText(nodes)}.\n${padded}It is ${gitVersion}, simulated as ${version}, ${flags}.`
  );
}
