// Sends the same request to two servers and compares the answers without times, uids and versions.
// Refusals are compared by their causes, whose order is not fixed.
import type { ContractServer } from "../../contract/run-case.ts";
import { type KnownRuleDifference, knownCauses } from "./known-differences.ts";

export interface AskedServers {
  readonly ours: ContractServer;
  readonly theirs: ContractServer;
}

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

export interface Difference {
  readonly name: string;
  readonly ours: unknown;
  readonly theirs: unknown;
  /** The known differences that explain it; none when it is a finding. */
  readonly known: readonly KnownRuleDifference[];
}

/** Undefined when the answers are the same. */
export async function compareAnswers(
  name: string,
  { ours, theirs }: AskedServers,
  question: Question,
): Promise<Difference | undefined> {
  const [embedded, real] = await Promise.all([ask(ours, question), ask(theirs, question)]);
  if (JSON.stringify(embedded) === JSON.stringify(real)) return undefined;
  const known = knownCauses.filter(({ pattern }) => real.causes.some((one) => pattern.test(one)));
  return { name, ours: embedded, theirs: real, known: isExplained(embedded, real) ? known : [] };
}

/** Whether known differences of causes are the only ones. */
function isExplained(ours: Answer, theirs: Answer): boolean {
  const rests = restsOf(theirs);
  if (theirs.causes.length > 0 && rests.length === 0) return ours.status < 300;
  const kept = ({ status, warning, reason }: Answer) => [status, warning, reason];
  return JSON.stringify([kept(ours), restsOf(ours)]) === JSON.stringify([kept(theirs), rests]);
}

function restsOf({ causes }: Answer): readonly string[] {
  return causes
    .map((cause) =>
      knownCauses.reduce((text, known) => text.replace(known.pattern, known.rest), cause),
    )
    .filter((rest) => rest !== "")
    .sort();
}

interface Answer {
  readonly status: number;
  readonly warning: string | undefined;
  /** Of a refusal. */
  readonly reason?: unknown;
  readonly message?: string;
  readonly causes: readonly string[];
  readonly object?: unknown;
  /** Of an answer that is no JSON. */
  readonly text?: string;
}

/** The answer without the fields that each server sets for itself. */
export async function ask(server: ContractServer, question: Question): Promise<Answer> {
  const { environment, url, token, tls } = server;
  const { method, path, body, contentType = "application/json" } = question;
  const response = await environment.network.request({
    method,
    url: `${url}${path}`,
    headers: { authorization: `Bearer ${token}`, "content-type": contentType },
    ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body), "utf8") }),
    ...(tls === undefined ? {} : { tls }),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return { status: response.status, warning: response.headers["warning"], ...shown(text) };
}

function shown(text: string): Omit<Answer, "status" | "warning"> {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return { text, causes: [] };
  }
  if (!isRecord(answer) || answer["kind"] !== "Status") {
    return { object: sorted(answer), causes: [] };
  }
  const details = isRecord(answer["details"]) ? answer["details"] : {};
  const causes = Array.isArray(details["causes"]) ? details["causes"].map(causeText).sort() : [];
  const message = causes.length > 1 ? "several causes" : plain(String(answer["message"]));
  return { reason: answer["reason"], message, causes };
}

function causeText(cause: unknown): string {
  const { reason, field, message } = isRecord(cause) ? cause : {};
  return plain(`${String(reason)} ${String(field)}: ${String(message)}`);
}

/** The real server numbers the types of `self`. */
function plain(text: string): string {
  return text.replace(/selfType\d+/g, "self");
}

/** Fields that each server sets for itself. */
const ownFields = new Set([
  "creationTimestamp",
  "deletionTimestamp",
  "lastTransitionTime",
  "managedFields",
  "resourceVersion",
  "time",
  "uid",
]);

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([field]) => !ownFields.has(field));
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([field, own]) => [field, sorted(own)]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
