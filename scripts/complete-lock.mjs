#!/usr/bin/env node
// Adds to package-lock.json the platform packages that npm left out because the registry at hand
// could not serve them. Without their entries `npm ci` refuses the lock, even on a platform that
// does not need them. Run it after changing dependencies: `node scripts/complete-lock.mjs`.
import { readFileSync, writeFileSync } from "node:fs";

const path = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(path, "utf8"));
let added = 0;
for (const [place, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const own = `${place}/node_modules/${name}`;
    const shared = `node_modules/${name}`;
    if (lock.packages[own] !== undefined || lock.packages[shared] !== undefined) continue;
    if (Object.keys(platformOf(name)).length === 0) continue;
    lock.packages[shared] = { version, ...platformOf(name), ...flagsOf(parent), optional: true };
    added += 1;
  }
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`${added} entries added\n`);

/** The platform from the package's name: `@rolldown/binding-linux-x64-musl`. */
function platformOf(name) {
  const os = /(android|darwin|freebsd|linux|openharmony|win32)/.exec(name)?.[1];
  const cpu = /[-/](arm64|ppc64|riscv64|s390x|ia32|wasm32|x64|arm)\b/.exec(name)?.[1];
  const libc = /(musl|gnu)/.exec(name)?.[1];
  return {
    ...(os === undefined ? {} : { os: [os] }),
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(os === "linux" && libc !== undefined ? { libc: [libc === "musl" ? "musl" : "glibc"] } : {}),
  };
}

function flagsOf({ dev }) {
  return dev === undefined ? {} : { dev };
}
