import { expect, test } from "vitest";
import {
  environment,
  record,
  texts,
  withFolder,
  writerOf,
} from "../../tests/history/history-world.ts";
import { HistoryReader } from "../history/history-reader.ts";
import type { Journey, Journeys } from "./api.ts";
import { type Filter, journeyPage } from "./journey-query.ts";

function answerOf(number: number): Journey {
  const { hops, ...rest } = record(number);
  return { ...rest, hops: [...hops] };
}

/** The ids of every page, each page a list. */
async function pagesOf(
  filter: Filter,
  { inMemory, inHistory }: { inMemory: readonly number[]; inHistory: readonly number[] },
): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = [];
  await withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path);
    const kept = inHistory.map((one) => record(one, one % 2 === 0 ? { service: "shop/cart" } : {}));
    writer.write(texts(...kept));
    const history = await HistoryReader.open({ files: environment.files, path });
    const journeys = inMemory.map((one) => ({
      ...answerOf(one),
      ...(one % 2 === 0 && { service: "shop/cart" }),
    }));
    let before: string | undefined;
    do {
      const asked = before === undefined ? filter : { ...filter, before };
      const page: Journeys | undefined = journeyPage(asked, { journeys, history, nowMs: 0 });
      pages.push((page?.journeys ?? []).map(({ id }) => id));
      before = page?.next ?? undefined;
    } while (before !== undefined);
    history.close();
    writer.close();
  });
  return pages;
}

test("pages go from memory to the history without a gap or a repetition", async () => {
  const both = { inMemory: [5, 6, 7], inHistory: [1, 2, 3, 4, 5, 6] };
  expect(await pagesOf({ limit: 2 }, both)).toEqual([
    ["run-7", "run-6"],
    ["run-5", "run-4"],
    ["run-3", "run-2"],
    ["run-1"],
  ]);
});

test("filters hold in the history as well", async () => {
  const both = { inMemory: [7, 8], inHistory: [1, 2, 3, 4, 5, 6] };
  expect(await pagesOf({ service: "shop/cart" }, both)).toEqual([
    ["run-8", "run-6", "run-4", "run-2"],
  ]);
  expect(await pagesOf({ minLagMs: 36 }, both)).toEqual([[]]);
  expect((await pagesOf({ minLagMs: 35, hop: "routed" }, both))[0]).toHaveLength(8);
  expect((await pagesOf({ minLagMs: 35, hop: "published" }, both))[0]).toHaveLength(0);
  expect(await pagesOf({ id: "run-3" }, both)).toEqual([["run-3"]]);
});
