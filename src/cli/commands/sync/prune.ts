// `lockstep sync prune`: shows all copies of the configured sources in the access cluster, and removes
// them with --yes, and the Leases of these sources. Objects of others and copies of other clusters stay.

import { planSync } from "../../../decide/syncing/plan-sync.ts";
import { planRules, type RuleOffer } from "../../../decide/syncing/rules/plan-rules.ts";
import type { ServiceOffer } from "../../../decide/syncing/service-offer.ts";
import { describeWrite, type SyncWrite } from "../../../decide/syncing/sync-write.ts";
import { counted } from "../../../environment/counted.ts";
import type { Environment } from "../../../environment/environment.ts";
import { splitObjectKey } from "../../../kube/kinds/kind.ts";
import { deleteLease, readLock } from "../../../kube/leader/lease-lock.ts";
import { RuleTarget } from "../../../outputs/rules/rule-target.ts";
import { sourceLeaseName } from "../../../outputs/slices/source-leases.ts";
import { SyncTarget } from "../../../outputs/slices/sync-target.ts";
import { SyncConflictError, SyncWriter } from "../../../outputs/slices/sync-writer.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import type { SyncFlags } from "./command.ts";
import type { SyncSetup } from "./setup.ts";

const answerWithinMs = 30_000;

const answerCheckMs = 50;

/** An object that another client changes at the same moment is read again this often. */
const conflictsMax = 5;

export async function runPrune(
  { environment, terminal, stop }: CommandContext,
  setup: SyncSetup,
  { yes, json }: Pick<SyncFlags, "yes" | "json">,
): Promise<ExitCode> {
  // To look at the copies harms no running sync.
  if (yes) await refuseWhileRunning(environment, setup, stop);
  const owned = new Set<string>();
  const { client, cluster } = setup.target;
  const target = new SyncTarget({
    ...environment,
    client,
    cluster,
    names: setup.policy.names,
    copyAs: setup.policy.copyAs,
    needsImports: (setup.policy.imports ?? "none") !== "none",
    onService: (key, isOwn) => {
      if (isOwn) owned.add(key);
    },
    onNamespace: () => undefined,
  });
  const namespaces = new Set<string>();
  const { tlsSecrets = [] } = setup.config.ingresses ?? {};
  const rules = new RuleTarget({
    ...environment,
    client,
    cluster,
    names: setup.policy.names,
    tlsSecrets,
    onNamespace: (namespace, isOwn) => {
      if (isOwn) namespaces.add(namespace);
    },
  });
  const patience = new AbortController();
  const cancel = environment.timers.after(answerWithinMs, () =>
    patience.abort(new UsageError(`${cluster} did not answer within ${answerWithinMs / 1000} s.`)),
  );
  const signal = AbortSignal.any([stop, patience.signal]);
  try {
    await target.start(signal);
    rules.start(signal, () => undefined).catch(() => undefined);
    while (!rules.isSettled) await environment.timers.sleep(answerCheckMs, signal);
    while (target.waitingFor() !== undefined) {
      await environment.timers.sleep(answerCheckMs, signal);
    }
    cancel();
    const { log } = environment;
    let count = 0;
    const prune = async (writer: SyncWriter, plan: () => readonly SyncWrite[]): Promise<void> => {
      const writes = plan();
      count += writes.length;
      for (const write of writes.map(asRemoval))
        terminal.write(json ? `${JSON.stringify(write)}\n` : `${describeWrite(write)}\n`);
      if (yes) await remove(writer, plan, stop);
    };
    const ruleWriter = new SyncWriter({ client, target: rules, log });
    for (const namespace of [...namespaces].sort())
      await prune(ruleWriter, () => ruleRemovals(setup, rules, namespace));
    const writer = new SyncWriter({ client, target, log });
    for (const key of [...owned].sort()) await prune(writer, () => removals(setup, target, key));
    for (const { namespace, name, remove } of await sourceLeases(setup, stop)) {
      count += 1;
      const lease = { type: "delete", kind: "Lease", namespace, name } as const;
      const summary = "it says how fresh the copies are";
      const shown = { ...lease, summary };
      terminal.write(json ? `${JSON.stringify(shown)}\n` : `${describeWrite(shown)}\n`);
      if (yes) await remove();
    }
    if (!rules.isKnown) {
      terminal.writeError(`Ingresses of ${cluster} cannot be read: ${rules.problem}\n`);
    }
    const what = counted(count, "object");
    const rest = yes ? "removed" : "to remove; --yes removes them";
    terminal.writeError(count === 0 ? `Nothing to remove.\n` : `${what} ${rest}.\n`);
    return 0;
  } catch (error) {
    if (patience.signal.aborted) throw patience.signal.reason;
    if (!stop.aborted) throw error;
    return 2;
  } finally {
    cancel();
    await Promise.all([target.stop(), rules.stop()]);
  }
}

/** The plan gives the reasons of a running sync, such as a service that is gone. */
function asRemoval(write: SyncWrite): SyncWrite {
  return write.type === "delete" ? { ...write, summary: "a copy that sync made" } : write;
}

/** A running sync would write everything again. */
async function refuseWhileRunning(
  { timers }: Environment,
  { config: { lease }, target }: SyncSetup,
  signal: AbortSignal,
): Promise<void> {
  if (lease === undefined) return;
  const lock = { kind: "Lease", ...lease } as const;
  const limits = { deadlineMs: answerWithinMs, signal };
  const before = await readLock(target.client, lock, limits);
  if (before === undefined || before.record.holder === "") return;
  // No clock of another machine is believed: a holder that lives renews within its term.
  await timers.sleep(before.record.leaseDurationMs, signal);
  const after = await readLock(target.client, lock, limits);
  if (after === undefined || after.record.holder === "") return;
  if (after.record.renewTime === before.record.renewTime) return;
  throw new UsageError(
    `${after.record.holder} writes to ${target.cluster} (Lease ${lease.namespace}/${lease.name}). Stop it first.`,
  );
}

/** Of the configured sources; one with another holder is not ours. */
async function sourceLeases(
  { config, sources, target: { client } }: SyncSetup,
  signal: AbortSignal,
) {
  const { lease, forget } = config;
  if (lease === undefined) return [];
  const limits = { deadlineMs: answerWithinMs, signal };
  const found: { namespace: string; name: string; remove: () => Promise<void> }[] = [];
  for (const cluster of [...sources.map((one) => one.cluster), ...forget]) {
    const place = { namespace: lease.namespace, name: sourceLeaseName(cluster) };
    const lock = { kind: "Lease", ...place } as const;
    const held = await readLock(client, lock, limits);
    if (held?.record.holder !== cluster) continue;
    found.push({ ...place, remove: () => deleteLease(client, lock, held, limits) });
  }
  return found;
}

function removals(
  { config, policy, sources }: SyncSetup,
  target: SyncTarget,
  key: string,
): readonly SyncWrite[] {
  const clusters = [...sources.map(({ cluster }) => cluster), ...config.forget];
  const nothing = { service: undefined, changedAt: undefined, version: undefined };
  const offers = clusters.map(
    (cluster): ServiceOffer => ({ cluster, isKnown: true, endpoints: [], ...nothing }),
  );
  const { createNamespaces, names } = policy;
  const rules = { createNamespaces, names };
  return planSync({ ...splitObjectKey(key), offers, target: target.state(key), policy: rules })
    .writes;
}

/** As if no cluster had an Ingress. */
function ruleRemovals(
  { config, policy: { names }, sources }: SyncSetup,
  target: RuleTarget,
  namespace: string,
): readonly SyncWrite[] {
  const clusters = [...sources.map(({ cluster }) => cluster), ...config.forget];
  const offers = clusters.map((cluster): RuleOffer => {
    const nothing = { isKnown: true, ingresses: [], secret: () => ({ kind: "absent" }) as const };
    return { cluster, ...nothing };
  });
  const settings = { classes: {}, hosts: [], annotations: [], tlsSecrets: [] };
  const isExpected = false;
  const input = { namespace, sources: offers, names, settings, isExpected };
  return planRules({ ...input, target: target.state(namespace), obstacle: () => undefined }).writes;
}

async function remove(
  writer: SyncWriter,
  plan: () => readonly SyncWrite[],
  signal: AbortSignal,
): Promise<void> {
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      for (const write of plan()) await writer.apply(write, signal);
      return;
    } catch (error) {
      if (!(error instanceof SyncConflictError) || conflicts >= conflictsMax) throw error;
    }
  }
}
