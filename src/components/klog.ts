// The log of a Kubernetes component, in klog's format and bounded: the newest lines are kept, as a
// container runtime keeps the newest part of a file. It is what `kubectl logs` shows of the
// component's pod, and must read like the real thing.
import type { Clock, WallMs } from "../environment/clock.ts";

export interface KlogOptions {
  readonly clock: Clock;
  readonly pid?: number;
}

export interface KlogLine {
  readonly at: WallMs;
  readonly text: string;
}

export type Severity = "I" | "W" | "E" | "F";

export type KlogValues = Readonly<Record<string, string | number | boolean>>;

/** About 2 MB of long lines: some minutes of a throttled controller at verbosity 4. */
export const keptLinesMax = 10_000;

/** In a container the component is the first process. */
const containerPid = 1;

const pidWidth = 7;

export class Klog {
  readonly #clock: Clock;
  readonly #pid: number;
  /** A ring: `#oldest` is where the next line goes once it is full. */
  readonly #lines: KlogLine[] = [];
  #oldest = 0;
  readonly #followers = new Set<(line: KlogLine) => void>();

  constructor(options: KlogOptions) {
    this.#clock = options.clock;
    this.#pid = options.pid ?? containerPid;
  }

  /** `source` is `file.go:line`. */
  write(severity: Severity, source: string, message: string): void {
    const at = this.#clock.wallMs();
    const pid = String(this.#pid).padStart(pidWidth);
    this.add({ at, text: `${severity}${klogTime(at)} ${pid} ${source}] ${message}` });
  }

  /** A line that the component has written elsewhere. */
  add(line: KlogLine): void {
    if (this.#lines.length < keptLinesMax) {
      this.#lines.push(line);
    } else {
      this.#lines[this.#oldest] = line;
      this.#oldest = (this.#oldest + 1) % keptLinesMax;
    }
    for (const follower of this.#followers) follower(line);
  }

  /** Oldest first. */
  lines(): readonly KlogLine[] {
    return [...this.#lines.slice(this.#oldest), ...this.#lines.slice(0, this.#oldest)];
  }

  /** Calls back with every later line until the returned function is called. */
  follow(follower: (line: KlogLine) => void): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }
}

/** `"Message" key="text" number=3`: how structured logging writes a message. */
export function structured(message: string, values: KlogValues): string {
  const pairs = Object.entries(values).map(
    ([key, value]) => ` ${key}=${typeof value === "string" ? JSON.stringify(value) : value}`,
  );
  return `${JSON.stringify(message)}${pairs.join("")}`;
}

/** `1115 08:44:08.234330`, in UTC: month, day and time to the microsecond, without a year. */
function klogTime(at: WallMs): string {
  const date = new Date(Math.floor(at));
  const micros = Math.floor((at - Math.floor(at)) * 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const clock = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(":");
  const fraction = String(date.getUTCMilliseconds() * 1000 + micros).padStart(6, "0");
  return `${two(date.getUTCMonth() + 1)}${two(date.getUTCDate())} ${clock}.${fraction}`;
}
