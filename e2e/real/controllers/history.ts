// A random history of one namespace, as data: services, pods and what others do to the objects of
// the controllers, in steps. Each step changes one thing, so that once all is quiet the outcome does
// not hang on which of two changes a controller saw first. From one seed always the same history.
import { SeededRandom } from "../../../src/simulation/seeded-random.ts";
import { foreignMoves } from "./foreign-moves.ts";
import { podMoves } from "./pod-moves.ts";
import type { History, Move, Scene, Step } from "./scene.ts";
import { serviceMoves } from "./service-moves.ts";

const moves: readonly Move[] = [...serviceMoves, ...podMoves, ...foreignMoves];

/** Draws before a step is left empty: most moves are possible in most scenes. */
const tries = 50;

export interface HistoryOptions
  extends Pick<Scene, "allowsAlwaysWritten" | "hasMissingNode" | "hasTopology"> {
  readonly seed: number;
  readonly number: number;
  readonly steps: number;
}

export function randomHistory({ seed, number, steps, ...kind }: HistoryOptions): History {
  const namespace = `case-${number}`;
  const scene: Scene = {
    ...kind,
    namespace,
    random: new SeededRandom({ seed, name: namespace }),
    services: new Map(),
    pods: new Map(),
    counter: 0,
  };
  return { namespace, steps: Array.from({ length: steps }, () => nextStep(scene)) };
}

function nextStep(scene: Scene): Step {
  const total = moves.reduce((sum, { weight }) => sum + weight, 0);
  for (let attempt = 0; attempt < tries; attempt += 1) {
    let left = scene.random.next() * total;
    const move = moves.find(({ weight }) => {
      left -= weight;
      return left < 0;
    });
    const step = move?.make(scene);
    if (step !== undefined) return step;
  }
  return { title: "nothing", operations: [] };
}
