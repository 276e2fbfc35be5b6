// The trace of a slow request in the log of an API server. In the lab a request is slow because of
// an injected delay, which stands for the storage, so the trace has the time in that step. There
// have been three layouts (k8s.io/apiserver/pkg/util/trace, since 1.14 k8s.io/utils/trace);
// continuation lines have no header.
import type { WallMs } from "../../environment/clock.ts";
import { goDuration } from "../../environment/go-duration.ts";
import type { ResourceRoute } from "../http/route.ts";

export interface TraceForm {
  /** `trace.go:76`. */
  readonly source: string;
  /** `plain` in 1.7, `numbered` to 1.15, `fields` to 1.18, `dated` since. */
  readonly layout: "plain" | "numbered" | "fields" | "dated";
  readonly verbosity: number;
}

export interface TracedRequest {
  readonly verb: ResourceRoute["verb"];
  /** Without the query. */
  readonly path: string;
  /** `client:10.0.0.1`, in the order of the version; only the newer layouts show them. */
  readonly fields: readonly string[];
  readonly startedAt: WallMs;
  /** Since the process started, at the start of the request. */
  readonly startedMonotonicMs: number;
  readonly elapsedMs: number;
  /** Of a list. */
  readonly items: number;
  /** The size of the body, in bytes. */
  readonly length: number;
  readonly number: number;
}

/** endpoints/handlers: LogIfLong(500 * time.Millisecond), in every version. */
export const traceThresholdMs = 500;

/** Undefined for verbs that no version traces. */
export function traceText(request: TracedRequest, form: TraceForm): string | undefined {
  const name = names[request.verb];
  if (name === undefined) return undefined;
  const steps = stepsOf(request, form);
  if (steps.length === 0) return undefined;
  switch (form.layout) {
    case "plain":
      return plainTrace(`${name} ${request.path}`, request, steps);
    case "numbered":
      return numberedTrace(`${JSON.stringify(`${name} ${request.path}`)} `, request, steps);
    case "fields":
      return numberedTrace(`"${name}" ${request.fields.join(",")} `, request, steps);
    case "dated":
      return datedTrace(name, request, steps);
  }
}

const names: Readonly<Partial<Record<ResourceRoute["verb"], string>>> = {
  get: "Get",
  list: "List",
  create: "Create",
  update: "Update",
  patch: "Patch",
  delete: "Delete",
  deletecollection: "Delete",
};

interface Step {
  readonly text: string;
  /** Since the start. */
  readonly atMs: number;
}

/**
 * In handlers/{get,create,update,delete,patch}.go of each version; steps of its body are left out.
 */
function stepsOf(request: TracedRequest, { layout }: TraceForm): readonly Step[] {
  const { verb, elapsedMs, items, length } = request;
  const before = (text: string): Step => ({ text, atMs: 0 });
  const after = (text: string): Step => ({ text, atMs: elapsedMs });
  const isOld = layout === "plain" || layout === "numbered";
  const isDated = layout === "dated";
  switch (verb) {
    case "get":
      return [before("About to Get from storage"), after("About to write a response")];
    case "list":
      return [
        before("About to List from storage"),
        after("Listing from storage done"),
        ...(isOld ? [after("Self-linking done")] : []),
        after(`Writing http response done${isOld ? ` (${items} items)` : ` count:${items}`}`),
      ];
    case "create":
    case "update":
      return [
        before("About to convert to expected version"),
        before("Conversion done"),
        before("About to store object in database"),
        after(
          isDated ? `Write to database call succeeded len:${length}` : "Object stored in database",
        ),
        ...(isOld ? [after("Self-link added")] : []),
      ];
    case "patch":
      if (isOld) return [];
      return [before("About to apply patch"), after("Object stored in database")];
    case "delete":
    case "deletecollection": {
      const about = layout === "plain" ? "About do delete" : "About to delete";
      return [before(`${about} object from database`), after("Object deleted from database")];
    }
    case "watch":
      return [];
  }
}

function plainTrace(name: string, request: TracedRequest, steps: readonly Step[]): string {
  const title = JSON.stringify(name);
  const lines = timed(steps, 0).map(([at, took, text]) => `[${at}] [${took}] ${text}`);
  const total = goDuration(request.elapsedMs);
  return [
    `Trace ${title} (started ${goTime(request.startedAt)}):`,
    ...lines,
    `${title} [${total}] [0s] END`,
  ].join("\n");
}

function numberedTrace(title: string, request: TracedRequest, steps: readonly Step[]): string {
  const { number, startedAt, startedMonotonicMs, elapsedMs } = request;
  const started = `${goTime(startedAt)} m=+${(startedMonotonicMs / 1000).toFixed(9)}`;
  const head = `Trace[${number}]: `;
  const shown = timed(steps, shareMs(steps));
  return [
    `${head}${title}(started: ${started}) (total time: ${goDuration(elapsedMs)}):`,
    ...shown.map(([at, took, text]) => `${head}[${at}] [${took}] ${text}`),
  ].join("\n");
}

function datedTrace(name: string, request: TracedRequest, steps: readonly Step[]): string {
  const { number, fields, startedAt, elapsedMs } = request;
  const head = `Trace[${number}]: `;
  const date = new Date(startedAt);
  const day = `${two(date.getUTCDate())}-${months[date.getUTCMonth()]}-${date.getUTCFullYear()}`;
  const total = goDuration(elapsedMs);
  return [
    `${head}"${name}" ${fields.join(",")} (${day} ${timeOfDay(startedAt)}) ` +
      `(total time: ${Math.floor(elapsedMs)}ms):`,
    ...slow(steps, shareMs(steps)).map(({ text, atMs, tookMs }) => {
      const [, message = text, values = ""] = /^(.*?)( (?:len|count):\d+)$/.exec(text) ?? [];
      const at = timeOfDay(startedAt + atMs);
      return `${head}---${JSON.stringify(message)}${values} ${Math.floor(tookMs)}ms (${at})`;
    }),
    `${head}[${total}] [${total}] END`,
  ].join("\n");
}

/** A step that took less than its share of the threshold is left out. */
function shareMs(steps: readonly Step[]): number {
  return traceThresholdMs / (steps.length + 1);
}

function slow(steps: readonly Step[], leastMs: number) {
  return steps
    .map((step, index) => ({ ...step, tookMs: step.atMs - (steps[index - 1]?.atMs ?? 0) }))
    .filter(({ tookMs }) => leastMs === 0 || tookMs > leastMs);
}

function timed(steps: readonly Step[], leastMs: number) {
  return slow(steps, leastMs).map(
    ({ text, atMs, tookMs }) => [goDuration(atMs), goDuration(tookMs), text] as const,
  );
}

/** `2026-01-02 03:04:05.678 +0000 UTC`, as Go prints a time. */
function goTime(at: number): string {
  const text = new Date(at).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, -1).replace(/\.?0+$/, "")} +0000 UTC`;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function timeOfDay(at: number): string {
  return new Date(at).toISOString().slice(11, -1);
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
