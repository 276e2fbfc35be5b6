// For tests of leftovers: a folder for temporary files that only this test file uses. The next run
// on the machine cleans up after dead ones, and would do so here as well.
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

/** Where Linux keeps files in memory: an etcd there waits for no disk that others keep busy. */
const memory = "/dev/shm";

/** Several times what the etcds of a test write. */
const roomBytes = 4e9;

/** Before anything else of the file: its processes, and `tmpdir` itself, use it. */
export function useOwnTemporaryFolder({ inMemory = false } = {}): void {
  const usual = tmpdir();
  beforeAll(() => {
    const above = inMemory && hasRoom(memory) ? memory : usual;
    process.env["TMPDIR"] = mkdtempSync(join(above, "lockstep-e2e-"));
  });
  afterAll(() => {
    const own = tmpdir();
    process.env["TMPDIR"] = usual;
    if (own !== usual) rmSync(own, { recursive: true, force: true });
  });
}

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= roomBytes;
  } catch {
    // This machine has no such place.
    return false;
  }
}
