// Plays histories on one side, all namespaces in step: a round applies the next step of each, waits
// until the controllers are quiet, and notes what they have published and in how many events.
import { type RawRecord, recordAt } from "../../../src/kube/kinds/fields.ts";
import type { History } from "./scene.ts";
import { inTurns, list, makeNodes, perform, type Side, send, slicesPath, Witness } from "./side.ts";
import { Meanings, type View, viewOf } from "./view.ts";

/** The state of a namespace after a round. */
export interface Scenery {
  /** Of each request of the step, the status it was answered with. */
  readonly answers: readonly number[];
  readonly view: View;
  /** Events of Endpoints and of slices. */
  readonly writes: string;
}

/** By round, and there by namespace. */
export type Played = readonly ReadonlyMap<string, Scenery>[];

export interface PlayOptions {
  readonly histories: readonly History[];
  /** Namespaces at a time. */
  readonly concurrency: number;
  /** The rounds before which the controllers are restarted. */
  readonly restartBefore: ReadonlySet<number>;
  /** Looks at the objects as they are, once in each round. */
  readonly onRound?: (objects: Published) => void;
  /** When all has been played. */
  readonly onEnd?: (witness: Witness) => Promise<void>;
}

export interface Published {
  readonly endpoints: readonly RawRecord[];
  readonly slices: readonly RawRecord[];
}

export async function play(side: Side, options: PlayOptions): Promise<Played> {
  const { histories, concurrency } = options;
  const { client } = side;
  const meanings = new Meanings();
  const witness = new Witness(side);
  const played: Map<string, Scenery>[] = [];
  await makeNodes(client);
  await inTurns(histories, concurrency, async ({ namespace }) => {
    await send(client, "POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  });
  await witness.start();
  await side.settle(witness);
  witness.take();
  try {
    const rounds = Math.max(...histories.map(({ steps }) => steps.length));
    for (let round = 0; round < rounds; round += 1) {
      if (options.restartBefore.has(round)) {
        await side.restart();
        await side.settle(witness);
        witness.take();
      }
      const answers = new Map<string, number[]>();
      await inTurns(histories, concurrency, async ({ namespace, steps }) => {
        const own: number[] = [];
        answers.set(namespace, own);
        const { operations = [], isUnordered = false } = steps[round] ?? {};
        await inTurns(operations, isUnordered ? concurrency : 1, async (operation) => {
          const answer = await perform(client, operation);
          meanings.learn(answer);
          own.push(answer.status);
        });
      });
      await side.settle(witness);
      const published = await publishedBy(side);
      options.onRound?.(published);
      played.push(sceneries(histories, { answers, writes: witness.take(), published, meanings }));
    }
    await options.onEnd?.(witness);
  } finally {
    await witness.stop();
  }
  return played;
}

async function publishedBy({ client }: Side): Promise<Published> {
  return {
    endpoints: await list(client, "/api/v1/endpoints"),
    slices: await list(client, slicesPath),
  };
}

function sceneries(
  histories: readonly History[],
  of: {
    readonly answers: ReadonlyMap<string, readonly number[]>;
    readonly writes: ReadonlyMap<string, number>;
    readonly published: Published;
    readonly meanings: Meanings;
  },
): Map<string, Scenery> {
  const { answers, writes, published, meanings } = of;
  const endpoints = byNamespace(published.endpoints);
  const slices = byNamespace(published.slices);
  return new Map(
    histories.map(({ namespace }) => {
      const count = (kind: string) => writes.get(`${namespace} ${kind}`) ?? 0;
      const own = [endpoints.get(namespace) ?? [], slices.get(namespace) ?? []] as const;
      const scenery: Scenery = {
        answers: answers.get(namespace) ?? [],
        view: viewOf(...own, meanings),
        writes: `Endpoints ${count("Endpoints")}, EndpointSlices ${count("EndpointSlice")}`,
      };
      return [namespace, scenery] as const;
    }),
  );
}

function byNamespace(objects: readonly RawRecord[]): ReadonlyMap<unknown, readonly RawRecord[]> {
  const found = new Map<unknown, RawRecord[]>();
  for (const object of objects) {
    const { namespace } = recordAt(object, "metadata");
    const own = found.get(namespace) ?? [];
    found.set(namespace, own);
    own.push(object);
  }
  return found;
}
