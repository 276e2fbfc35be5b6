// The clusters, services and limits of one `lockstep sync`, from flags or from its config file.
import { resolve as absolute } from "node:path";
import { clusterSetNames, isClusterName } from "../../../decide/syncing/copy-names.ts";
import { NamespaceSelection } from "../../../decide/syncing/service-selection.ts";
import { namespacePolicy, type SyncPolicy } from "../../../decide/syncing/sync-policy.ts";
import type { UnreachablePolicy } from "../../../decide/truth/truth-policy.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { StatusError } from "../../../kube/client/client.ts";
import { HttpKubeClient, type HttpKubeClientOptions } from "../../../kube/client/http-client.ts";
import {
  MissingPermissions,
  type PermissionEffects,
} from "../../../kube/client/missing-permissions.ts";
import { type ClusterAccess, CredentialsError } from "../../../kube/credentials/credentials.ts";
import { contextAccess } from "../../../kube/credentials/credentials-kubeconfig.ts";
import { readKubeconfig } from "../../../kube/credentials/credentials-kubeconfig-file.ts";
import {
  sourcePermissionEffects,
  targetPermissionEffects,
} from "../../../outputs/slices/sync-permission-effects.ts";
import type { ClusterClient } from "../../../outputs/slices/sync-view.ts";
import { UsageError } from "../../command.ts";
import { asUsage, refuseBoth } from "../../flags.ts";
import type { SyncFlags } from "./command.ts";
import {
  type ConfiguredCluster,
  defaultWritesPerSecond,
  readSyncConfig,
  type SyncConfig,
} from "./config.ts";

export interface SyncSetup {
  readonly config: SyncConfig;
  readonly sources: readonly ClusterClient[];
  readonly target: ClusterClient;
  readonly targetAccess: ClusterAccess;
  /** Of every client of the target: reports each refusal once, with its effect. */
  readonly onTargetForbidden: NonNullable<HttpKubeClientOptions["onForbidden"]>;
  readonly onSourceForbidden: NonNullable<HttpKubeClientOptions["onForbidden"]>;
  /** By source. */
  readonly accesses: ReadonlyMap<string, ClusterAccess>;
  readonly selection: NamespaceSelection;
  readonly policy: SyncPolicy;
}

const userAgent = "lockstep-sync";

export async function syncSetup(environment: Environment, flags: SyncFlags): Promise<SyncSetup> {
  const config =
    flags.config === undefined
      ? configOfFlags(flags)
      : await configOfFile(environment, flags, flags.config);
  const { namespaces, labels, exports, createNamespaces, forget, followSlices, damping } = config;
  const { unreachable, unreachableAfterMs, sources, copyAs } = config;
  const imports = exports ? config.imports : "none";
  const isDerived = imports === "derived";
  const selection = new NamespaceSelection(namespaces === "all" ? "all" : new Set(namespaces), {
    labels,
    exports: isDerived ? "only" : exports,
  });
  const own = sources.flatMap(({ name, unreachable: asked }): [string, UnreachablePolicy][] =>
    asked === undefined ? [] : [[name, asked]],
  );
  const truth = {
    followSlices,
    unreachableIn: new Map(own),
    ...(unreachable === undefined ? {} : { unreachable }),
    ...(unreachableAfterMs === undefined ? {} : { unreachableAfterMs }),
  };
  const forgottenClusters = new Set(forget);
  const policy = namespacePolicy("all", {
    selection,
    truth,
    damping,
    createNamespaces,
    forgottenClusters,
    ...(copyAs === undefined ? {} : { copyAs }),
    imports,
    ...(isDerived ? { names: clusterSetNames } : {}),
  });
  return { config, selection, policy, ...(await connect(environment, config)) };
}

async function connect(environment: Environment, { kubeconfig, sources, target }: SyncConfig) {
  const path = kubeconfig === undefined ? undefined : absolute(kubeconfig);
  return asUsage([CredentialsError], async () => {
    const read = await readKubeconfig({ ...environment, path });
    const accessOf = ({ context }: ConfiguredCluster) => contextAccess(read, context, environment);
    const refusals = (effects: PermissionEffects) => {
      const missing = new MissingPermissions({ log: environment.log, effects });
      return (name: string, error: StatusError): void => missing.note(name, error);
    };
    const clientOf = (
      one: ConfiguredCluster,
      onForbidden: HttpKubeClientOptions["onForbidden"],
    ): ClusterClient => {
      const options = { ...environment, cluster: accessOf(one), userAgent, onForbidden };
      return { cluster: one.name, client: new HttpKubeClient(options) };
    };
    const onSourceForbidden = refusals(sourcePermissionEffects);
    const onTargetForbidden = refusals(targetPermissionEffects);
    return {
      sources: sources.map((one) => clientOf(one, onSourceForbidden)),
      target: clientOf(target, onTargetForbidden),
      targetAccess: accessOf(target),
      onTargetForbidden,
      onSourceForbidden,
      accesses: new Map(sources.map((one) => [one.name, accessOf(one)])),
    };
  });
}

async function configOfFile(
  { files }: Environment,
  flags: SyncFlags,
  file: string,
): Promise<SyncConfig> {
  refuseBoth({
    "--config": true,
    "--from": flags.from.length > 0,
    "--to": flags.to !== undefined,
    "--namespace": flags.namespace.length > 0,
    "--all-namespaces": flags.allNamespaces,
    "--create-namespaces": flags.createNamespaces,
    "--forget": flags.forget.length > 0,
  });
  const content = await files.read(absolute(file));
  if (content === undefined) throw new UsageError(`the config file ${file} does not exist`);
  const config = readSyncConfig(file, Buffer.from(content).toString("utf8"));
  const { kubeconfig } = flags;
  return kubeconfig === undefined ? config : { ...config, kubeconfig };
}

function configOfFlags(flags: SyncFlags): SyncConfig {
  const { namespace, allNamespaces, createNamespaces, forget, kubeconfig } = flags;
  if (flags.from.length === 0 || flags.to === undefined) {
    throw new UsageError("lockstep sync needs --from and --to, or --config.");
  }
  refuseBoth({ "--all-namespaces": allNamespaces, "--namespace": namespace.length > 0 });
  const sources = flags.from.map(parseCluster);
  const target = parseCluster(flags.to);
  refuseDuplicates([...sources, target]);
  const both = sources.find(({ name }) => forget.includes(name));
  if (both !== undefined) {
    throw new UsageError(`${both.name} is in --from and in --forget: remove one of them.`);
  }
  return {
    sources,
    target,
    namespaces: allNamespaces ? "all" : namespace,
    labels: {},
    exports: false,
    imports: "none",
    exportStatus: false,
    createNamespaces,
    forget,
    followSlices: false,
    probe: true,
    damping: true,
    writesPerSecond: defaultWritesPerSecond,
    statusHost: "127.0.0.1",
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  };
}

/** Each cluster is a context, or `name=context`; the name becomes part of object names. */
function parseCluster(text: string): ConfiguredCluster {
  const equals = text.indexOf("=");
  const name = equals === -1 ? text : text.slice(0, equals);
  const context = equals === -1 ? text : text.slice(equals + 1);
  if (isClusterName(name) && context !== "") return { name, context };
  throw new UsageError(
    `"${name}" cannot be part of an object name: use lower-case letters, digits and dashes, at most 63.\n` +
      `Give the context another name, for example: shop=${context || "CONTEXT"}`,
  );
}

function refuseDuplicates(named: readonly ConfiguredCluster[]): void {
  for (const [index, { name, context }] of named.entries()) {
    const same = named
      .slice(0, index)
      .find((other) => other.name === name || other.context === context);
    if (same === undefined) continue;
    const what = same.name === name ? name : `the context ${context}`;
    throw new UsageError(`--from and --to must be different clusters; ${what} is given twice.`);
  }
}
