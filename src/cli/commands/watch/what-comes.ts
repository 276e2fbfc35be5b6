// Asks the clusters what will be read of them, and says it before it begins. One that does not answer
// in time keeps nobody waiting: it is said of it that it does not.
import { setMaxListeners } from "node:events";
import { visible } from "../../../decide/routing/shown-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { ClusterPermissions } from "../../../observe/permissions.ts";
import type { ClusterPreview } from "../../../observe/preview.ts";
import { paintFor } from "../../terminal/paint.ts";
import { clusterAt, startLines } from "./start-lines.ts";

export interface WhatComesOptions extends Pick<Environment, "timers"> {
  readonly terminal: Terminal;
  readonly stop: AbortSignal;
  /** Answered by the time the signal aborts, as far as the clusters answer. */
  readonly preview: (signal: AbortSignal) => Promise<readonly ClusterPreview[]>;
  readonly permissions: (signal: AbortSignal) => Promise<readonly ClusterPermissions[]>;
  readonly clusters: number;
  /** Where their API servers are, by the cluster's name; one that is slow is named by it. */
  readonly servers?: ReadonlyMap<string, string>;
  /** Contexts that are not read, each in one sentence. */
  readonly leftOut: readonly string[];
  /** What can be read where somebody else runs the control plane. */
  readonly closing: string;
}

/** Who waits for longer must know for whom. */
const askingAfterMs = 1_000;

/** A slow API server must not keep it from beginning. */
const previewWithinMs = 15_000;

/** Nor must one of several that hangs keep the others waiting. */
const previewOfSeveralWithinMs = 5_000;

export async function whatComes(options: WhatComesOptions): Promise<readonly string[]> {
  const { timers, terminal, stop, clusters, servers, leftOut, closing } = options;
  const patience = new AbortController();
  const patienceMs = clusters === 1 ? previewWithinMs : previewOfSeveralWithinMs;
  const cancel = timers.after(patienceMs, () =>
    patience.abort(new Error("counting the objects takes too long")),
  );
  const cancelAsking = timers.after(askingAfterMs, () => sayAsking(options));
  const signal = AbortSignal.any([stop, patience.signal]);
  // Every request under way listens to it, and there are some for each kind in each cluster.
  setMaxListeners(0, signal);
  try {
    const [previews, permissions] = await Promise.all([
      options.preview(signal),
      options.permissions(signal),
    ]);
    const shown = { width: terminal.columns, paint: paintFor(terminal), servers, closing };
    const notRead = leftOut.map((sentence) => `! ${visible(sentence)}`);
    return [...notRead, ...startLines(previews, permissions, shown)];
  } finally {
    cancel();
    cancelAsking();
  }
}

function sayAsking({ terminal, servers = new Map() }: WhatComesOptions): void {
  for (const [cluster, server] of servers) {
    terminal.writeError(`${visible(clusterAt(cluster, server))}: counting objects …\n`);
  }
}
