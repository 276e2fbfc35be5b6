// The behaviour of the program in a pod, from the pod's annotations. An invalid value is ignored
// and reported, with a correct example.
import { parseGoDuration } from "../../environment/go-duration.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";

/** `exit`: ends at once. `drain`: refuses new connections, finishes requests. `ignore`: goes on. */
export type OnTerm = "exit" | "drain" | "ignore";

export interface PodBehaviour {
  /** From the start until it can answer; before that it answers 503. */
  readonly readyAfterMs: number;
  readonly responseTimeMs: number;
  readonly onTerm: OnTerm;
  /** How long a draining program waits for requests under way. */
  readonly drainTimeMs: number;
  /** From the start until it ends by itself; undefined for never. */
  readonly crashAfterMs: number | undefined;
  /** The status of each answer. */
  readonly status: number;
}

export const behaviourPrefix = "lab.lockstep.dev/";

const defaultBehaviour: PodBehaviour = {
  readyAfterMs: 0,
  responseTimeMs: 0,
  onTerm: "drain",
  drainTimeMs: 20_000,
  crashAfterMs: undefined,
  status: 200,
};

/** A week: longer than any run, and well inside what a timer can hold. */
const longestDurationMs = 7 * 24 * 3_600_000;

const asDuration = "a duration such as 250ms, 2s or 1m30s, at most 168h";

export interface ReadBehaviour {
  readonly behaviour: PodBehaviour;
  /** One sentence for each annotation that is not followed. */
  readonly problems: readonly string[];
}

export function readBehaviour(annotations: StringMap): ReadBehaviour {
  const problems: string[] = [];
  const read = <Value>(
    name: string,
    expected: string,
    parse: (text: string) => Value | undefined,
  ): Value | undefined => {
    const text = annotations[`${behaviourPrefix}${name}`];
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) {
      const shown = JSON.stringify(text);
      problems.push(
        `The annotation ${behaviourPrefix}${name} is ${shown}; it should be ${expected}.`,
      );
    }
    return value;
  };
  const duration = (name: string): number | undefined => read(name, asDuration, parseDurationMs);
  const base = defaultBehaviour;
  const behaviour: PodBehaviour = {
    readyAfterMs: duration("ready-after") ?? base.readyAfterMs,
    responseTimeMs: duration("response-time") ?? base.responseTimeMs,
    onTerm: read("on-term", "exit, drain or ignore", parseOnTerm) ?? base.onTerm,
    drainTimeMs: duration("drain-time") ?? base.drainTimeMs,
    crashAfterMs: duration("crash-after") ?? base.crashAfterMs,
    status: read("status", "a status from 200 to 599", parseStatus) ?? base.status,
  };
  reportUnknown(annotations, problems);
  return { behaviour, problems };
}

const knownNames = [
  "ready-after",
  "response-time",
  "on-term",
  "drain-time",
  "crash-after",
  "status",
];

/** A misspelt name would otherwise look as if it had been followed. */
function reportUnknown(annotations: StringMap, problems: string[]): void {
  for (const key of Object.keys(annotations)) {
    if (!key.startsWith(behaviourPrefix)) continue;
    if (knownNames.includes(key.slice(behaviourPrefix.length))) continue;
    problems.push(`The annotation ${key} is not known; known are ${knownNames.join(", ")}.`);
  }
}

function parseDurationMs(text: string): number | undefined {
  const ms = parseGoDuration(text) ?? -1;
  return ms >= 0 && ms <= longestDurationMs ? ms : undefined;
}

function parseOnTerm(text: string): OnTerm | undefined {
  return text === "exit" || text === "drain" || text === "ignore" ? text : undefined;
}

function parseStatus(text: string): number | undefined {
  return /^[2-5]\d\d$/.test(text) ? Number(text) : undefined;
}
