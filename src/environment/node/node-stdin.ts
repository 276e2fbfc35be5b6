// The standard input of this process. It can be read once; leaving the loop early closes it, also
// while it waits for more, so that a pipe that stays open does not keep the process from ending.
import { chunksOf } from "./node-body.ts";

export function nodeStdin(): AsyncIterable<Uint8Array> {
  return chunksOf(process.stdin, (error) => error);
}
