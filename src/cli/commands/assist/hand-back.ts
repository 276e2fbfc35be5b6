// Runs `lockstep assist off` and `lockstep assist on`. Both need an API server and nothing else: no
// replica, no watch, no access log. Each twin is handled by itself, so that a problem with one never
// keeps another from being handed back.
import { handBack } from "../../../decide/assisting/plan-twin.ts";
import {
  assistLabel,
  isHandedBack,
  isTwinSlice,
  originalOf,
} from "../../../decide/assisting/twin-names.ts";
import { takeOverTwin } from "../../../decide/assisting/twin-service.ts";
import { deletion, type SyncWrite } from "../../../decide/syncing/sync-write.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { counted } from "../../../environment/counted.ts";
import type { Environment } from "../../../environment/environment.ts";
import { type KubeClient, StatusError } from "../../../kube/client/client.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import { writeRequest } from "../../../outputs/slices/sync-writer.ts";
import { findServiceUsers } from "../../../sources/service-users.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { typedCommand } from "../../typed-command.ts";
import { assistCluster, clientOf } from "./cluster.ts";
import type { ClusterFlags, NamedObject, OffFlags } from "./command.ts";
import {
  findTwins,
  isTwinObject,
  listTwins,
  readTwin,
  readyCount,
  type TwinObjects,
} from "./twin-objects.ts";

/** Kubernetes' controllers need tens of milliseconds, or minutes when they are behind. */
const coveredWithinMs = 30_000;

const lookAgainMs = 250;

/** Two rounds of writes are enough, and other writers of a Service are rare. */
const triesMax = 6;

/** A cluster of a thousand twins is handed back within some 20 s. */
const atOnce = 10;

const requestDeadlineMs = 30_000;

interface Outcome {
  readonly text: string;
  readonly isDone: boolean;
}

export async function runOff(
  { environment, terminal, stop }: CommandContext,
  services: readonly NamedObject[],
  flags: OffFlags,
): Promise<ExitCode> {
  const isSome = services.length > 0 || flags.namespace.length > 0;
  if (isSome === flags.all) {
    throw new UsageError(
      flags.all
        ? "--all means every twin: remove it, or remove the names."
        : "Name a Service, such as shop/web, or use --namespace or --all.",
    );
  }
  const client = clientOf(environment, await assistCluster(environment, flags));
  const { found, missing } = await findTwins(client, services, stop);
  const listed =
    services.length === 0 || flags.namespace.length > 0
      ? await listTwins(client, flags.namespace, stop)
      : [];
  const twins = [...new Map([...found, ...listed].map((one) => [objectKey(one.metadata), one]))];
  for (const { namespace, name } of missing) terminal.write(`${namespace}/${name}: no such twin\n`);
  if (twins.length === 0 && missing.length === 0) terminal.write("There are no twins.\n");
  const outcomes = flags.remove
    ? await removeTwins(
        client,
        twins.map(([, twin]) => twin),
        stop,
      )
    : await eachOf(twins, ([, twin]) => handBackOne(environment, client, twin, stop));
  for (const [index, { text }] of outcomes.entries()) {
    terminal.write(`${twins[index]?.[0] ?? ""}: ${text}\n`);
  }
  const left = outcomes.filter(({ isDone }) => !isDone).length;
  if (left > 0 && !flags.remove) {
    const again = typedCommand(environment.processes, "assist off");
    terminal.write(`${counted(left, "twin")} not complete yet. Run ${again} again later.\n`);
  }
  return left + missing.length === 0 ? 0 : 1;
}

export async function runOn(
  { environment, terminal, stop }: CommandContext,
  services: readonly NamedObject[],
  flags: ClusterFlags,
): Promise<ExitCode> {
  const client = clientOf(environment, await assistCluster(environment, flags));
  const { found, missing } = await findTwins(client, services, stop);
  for (const { namespace, name } of missing) terminal.write(`${namespace}/${name}: no such twin\n`);
  for (const twin of found) {
    const isOff = isHandedBack(twin);
    if (isOff) await apply(client, takeOverTwin(twin), stop);
    const text = isOff
      ? "the replicas of lockstep assist may keep it again"
      : "it was not handed back";
    terminal.write(`${objectKey(twin.metadata)}: ${text}\n`);
  }
  return missing.length === 0 ? 0 : 1;
}

/** Gives it its selector back, waits for Kubernetes' slices, and deletes the own ones. */
async function handBackOne(
  { clock, timers }: Pick<Environment, "clock" | "timers">,
  client: KubeClient,
  { metadata }: Service,
  signal: AbortSignal,
): Promise<Outcome> {
  const startedAt = clock.monotonicMs();
  let tries = 0;
  for (;;) {
    const objects = await readTwin(client, metadata, signal);
    if (objects === undefined) return { text: "it is gone", isDone: true };
    const { twin, original, slices } = objects;
    if (original?.selector === undefined) return withoutSelector(objects);
    try {
      const writes = handBack(
        { target: { service: twin, slices }, published: objects.published },
        twin,
        original,
        true,
      );
      for (const write of writes) await apply(client, write, signal);
      if (writes.length > 0) {
        tries += 1;
        if (tries < triesMax) continue;
        return { text: "failed: another program reverts it", isDone: false };
      }
    } catch (error) {
      tries += 1;
      if (!(error instanceof StatusError) || tries >= triesMax) {
        signal.throwIfAborted();
        return { text: `failed: ${messageOf(error)}`, isDone: false };
      }
      continue;
    }
    const own = slices.filter(isTwinSlice);
    if (own.length === 0) return served(objects);
    if (elapsedMs(startedAt, clock.monotonicMs()) >= coveredWithinMs) return waiting(objects);
    await timers.sleep(lookAgainMs, signal);
  }
}

function served({ twin, slices }: TwinObjects): Outcome {
  const endpoints = counted(readyCount(slices), "endpoint");
  const name = originalOf(twin) ?? "its Service";
  return { text: `Kubernetes serves it, as it serves ${name}: ${endpoints}`, isDone: true };
}

/** The own slices stay, so that nothing that works is taken away. */
function waiting({ slices }: TwinObjects): Outcome {
  const endpoints = counted(readyCount(slices.filter(isTwinSlice)), "endpoint");
  return {
    text:
      "handed back, but Kubernetes does not list its endpoints yet: its controllers are behind. " +
      `Until then it keeps the last ${endpoints}`,
    isDone: false,
  };
}

function withoutSelector({ twin, original }: TwinObjects): Outcome {
  const name = originalOf(twin) ?? "its Service";
  const why = original === undefined ? "does not exist any more" : "has no selector any more";
  return { text: `cannot be handed back: ${name} ${why}`, isDone: false };
}

async function removeTwins(
  client: KubeClient,
  twins: readonly Service[],
  signal: AbortSignal,
): Promise<readonly Outcome[]> {
  if (twins.length === 0) return [];
  const { users, unread } = await findServiceUsers(
    client,
    twins.map(({ metadata }) => metadata),
    { signal, isIgnored: isTwinObject },
  );
  return await eachOf(twins, async (twin) => {
    const own = users.get(objectKey(twin.metadata)) ?? [];
    if (own.length > 0) {
      const names = own.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
      const text = `not removed: ${names.join(", ")} names it. Write the name of its Service there first`;
      return { text, isDone: false };
    }
    if (unread.length > 0) {
      return { text: `not removed: cannot check ${unread.join("; ")}`, isDone: false };
    }
    return await removeOne(client, twin, signal);
  });
}

async function removeOne(client: KubeClient, twin: Service, signal: AbortSignal): Promise<Outcome> {
  const objects = await readTwin(client, twin.metadata, signal);
  if (objects === undefined) return { text: "it is gone", isDone: true };
  await apply(client, deletion("Service", objects.twin.metadata, "removed by hand"), signal);
  for (const slice of objects.slices.filter(isTwinSlice)) {
    await apply(client, deletion("EndpointSlice", slice.metadata, "removed by hand"), signal);
  }
  const isLabelled = objects.original?.metadata.labels[assistLabel] === "true";
  const again = isLabelled
    ? `. Remove the label ${assistLabel} from its Service, or a running replica creates it again`
    : ". A running replica that selects its Service creates it again";
  return { text: `removed${again}`, isDone: true };
}

/** An object that is gone already is as good as deleted. */
async function apply(client: KubeClient, write: SyncWrite, signal: AbortSignal): Promise<void> {
  try {
    const limits = { deadlineMs: requestDeadlineMs, signal };
    await client.request({ ...writeRequest(write), ...limits });
  } catch (error) {
    const isGone = error instanceof StatusError && error.code === 404;
    if (!(write.type === "delete" && isGone)) throw error;
  }
}

async function eachOf<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += atOnce) {
    results.push(...(await Promise.all(items.slice(from, from + atOnce).map(work))));
  }
  return results;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
