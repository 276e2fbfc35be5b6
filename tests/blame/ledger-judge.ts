// Compares the verdicts of `lockstep blame` with the ledger. The verdicts come from the files that
// an incident saved, through the real command. The expected cause of each lost request comes only
// from the ledger.
import { expect } from "vitest";
import { lengthOf, type Span } from "../../src/blame/span.ts";
import { staleCauses } from "../../src/blame/verdict.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Environment } from "../../src/environment/environment.ts";
import { isRecord, listAt, optionalString, requiredString } from "../../src/kube/kinds/fields.ts";
import type { LostRequest, LostTry } from "../../src/lab/traffic/lost-request.ts";
import { RecordedTerminal } from "../terminal/recorded-terminal.ts";

/** With how many requests each cause was blamed. */
export type Blamed = Readonly<Record<string, number>>;

export interface JudgedFolder {
  /** Lost requests of the side, by the ledger. */
  readonly lost: number;
  /** Of them, those that an access log has. */
  readonly logged: number;
  readonly blamed: Blamed;
  /** Of them, those whose verdict says that it is certain. */
  readonly certain: Blamed;
}

/** Also what a client gave up on is lost. */
const statuses = "499,500,502,503,504";

const stale: ReadonlySet<string> = new Set(staleCauses);

/** Expects a verdict as the ledger's for every request that the side lost in a folder. */
export async function expectJudged(
  environment: Environment,
  folder: string,
  side: "stock" | "lockstep",
): Promise<JudgedFolder> {
  const lost = (await truthOf(environment, folder)).filter(({ entry }) => entry === side);
  const verdicts = await verdictsOf(environment, folder, side);
  const blamed: Record<string, number> = {};
  const certain: Record<string, number> = {};
  const wrong: unknown[] = [];
  let logged = 0;
  for (const request of lost) {
    const verdict = verdicts.get(request.target);
    if (verdict === undefined) continue;
    logged += 1;
    count(blamed, verdict.cause);
    if (verdict.confidence === "certain") count(certain, verdict.cause);
    if (!isAsTheLedgers(request, verdict)) wrong.push({ request, verdict });
  }
  expect(wrong.slice(0, 3)).toEqual([]);
  return { lost: lost.length, logged, blamed, certain };
}

function count(counts: Record<string, number>, cause: string): void {
  counts[cause] = (counts[cause] ?? 0) + 1;
}

interface Verdict {
  readonly cause: string;
  readonly confidence: string;
  readonly text: readonly unknown[];
  readonly tries: readonly VerdictTry[];
}

interface VerdictTry {
  readonly address: string;
  readonly cause: string;
  readonly uid: string | undefined;
  readonly sent: Span | undefined;
  /** When its container had ended, if that is what it rests on. */
  readonly ended: Span | undefined;
}

/** Both sides of a millisecond are rounded, and real messages take some. */
const slackMs = 50;

function isAsTheLedgers({ tries, tookMs }: LostRequest, verdict: Verdict): boolean {
  if (tries.length === 0) return verdict.tries.length === 0 && !stale.has(verdict.cause);
  const anyDead = tries.some((one) => !one.wasAlive && !one.isAliveAfter);
  if (anyDead !== stale.has(verdict.cause) && tries.every(isClear)) return false;
  return tries.every((tried) => {
    const said = verdict.tries.find(({ address }) => address === tried.address);
    if (said === undefined || said.uid !== (tried.podUid ?? said.uid)) return false;
    if (!isClear(tried)) return true;
    return stale.has(said.cause) === !tried.wasAlive && isInTime(tried, said, tookMs);
  });
}

/** How long it had been dead lies between the bounds; the try came at most so long after sending. */
function isInTime({ deadForMs }: LostTry, { sent, ended }: VerdictTry, tookMs: number): boolean {
  if (deadForMs === null || sent === undefined || ended === undefined) return true;
  const { leastMs, mostMs } = lengthOf(ended, sent);
  return deadForMs <= mostMs + slackMs && deadForMs + tookMs >= leastMs - slackMs;
}

/** Dead or alive all the while; in between the ledger cannot say when it was tried. */
function isClear({ wasAlive, isAliveAfter }: LostTry): boolean {
  return wasAlive === isAliveAfter;
}

async function truthOf({ files }: Environment, folder: string): Promise<readonly LostRequest[]> {
  const content = await files.read(`${folder}/truth/lost-requests.jsonl`);
  const lines = Buffer.from(content ?? [])
    .toString("utf8")
    .split("\n");
  return lines.filter((line) => line !== "").map((line): LostRequest => JSON.parse(line));
}

async function verdictsOf(
  environment: Environment,
  folder: string,
  side: string,
): Promise<ReadonlyMap<string, Verdict>> {
  const names = await environment.files.list(`${folder}/access`);
  const logs = names.filter((name) => name.startsWith(`${side}-`));
  const args = logs.flatMap((name) => ["--access-log", `${folder}/access/${name}`]);
  const recording = ["--recording", `${folder}/recording/recording.jsonl`];
  const asked = ["blame", ...args, ...recording, "--status", statuses, "--json", "--skew", "0"];
  const out = await printed(environment, asked);
  return new Map(out.flatMap(verdictOf));
}

function verdictOf(line: string): readonly (readonly [string, Verdict])[] {
  const record: unknown = line === "" ? undefined : JSON.parse(line);
  if (!isRecord(record) || record["type"] !== "verdict") return [];
  const tries = listAt(record, "tries")
    .filter(isRecord)
    .map((one) => ({
      address: requiredString(one, "address"),
      cause: requiredString(one, "cause"),
      uid: isRecord(one["pod"]) ? optionalString(one["pod"], "uid") : undefined,
      sent: spanOf(one["sent"]),
      ended: spanOf(one["dead"], "ended"),
    }));
  const cause = requiredString(record, "cause");
  const confidence = requiredString(record, "confidence");
  const text = listAt(record, "text");
  return [[requiredString(record, "target"), { cause, confidence, text, tries }]];
}

function spanOf(value: unknown, what?: string): Span | undefined {
  if (!isRecord(value) || value["what"] !== what) return undefined;
  const ms = (field: string): number => Date.parse(requiredString(value, field));
  return { fromMs: ms("from"), toMs: ms("to") };
}

async function printed(environment: Environment, args: readonly string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  expect(await runProgram({ environment, terminal, stop }, "1.2.3", args)).toBe(0);
  return terminal.out.split("\n");
}
