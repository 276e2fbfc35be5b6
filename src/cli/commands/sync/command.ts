// `lockstep sync`: flags and help.
import { Argument, Command } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { anyText, kubeconfigHelp, listOf } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runSync } from "./run.ts";

export interface SyncFlags {
  readonly config?: string;
  readonly from: readonly string[];
  readonly to?: string;
  readonly forget: readonly string[];
  readonly kubeconfig?: string;
  readonly namespace: readonly string[];
  readonly allNamespaces: boolean;
  readonly createNamespaces: boolean;
  readonly yes: boolean;
  readonly dryRun: boolean;
  readonly json: boolean;
}

export type SyncAction = "prune" | "status";

const epilogue = `
For each synced service, the access cluster gets a headless Service with the same name, without a
selector. It also gets EndpointSlices <service>-<cluster>-<n> with the endpoints of each business
cluster. Any ingress controller in the access cluster can use them. Pods join and leave at once, even
if the controllers of their cluster are behind.

--config names a YAML file with the clusters and services, and with settings that have no flag:
Ingresses to copy, ServiceExports, Endpoints beside EndpointSlices, policies for clusters that do not
answer, a Lease (only one of several instances writes) and a status port. docs/sync.md describes every
field.

Services with the label lockstep.dev/sync=true are synced. With --namespace or --all-namespaces, all
services with a selector there are synced too, except those with the label lockstep.dev/sync=false.

Lockstep changes and deletes only objects that it created; they have its label. It never deletes a
namespace. Copies from an unreachable cluster stay, unless a policy in the file says otherwise. Copies
from a cluster that is no longer in --from stay too, because another Lockstep may sync them; --forget
removes them. If no --from cluster has a service in a namespace of --namespace, the name may be
misspelt. Until this is corrected, Lockstep keeps the copies of services that are no longer selected.

Two syncs can write to one access cluster if they copy from different clusters with different names.
Two syncs from the same cluster delete each other's copies: use one sync with all namespaces.
Lockstep logs a warning if its copies are reverted repeatedly.

--from and --to are contexts of the kubeconfig. The name of a context becomes part of object names.
If it has characters that an object name cannot have, choose another name: --from pay=arn:aws:eks:…

lockstep sync prune shows all copies of the named sources, and removes them with --yes.
lockstep sync status --config FILE prints the state of the running sync.

Exit codes: 0 stopped by Ctrl-C or SIGTERM, or the action is complete; 1 only for status: the sync
cannot read the access cluster, or no source; 2 error.

Examples:
  lockstep sync --from shop-1 --from shop-2 --to edge --namespace shop --dry-run
  lockstep sync --from shop-1 --from shop-2 --to edge --namespace shop
  lockstep sync --from shop-1 --to edge --all-namespaces --create-namespaces
  lockstep sync --from shop-1 --to edge --namespace shop --forget shop-2
  lockstep sync --config sync.yaml
  lockstep sync prune --config sync.yaml --yes`;

export function syncCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("sync")
    .addArgument(
      new Argument(
        "[action]",
        "prune removes all copies; status shows the state of a running sync",
      ).choices(["prune", "status"]),
    )
    .optionsGroup("Clusters:")
    .option("--config <file>", "YAML file with clusters, services and policies")
    .option(
      "--from <cluster>",
      "business cluster: a context, or name=context; repeatable",
      listOf(anyText),
      [],
    )
    .option("--to <cluster>", "access cluster: a context, or name=context")
    .option("--kubeconfig <file>", kubeconfigHelp)
    .optionsGroup("Services:")
    .option(
      "--namespace <name>",
      "sync every service with a selector in this namespace; repeatable",
      listOf(anyText),
      [],
    )
    .option("--all-namespaces", "sync every service with a selector in all namespaces", false)
    .option(
      "--forget <cluster>",
      "remove the copies of a cluster that is no longer synced, by its old name; repeatable",
      listOf(anyText),
      [],
    )
    .option("--create-namespaces", "create missing namespaces in the access cluster", false)
    .optionsGroup("Output:")
    .option("--dry-run", "print the planned writes, write nothing, then exit", false)
    .option("--yes", "let prune remove what it shows", false)
    .option("--json", "print JSON, one object a line", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (action: SyncAction | undefined, flags: SyncFlags) =>
      done(await runSync(context, action, flags)),
    );
}
