// Asks two servers the same and says where their answers differ, when what must differ (times, uids,
// versions) is left out. Refusals are compared by their causes, whose order is not fixed.
import type { ContractServer } from "../../contract/run-case.ts";

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
}

/** The difference; undefined if there is none. */
export async function compareAnswers(
  name: string,
  { ours, theirs }: AskedServers,
  question: Question,
): Promise<Difference | undefined> {
  const [embedded, real] = await Promise.all([ask(ours, question), ask(theirs, question)]);
  return JSON.stringify(embedded) === JSON.stringify(real)
    ? undefined
    : { name, ours: embedded, theirs: real };
}

/** The answer without what each server decides for itself. */
export async function ask(server: ContractServer, question: Question): Promise<unknown> {
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

function shown(text: string): object {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return { text };
  }
  if (!isRecord(answer) || answer["kind"] !== "Status") return { object: sorted(answer) };
  const details = isRecord(answer["details"]) ? answer["details"] : {};
  const causes = Array.isArray(details["causes"]) ? details["causes"].map(causeText).sort() : [];
  const message = causes.length > 1 ? "several causes" : plain(String(answer["message"]));
  return { reason: answer["reason"], message, causes };
}

function causeText(cause: unknown): string {
  const { reason, field, message } = isRecord(cause) ? cause : {};
  return plain(`${String(reason)} ${String(field)}: ${String(message)}`);
}

/** The type of `self` has a name by chance, and so has an object without one. */
function plain(text: string): string {
  return text.replace(/selfType\d+/g, "self");
}

/** Set by each server alone. */
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
