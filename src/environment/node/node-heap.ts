// The heap of this process, where pauses matter more than throughput.
import { setFlagsFromString } from "node:v8";

/**
 * New objects are collected while nothing else runs, for as long as it takes to copy those in use. By
 * itself V8 lets their space grow to 16 MB, and a collection to 10 ms and more; now it stays as small as
 * it is, so call this early. Collections are more frequent instead and take 7 to 27 % more CPU time.
 */
export function keepPausesShort(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}
