// What a node that really dies shows in `heartbeat-flap`: when it was noticed, and what it cost until
// nobody was sent there any more. Pure.

import type { Figure } from "../figure.ts";
import type { Measure } from "../incident.ts";
import type { LateNodes } from "./late-nodes.ts";
import type { DeadNode } from "./play.ts";

interface DeadPlay {
  readonly late: Pick<LateNodes, "graceMs">;
  readonly dead: DeadNode;
  /** The same with the grace period that is compared with. */
  readonly comparedDead: DeadNode | undefined;
}

/** The other side of a longer grace period: how much later a dead node is noticed. */
export function deadFigures({ late, dead, comparedDead }: DeadPlay): readonly Figure[] {
  const grace = `${late.graceMs / 1_000} s of grace`;
  const noticed = shown(
    "dead-node-noticed",
    `a dead node is noticed after, ${grace}`,
    dead.noticedMs,
  );
  const before = comparedDead?.noticedMs;
  if (before === undefined || dead.noticedMs === undefined) return [noticed];
  const laterMs = dead.noticedMs - before;
  return [
    noticed,
    shown("dead-node-noticed-before", "and before the fix", before),
    shown("dead-node-noticed-later", "the price of the fix: later by", laterMs),
  ];
}

/** What it meant for requests until nobody was sent there any more. */
export function deadMeasures({
  unroutedMs,
  allowedMs,
  sent,
  lost,
  slowed,
}: DeadNode): readonly Measure[] {
  const { stock, lockstep } = unroutedMs;
  return [
    {
      id: "dead-node-out-after",
      text: "a dead node's endpoints are out after",
      unit: "ms",
      stock,
      lockstep,
      goal: "after a failed request and two probes",
      held: lockstep !== undefined && lockstep <= allowedMs,
      isHeadline: true,
    },
    {
      id: "requests-sent-after-death",
      text: "requests sent after its death",
      unit: "requests",
      stock: sent.stock,
      lockstep: sent.lockstep,
      goal: undefined,
      held: true,
    },
    {
      id: "requests-lost-to-dead-node",
      text: "requests lost to it",
      unit: "requests",
      stock: lost.stock,
      lockstep: lost.lockstep,
      goal: "none",
      held: lost.lockstep === 0,
    },
    {
      id: "requests-slowed-by-dead-node",
      text: "and slowed by it, by 1 s or more",
      unit: "requests",
      stock: slowed.stock,
      lockstep: slowed.lockstep,
      goal: undefined,
      held: true,
    },
  ];
}

/** Nobody has said anything to compare it with. */
function shown(id: string, text: string, measured: number | undefined): Figure {
  return { id, text, unit: "ms", measured, expected: [] };
}
