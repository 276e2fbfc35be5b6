// The answers of a real server to every case, so that the embedded one can be judged where
// there is no real one. One JSON document, compressed because answers repeat themselves.
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Transcript } from "./contract-case.ts";

const file = new URL("real-answers.json.gz", import.meta.url);

export interface RecordedAnswers {
  /** `v1.36.0` */
  readonly kubernetes: string;
  readonly answers: ReadonlyMap<string, Transcript>;
}

export function readRecordedAnswers(): RecordedAnswers {
  const text = gunzipSync(readFileSync(file)).toString("utf8");
  const { kubernetes, answers } = JSON.parse(text) as {
    kubernetes: string;
    answers: Record<string, Transcript>;
  };
  return { kubernetes, answers: new Map(Object.entries(answers)) };
}

export function writeRecordedAnswers({ kubernetes, answers }: RecordedAnswers): void {
  const text = JSON.stringify({ kubernetes, answers: Object.fromEntries(answers) });
  writeFileSync(file, gzipSync(Buffer.from(text, "utf8"), { level: 9 }));
}
