// Runs `lockstep assist`: keeps twins until stopped, or prints the planned writes with --dry-run.
import { Registry } from "prom-client";
import type { TwinSelection } from "../../../decide/assisting/twin-selection.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { StatusError } from "../../../kube/client/client.ts";
import { MissingPermissions } from "../../../kube/client/missing-permissions.ts";
import { logThrottled, RateLimitedClient } from "../../../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../../../kube/client/token-bucket.ts";
import { outsideIdentity, podIdentity } from "../../../kube/leader/leader-identity.ts";
import { assistPermissionEffects } from "../../../outputs/twins/assist-permission-effects.ts";
import { AssistReplica } from "../../../outputs/twins/assist-replica.ts";
import { TwinView } from "../../../outputs/twins/twin-view.ts";
import { startStatusListener } from "../../../telemetry/status-listener.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { refuseBoth } from "../../flags.ts";
import { namingPortFlags } from "../../taken-port.ts";
import { type AssistCluster, assistCluster, clientOf } from "./cluster.ts";
import type { AssistFlags } from "./command.ts";
import { nothingSelected, planLines, planObjects, problemLines, writtenLine } from "./view.ts";

/** Enough to write a rollout of 100 deployments within seconds, without loading the API server. */
const writesPerSecond = 50;

const writeBurst = 100;

/** A dry run waits this long for the cluster; a run then says what is missing. */
const answerWithinMs = 30_000;

const answerCheckMs = 50;

export async function runAssist(context: CommandContext, flags: AssistFlags): Promise<ExitCode> {
  refuseBoth({
    "--all-namespaces": flags.allNamespaces,
    "--namespace": flags.namespace.length > 0,
  });
  const cluster = await assistCluster(context.environment, flags);
  return flags.dryRun
    ? await printPlan(context, flags, cluster)
    : await keepTwins(context, flags, cluster);
}

async function keepTwins(
  { environment, terminal, stop }: CommandContext,
  flags: AssistFlags,
  cluster: AssistCluster,
): Promise<ExitCode> {
  const { clock, timers, log } = environment;
  const { identity, lease } = placeOf(environment, flags, cluster);
  const metrics = new Registry();
  const missing = new MissingPermissions({ log, effects: assistPermissionEffects });
  const note = (name: string, error: StatusError): void => missing.note(name, error);
  const client = clientOf(environment, cluster, note);
  const replica = new AssistReplica({
    ...environment,
    client,
    cluster: cluster.access.name,
    leaseClient: clientOf(environment, cluster, note),
    writeClient: new RateLimitedClient({
      client,
      bucket: new TokenBucket({ clock, timers, qps: writesPerSecond, burst: writeBurst }),
      clock,
      server: cluster.access.server,
      onThrottled: logThrottled(log),
    }),
    selection: selectionOf(flags),
    lease,
    identity,
    metrics,
    onWritten: (written) =>
      terminal.write(flags.json ? `${JSON.stringify(written)}\n` : writtenLine(written)),
  });
  const listener = await startListener(environment, flags, replica, metrics);
  const { name } = cluster.access;
  terminal.writeError(
    `Keeping twins in ${name}, with the Lease ${lease.namespace}/${lease.name}. Ctrl-C stops it.\n`,
  );
  const cancel = timers.after(answerWithinMs, () => {
    for (const line of waitingLines(replica.keeper.view)) terminal.writeError(line);
  });
  const over = new AbortController();
  const until = AbortSignal.any([stop, over.signal]);
  const explain = async (): Promise<void> => {
    if (!(await becomesKnown(environment, replica.keeper.view, until))) return;
    for (const line of problemLines(replica.keeper.view)) terminal.writeError(`${line}\n`);
    terminal.writeError(nothingSelected(replica.keeper.view, flags) ?? "");
  };
  try {
    const explained = explain();
    await replica.run(stop);
    over.abort(new Error("the replica has ended"));
    await explained;
  } finally {
    over.abort(new Error("the replica has ended"));
    cancel();
    await listener?.close();
  }
  return 0;
}

async function printPlan(
  { environment, terminal, stop }: CommandContext,
  flags: AssistFlags,
  cluster: AssistCluster,
): Promise<ExitCode> {
  const { lease } = placeOf(environment, flags, cluster);
  const view = new TwinView({
    ...environment,
    client: clientOf(environment, cluster),
    cluster: cluster.access.name,
    selection: selectionOf(flags),
    lease,
    // A dry run plans once, when everything is listed; changes until then are part of the plan.
    onTwin: () => undefined,
  });
  const patience = new AbortController();
  const cancel = environment.timers.after(answerWithinMs, () =>
    patience.abort(new Error("timeout")),
  );
  const signal = AbortSignal.any([stop, patience.signal]);
  try {
    const starting = view.start(signal).then(
      () => true,
      (error: unknown) => {
        if (signal.aborted) return false;
        throw error;
      },
    );
    const isKnown = (await starting) && (await becomesKnown(environment, view, signal));
    if (stop.aborted) return 2;
    if (!isKnown) {
      throw new UsageError(
        `${cluster.access.name} did not answer within ${answerWithinMs / 1000} s:\n` +
          waitingLines(view).join("").trimEnd(),
      );
    }
    const nothing = nothingSelected(view, flags);
    terminal.write(flags.json ? planObjects(view) : planLines(view, cluster.access.name));
    if (nothing !== undefined) terminal.writeError(nothing);
    return 0;
  } finally {
    cancel();
    await view.stop();
  }
}

/** False when the signal aborts first. */
async function becomesKnown(
  { timers }: Pick<Environment, "timers">,
  view: TwinView,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    do await timers.sleep(answerCheckMs, signal);
    while (view.waitingFor().length > 0 || !view.isKnown);
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}

function waitingLines(view: TwinView): readonly string[] {
  return view.waitingFor().map((line) => `still waiting for ${line}\n`);
}

function selectionOf({ namespace, allNamespaces, service }: AssistFlags): TwinSelection {
  return {
    namespaces: allNamespaces ? "all" : new Set(namespace),
    services: new Set(service.map((one) => `${one.namespace}/${one.name}`)),
  };
}

/** In a pod, its identity can be checked by others; its namespace has the Lease. */
function placeOf(
  { processes, random }: Pick<Environment, "processes" | "random">,
  flags: AssistFlags,
  { isOwn }: AssistCluster,
) {
  const variable = (name: string): string | undefined => processes.variables[name] || undefined;
  const [podName, podUid] = [variable("POD_NAME"), variable("POD_UID")];
  const namespace = isOwn ? variable("POD_NAMESPACE") : undefined;
  const identity =
    isOwn && podName !== undefined && podUid !== undefined
      ? podIdentity(podName, podUid)
      : outsideIdentity(variable("HOSTNAME") ?? "somewhere", random.uuid());
  const lease = flags.lease ?? { namespace: namespace ?? "default", name: "lockstep-assist" };
  return { identity, lease };
}

async function startListener(
  environment: Environment,
  { metricsPort: port, metricsAddress: host }: AssistFlags,
  replica: AssistReplica,
  metrics: Registry,
) {
  if (port === undefined) return undefined;
  return await namingPortFlags(environment, [{ flag: "--metrics-port", port }], () =>
    startStatusListener({
      ...environment,
      host,
      port,
      metrics,
      readiness: () => ({ problem: replica.problem, notes: [] }),
    }),
  );
}
