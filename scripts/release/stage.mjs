// Commands and folders that the scripts of a release share: run a program, pack the package and install its
// dependencies as the lock file names them, and write archives that are the same bytes each time.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Its standard output; throws with everything it said if it fails. */
export function run(program, args, options = {}) {
  const result = spawnSync(program, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
    ...options,
  });
  if (result.error !== undefined) throw new Error(`cannot run ${program}: ${result.error.message}`);
  if (result.status === 0) return result.stdout;
  throw new Error(`${program} ${args.join(" ")} failed:\n${result.stdout}${result.stderr}`);
}

export function sha256(path) {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** Seconds: of the newest commit, unless SOURCE_DATE_EPOCH is set. */
export function sourceDate() {
  const given = process.env["SOURCE_DATE_EPOCH"];
  return given ?? run("git", ["log", "-1", "--format=%ct"]).trim();
}

export function packageVersion() {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
}

/** The path of the npm tarball in this folder. */
export function packInto(folder) {
  mkdirSync(folder, { recursive: true });
  const made = run("npm", ["pack", "--silent", "--pack-destination", folder]).trim();
  return join(folder, made.split("\n").at(-1));
}

/** The content of the tarball with the modules that it needs on Linux with glibc. */
export function installPackage(tarball, folder, cpu = "x64") {
  mkdirSync(folder, { recursive: true });
  run("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"]);
  copyFileSync(join(root, "package-lock.json"), join(folder, "package-lock.json"));
  const platform = ["--os=linux", `--cpu=${cpu}`, "--libc=glibc"];
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--omit=dev"];
  run("npm", ["ci", ...quiet, ...platform], { cwd: folder });
}

/** Names in order, one time, one owner: the same files give the same bytes. */
export function archive(folder, path, names = ["."]) {
  const order = ["--sort=name", "--format=gnu", `--mtime=@${sourceDate()}`];
  const owner = ["--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go-w,a+rX"];
  const uncompressed = path.replace(/\.t?gz$/, "");
  run("tar", [...order, ...owner, "-cf", uncompressed, "-C", folder, ...names]);
  if (uncompressed !== path) {
    run("gzip", ["-n", "-9", "-f", "-S", path.slice(uncompressed.length), uncompressed]);
  }
  return path;
}
