// A named pipe, or one that a shell hands over as a file (`<(…)`), to be read on. It is read as a
// socket is: a file's read would wait for the next bytes in a thread that nothing can call back, and
// keep the program from ending.
import { open } from "node:fs";
import { Socket } from "node:net";
import { promisify } from "node:util";
import type { OpenFile } from "../files.ts";
import { chunksOf } from "./node-body.ts";

const openDescriptor = promisify(open);

/** Waits until a writer opens it. */
export async function openPipe(path: string, id: string): Promise<OpenFile> {
  const socket = new Socket({ fd: await openDescriptor(path, "r"), writable: false });
  const chunks = chunksOf(socket, (error) => error)[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  return {
    id,
    isStream: true,
    size: () => Promise.resolve(0),
    read: async (_, maxBytes) => {
      if (rest.byteLength === 0) {
        const next = await chunks.next();
        if (next.done === true) return rest;
        rest = next.value;
      }
      const chunk = rest.subarray(0, maxBytes);
      rest = rest.subarray(chunk.byteLength);
      return chunk;
    },
    close: async () => {
      await chunks.return?.();
    },
  };
}
