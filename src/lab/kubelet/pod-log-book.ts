// The standard output of the programs in a cluster's pods: the node keeps it, the API server serves
// it. It is bounded per pod and removed with the pod. The previous run stays readable, because
// users want to see why it crashed.

import type { PodLogRequest, PodLogs } from "../../components/pod-logs.ts";
import { type Clock, toMicroTime, type WallMs } from "../../environment/clock.ts";
import type { BodyWriter } from "../../environment/network.ts";

/** Enough to see a story; a pod under load writes a line for each request. */
const linesPerRunMax = 2_000;

interface Line {
  readonly at: WallMs;
  readonly text: string;
}

interface PodLines {
  current: Line[];
  previous: Line[];
  /** Those who follow the present run. */
  readonly followers: Set<(line: Line) => void>;
  /** Called when the pod is gone. */
  readonly closers: Set<() => void>;
}

export class PodLogBook implements PodLogs {
  readonly #clock: Clock;
  readonly #pods = new Map<string, PodLines>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /** The containers begin a new run. */
  beginRun(podUid: string): void {
    const known = this.#pods.get(podUid);
    if (known === undefined) {
      const none = { followers: new Set<never>(), closers: new Set<never>() };
      this.#pods.set(podUid, { current: [], previous: [], ...none });
      return;
    }
    known.previous = known.current;
    known.current = [];
  }

  append(podUid: string, text: string): void {
    const lines = this.#pods.get(podUid);
    if (lines === undefined) return;
    const line = { at: this.#clock.wallMs(), text };
    lines.current.push(line);
    if (lines.current.length > linesPerRunMax) lines.current.shift();
    for (const follower of lines.followers) follower(line);
  }

  forget(podUid: string): void {
    const lines = this.#pods.get(podUid);
    this.#pods.delete(podUid);
    for (const close of lines?.closers ?? []) close();
  }

  async write(request: PodLogRequest, writer: BodyWriter, closed: AbortSignal): Promise<void> {
    const lines = this.#pods.get(request.uid);
    if (lines === undefined) return;
    const write = ({ at, text }: Line): void => {
      const stamp = request.timestamps ? `${toMicroTime(at)} ` : "";
      writer.write(Buffer.from(`${stamp}${text}\n`));
    };
    for (const line of this.#asked(request, lines)) write(line);
    if (request.follow && !request.previous) await follow(lines, write, closed);
  }

  #asked(request: PodLogRequest, lines: PodLines): readonly Line[] {
    const all = request.previous ? lines.previous : lines.current;
    const since =
      request.sinceSeconds === undefined
        ? all
        : all.filter(({ at }) => this.#clock.wallMs() - at <= (request.sinceSeconds ?? 0) * 1_000);
    const shown = request.tailLines ?? since.length;
    return since.slice(Math.max(0, since.length - shown));
  }
}

function follow(lines: PodLines, write: (line: Line) => void, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      lines.followers.delete(write);
      lines.closers.delete(end);
      closed.removeEventListener("abort", end);
      resolve();
    };
    if (closed.aborted) {
      resolve();
      return;
    }
    lines.followers.add(write);
    lines.closers.add(end);
    closed.addEventListener("abort", end, { once: true });
  });
}
