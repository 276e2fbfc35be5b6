import fc from "fast-check";
import { expect, test } from "vitest";
import { onPageStage } from "../../tests/page/page-stage.ts";
import { aliveLine, runLine } from "../recording/recording-line.ts";
import type { Recording } from "./api.ts";
import { UploadedRecordings } from "./uploaded-recording.ts";

const path = "/api/v1/recordings";
const headers = { "content-type": "application/octet-stream" };

/** The page reads recordings with the means of its own machine, which it has only once it runs. */
function onStage(run: Parameters<typeof onPageStage>[1]) {
  let uploads: UploadedRecordings | undefined;
  return onPageStage(
    {
      readRecording: async (body, signal) => {
        if (uploads === undefined) throw new Error("not started");
        return await uploads.read(body, signal);
      },
    },
    async (stage) => {
      uploads = new UploadedRecordings(stage.environment);
      await run(stage);
    },
  );
}

const header = runLine({ atMs: 1_000, run: "old", watched: undefined });
const alive = (atMs: number) => aliveLine({ atMs, behind: [] });
const late = Date.UTC(2300, 0, 1);

test.each([
  ["", /^422 This is not a recording/],
  ["a\nb\n", /^422 This is not a recording/],
  ["\u0000\u0001".repeat(1_000), /^422 This is not a recording/],
  [
    header.replace(/"version":\d+/, '"version":99'),
    /^422 The recording cannot be read: it has version 99/,
  ],
  // Each second of it would be looked at.
  [`${header}\n${alive(late)}\n`, /^422 The recording has a gap/],
  [`${header}\n${alive(2_000)}\n${alive(late)}\n`, /^422 The recording has a gap/],
])("file %# is refused with a sentence", (body, sentence) =>
  onStage(async ({ client }) => {
    expect(await client.problem("POST", path, { headers, body })).toMatch(sentence);
  }),
);

test("rubbish after a header is counted, whatever it is, and the server goes on", () =>
  onStage(async ({ client }) => {
    const line = fc.oneof(
      fc.string({ maxLength: 80 }),
      fc.json({ maxDepth: 3 }),
      fc.constantFrom(header, alive(2_000), "{}", '{"type":"change"}'),
    );
    const files = fc.sample(fc.array(line, { maxLength: 20 }), { numRuns: 60, seed: 3 });
    for (const lines of files) {
      const body = [header, ...lines].join("\n");
      const { status } = await client.send("POST", path, { headers, body });
      expect([200, 422], `${body}`).toContain(status);
    }
    const { notes } = await client.post<Recording>(path, Buffer.from(`${header}\nrubbish\n`));
    expect(notes).toEqual(["1 line could not be read."]);
    await client.get("/api/v1/state");
  }));

test("one recording at a time is read", () =>
  onStage(async ({ environment }) => {
    const uploads = new UploadedRecordings(environment);
    const body = Buffer.from(`${header}\n${"rubbish\n".repeat(5_000)}`);
    const { signal } = new AbortController();
    const first = uploads.read(body, signal);
    await expect(uploads.read(body, signal)).rejects.toMatchObject({ status: 503 });
    expect((await first).notes).toEqual(["5,000 lines could not be read."]);
    await uploads.read(body, signal);
  }));

test("a page that leaves ends the reading", () =>
  onStage(async ({ environment }) => {
    const uploads = new UploadedRecordings(environment);
    const body = Buffer.from(`${header}\n${"rubbish\n".repeat(5_000)}`);
    const leaving = new AbortController();
    const reading = uploads.read(body, leaving.signal);
    leaving.abort(new Error("the page left"));
    await expect(reading).rejects.toThrow("the page left");
    await uploads.read(body, new AbortController().signal);
  }));
