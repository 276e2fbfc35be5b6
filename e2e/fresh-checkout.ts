// A copy of the files that git knows, as a newcomer has them after a clone: no modules, nothing built. It has
// the edits of this checkout, so a change is judged before it is committed.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns the folder. */
export function freshCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-checkout-"));
  const listed = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" });
  for (const path of listed.split("\0")) {
    if (path !== "" && existsSync(path)) cpSync(path, join(folder, path));
  }
  return folder;
}
