// The objects of `lockstep migrate`: from a cluster, from files and folders, or from standard input.
import { resolve as absolute } from "node:path";
import { counted } from "../../../environment/counted.ts";
import { FilesError } from "../../../environment/files.ts";
import { NetworkError } from "../../../environment/network.ts";
import { StatusError } from "../../../kube/client/client.ts";
import { CredentialsError } from "../../../kube/credentials/credentials.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import { readCluster } from "../../../migrate/cluster-input.ts";
import { FoundObjects } from "../../../migrate/found-objects.ts";
import { InputError, SavedInput } from "../../../migrate/saved-input.ts";
import { type CommandContext, UsageError } from "../../command.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { watchedClusters } from "../../watched-clusters.ts";

export interface AskedObjects {
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly secrets: boolean;
  readonly configMap?: { readonly namespace: string; readonly name: string };
  readonly onlyIngresses: boolean;
}

/** Each has a message for the user. */
export const inputErrors = [FilesError, CredentialsError, InputError, StatusError, NetworkError];

export async function readObjects(
  context: CommandContext,
  paths: readonly string[],
  asked: AskedObjects,
): Promise<FoundObjects> {
  const { environment, terminal, stop } = context;
  const found = new FoundObjects();
  const progress = new ProgressLine({ terminal, clock: environment.clock });
  const { context: name, kubeconfig, configMap, onlyIngresses, secrets } = asked;
  try {
    if (name !== undefined) {
      const contexts = { kubeconfig, contexts: [name], allContexts: false, accessContexts: [] };
      const userAgent = "lockstep-migrate";
      const { clusters } = await watchedClusters(environment, { ...contexts, userAgent }, stop);
      for (const { client } of clusters) {
        await readCluster(found, {
          client,
          signal: stop,
          onlyIngresses,
          withSecrets: secrets,
          configMap: configMap && objectKey(configMap),
          onProgress: (step, count) => progress.show(step, count.toLocaleString("en-US")),
        });
      }
      return found;
    }
    const input = new SavedInput(found);
    for (const path of paths) {
      if (path === "-") await readStandardInput(context, input);
      else await input.readPath(environment.files, absolute(path), stop);
      progress.show("reading", counted(input.files, "file"));
    }
    return found;
  } finally {
    progress.clear();
  }
}

async function readStandardInput({ stdin }: CommandContext, input: SavedInput): Promise<void> {
  if (stdin === undefined) {
    throw new UsageError("no data on standard input: give a file or folder instead of -");
  }
  await input.readStream(stdin(), "standard input");
}
