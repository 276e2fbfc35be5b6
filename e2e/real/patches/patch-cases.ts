// The same random patches sent to two API servers, and where their answers differ. Each patch is a
// dry run on the same object, so that all of them start from the same state.
import { sameJson } from "../../../src/kube/kinds/same-json.ts";
import type { ContractServer } from "../../contract/run-case.ts";
import { type JsonObject, patchBases } from "./patch-bases.ts";
import { PatchMaker, type RandomPatch } from "./random-patches.ts";

export interface PatchComparison {
  /** The one that is judged. */
  readonly ours: ContractServer;
  readonly theirs: ContractServer;
  readonly seed: number;
  readonly count: number;
}

export interface PatchDifference extends RandomPatch {
  readonly ours: PatchAnswer;
  readonly theirs: PatchAnswer;
}

export interface PatchAnswer {
  readonly status: number;
  /** The object, or the message of a refusal. */
  readonly body: unknown;
  /** About unknown and repeated fields. */
  readonly warnings: string;
}

export interface PatchReport {
  readonly compared: number;
  /** How many the judging server applied. */
  readonly applied: number;
  readonly differences: readonly PatchDifference[];
}

export async function comparePatches(options: PatchComparison): Promise<PatchReport> {
  const { ours, theirs, seed, count } = options;
  for (const base of Object.values(patchBases)) {
    await create(ours, base.collection, base.object);
    await create(theirs, base.collection, base.object);
  }
  const maker = new PatchMaker(seed);
  const differences: PatchDifference[] = [];
  let applied = 0;
  for (let index = 0; index < count; index++) {
    const patch = maker.next();
    const [own, their] = await Promise.all([send(ours, patch), send(theirs, patch)]);
    applied += their.status === 200 ? 1 : 0;
    if (!isSameAnswer(own, their) && !(await saysSameAtTimes(theirs, patch, own))) {
      differences.push({ ...patch, ours: own, theirs: their });
    }
  }
  return { compared: count, applied, differences };
}

/** How often a patch with several mistakes is asked about: each answer names one of them. */
const maxTries = 12;

/** The real server goes through the fields of a patch in an order of chance. */
async function saysSameAtTimes(
  server: ContractServer,
  patch: RandomPatch,
  wanted: PatchAnswer,
): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries++) {
    if (isSameAnswer(wanted, await send(server, patch))) return true;
  }
  return false;
}

/**
 * Which fields are invalid is for other comparisons, and which of several mistyped values is named
 * depends on the order of fields; here it must be the same kind of refusal.
 */
function isSameAnswer(ours: PatchAnswer, theirs: PatchAnswer): boolean {
  if (ours.status !== theirs.status) {
    return false;
  }
  const isInvalid = theirs.status === 422 && isAboutPatch(ours) === isAboutPatch(theirs);
  return isInvalid || (sameJson(ours.body, theirs.body) && ours.warnings === theirs.warnings);
}

function isAboutPatch({ body }: PatchAnswer): boolean {
  return typeof body === "string" && body.includes("patch: Invalid value");
}

async function create(server: ContractServer, collection: string, object: JsonObject) {
  const { status, text } = await call(server, "POST", collection, "application/json", object);
  if (status !== 201 && status !== 409) throw new Error(`${collection}: ${status} ${text}`);
}

async function send(server: ContractServer, patch: RandomPatch): Promise<PatchAnswer> {
  const path = `${patchBases[patch.base]?.collection}/patched?dryRun=All`;
  const reply = await call(server, "PATCH", path, patch.contentType, patch.patch);
  const json = JSON.parse(reply.text) as JsonObject;
  return {
    status: reply.status,
    body: reply.status === 200 ? content(json) : shownProblem(String(json["message"])),
    warnings: fieldWarnings(reply.warnings),
  };
}

/** Those about the patch; a server may have other advice about the object. */
function fieldWarnings(header: string): string {
  const warnings = header.match(/299 - "(?:[^"\\]|\\.)*"/g) ?? [];
  return warnings.filter((warning) => /(unknown|duplicate) field/.test(warning)).join(", ");
}

/** Without what every server makes up for itself. */
function content(object: JsonObject): unknown {
  const { metadata, status: _status, ...rest } = object;
  const { labels, annotations, finalizers } = metadata as JsonObject;
  return { ...rest, metadata: { labels, annotations, finalizers } };
}

/**
 * Servers write the patched object into some refusals, each with its own order of fields, or the
 * patch itself with what is already done taken out of it.
 */
function shownProblem(message: string): string {
  return message
    .replace(
      /^ "" is invalid: patch: Invalid value: "(\{|map\[).*[}\]]": /,
      "patch: Invalid value: ",
    )
    .replace(/^(list element types are not identical:|unknown patch type: .* in map:) .*/, "$1");
}

async function call(
  { environment, url, token, tls }: ContractServer,
  method: string,
  path: string,
  contentType: string,
  body: unknown,
): Promise<{ readonly status: number; readonly text: string; readonly warnings: string }> {
  const response = await environment.network.request({
    method,
    url: url + path,
    headers: { authorization: `Bearer ${token}`, "content-type": contentType },
    body: Buffer.from(JSON.stringify(body), "utf8"),
    ...(tls === undefined ? {} : { tls }),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return { status: response.status, text, warnings: response.headers["warning"] ?? "" };
}
