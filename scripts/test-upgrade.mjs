#!/usr/bin/env node
// `npm run test:upgrade`: installs the version before from release files that this machine serves, runs it,
// installs the newest version over it and lets that take over, and goes back. Then the plugin by krew's
// manifest. The version before is made from the last commit that had it.
import { spawnSync } from "node:child_process";
import { createReadStream, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, delimiter, join } from "node:path";
import { parse } from "yaml";
import { makeFiles } from "./make-release.mjs";
import { createShop } from "./release/shop.mjs";
import { packageVersion, root, run, sha256 } from "./release/stage.mjs";
import { freePort, Trial } from "./release/trial.mjs";

const usage = `Usage: npm run test:upgrade -- [--if-possible]

Serves the files of this release and the tarball of the version before on 127.0.0.1, upgrades a running
ingress from one to the other and back, and installs the plugin as krew does. Needs the git history and nginx.

  --if-possible  without the git history, say so and exit 0
`;

const version = packageVersion();
const before = "0.1.0";
const quiet = ["--no-audit", "--no-fund", "--ignore-scripts"];

if (process.argv.includes("--help") || process.argv.includes("-h")) {
  process.stdout.write(usage);
  process.exit();
}
const commit = lastCommitOf(before);
if (commit === undefined) {
  const isFine = process.argv.includes("--if-possible");
  process.stderr.write(`The test of the upgrade cannot run: git has no commit of ${before}\n`);
  process.exit(isFine ? 0 : 1);
}
const trial = new Trial("upgrade");
const { folder } = trial;
const server = createServer((request, response) => {
  const file = createReadStream(join(folder, "served", basename(request.url)));
  file.on("error", () => response.writeHead(404).end());
  file.pipe(response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${server.address().port}`;
await trial.run(judge);
server.close();

async function judge() {
  const served = join(folder, "served");
  makeFiles(served, { baseUrl: base, homepage: base });
  packOld(served);
  await judgeUpgrade();
  await judgePlugin();
}

/** An ingress of the version before is replaced by the newest one, and that by the version before again. */
async function judgeUpgrade() {
  const place = join(folder, "installed");
  mkdirSync(place);
  writeFileSync(join(place, "package.json"), '{ "private": true }');
  const install = async (wanted) => {
    // Not in this thread, which serves the file.
    const npm = trial.start("npm", ["install", ...quiet, `${base}/lockstep-${wanted}.tgz`], place);
    if ((await npm.ended) !== 0) throw new Error(`npm install failed:\n${npm.output()}`);
    const shown = run(lockstep, ["--version"], { cwd: place }).trim();
    trial.report(shown === wanted, `npm installs ${wanted} by its address: --version is ${shown}`);
  };
  const lockstep = join(place, "node_modules", ".bin", "lockstep");
  const kubeconfig = join(place, "lab.yaml");
  const lab = trial.start(
    process.execPath,
    [join(root, "bin/lockstep.mjs"), "lab", "--json", "--kubeconfig", kubeconfig],
    place,
  );
  await lab.prints(/"servers"/);
  // A take-over wants a route with an endpoint.
  await createShop(kubeconfig);
  const [http, status] = [await freePort(), await freePort()];
  const ofLab = ["--kubeconfig", kubeconfig, "--context", "lab-1"];
  const ports = ["--http-port", http, "--status-port", status, "--prefix", join(place, "nginx")];
  const startIngress = (...more) =>
    trial.start(lockstep, ["ingress", ...ofLab, ...ports, ...more], place);
  const answers = async () => {
    const answer = await fetch(`http://127.0.0.1:${http}/`);
    await answer.arrayBuffer();
    return answer.status === 200;
  };
  await install(before);
  let running = startIngress();
  await running.does(`${before} serves`, answers);
  for (const next of [version, before]) {
    const answered = [];
    let isReplaced = false;
    const asking = (async () => {
      while (!isReplaced) {
        answered.push(await answers().catch(() => false));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    await install(next);
    const another = startIngress("--take-over");
    await another.does(`${next} takes over`, () => running.child.exitCode !== null);
    const code = await running.ended;
    await another.does(`${next} is ready`, async () => {
      return (await fetch(`http://127.0.0.1:${status}/readyz`)).status === 200;
    });
    await another.does(`${next} serves`, answers);
    isReplaced = true;
    await asking;
    trial.report(code === 0, `${next} takes over; the one before ends with ${code}`);
    // These versions bring other files of nginx, so it is restarted once; no other request may fail.
    const failed = answered.filter((isRight) => !isRight).length;
    const gap = answered.lastIndexOf(false) - answered.indexOf(false) + 1;
    trial.report(
      failed === 0 || gap === failed,
      `${answered.length} requests meanwhile, ${failed} refused in one restart of nginx`,
    );
    running = another;
  }
  trial.report((await trial.stop(running)) === 0, "it ends on SIGINT");
  trial.report((await trial.stop(lab)) === 0, "the lab ends");
}

/** As krew does it: the archive of this platform by its address, its checksum, and a link to the program. */
async function judgePlugin() {
  const manifest = parse(await (await fetch(`${base}/lockstep-krew.yaml`)).text());
  const [platform] = manifest.spec.platforms;
  trial.report(
    manifest.spec.version === `v${version}`,
    `krew's manifest: ${manifest.spec.version}`,
  );
  const archive = join(folder, "plugin.tar.gz");
  writeFileSync(archive, Buffer.from(await (await fetch(platform.uri)).arrayBuffer()));
  trial.report(sha256(archive) === platform.sha256, "the archive has the checksum of the manifest");
  const plugin = join(folder, "plugin");
  mkdirSync(join(plugin, "bin"), { recursive: true });
  run("tar", ["-xzf", archive, "-C", plugin]);
  const links = join(folder, "links");
  mkdirSync(links);
  symlinkSync(join(plugin, platform.bin), join(links, "kubectl-lockstep"));
  const env = { ...process.env, PATH: `${links}${delimiter}${process.env["PATH"]}` };
  // kubectl finds the plugin by its name; where there is no kubectl, the plugin itself runs.
  const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;
  const line = hasKubectl ? ["kubectl", "lockstep"] : ["kubectl-lockstep"];
  const [program, ...args] = [...line, "--version"];
  const shown = run(program, args, { env }).trim();
  trial.report(shown === version, `${line.join(" ")} --version: ${shown}`);
}

/** Undefined in a copy without the history. */
function lastCommitOf(wanted) {
  const git = (...args) => spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout ?? "";
  const changes = ["--format=%H", "-G", `"version": "${wanted}"`, "--", "package.json"];
  const [removed] = git("log", ...changes).split("\n");
  if (!removed) return undefined;
  const last = git("rev-parse", "--verify", "--quiet", `${removed}~1`).trim();
  const isWanted = git("show", `${last}:package.json`).includes(`"version": "${wanted}"`);
  return isWanted ? last : undefined;
}

/** Compiled with the compiler of this checkout; the page is not part of what is tried. */
function packOld(served) {
  const old = join(folder, "old");
  mkdirSync(old);
  const tar = join(folder, "old.tar");
  run("git", ["archive", "--output", tar, commit]);
  run("tar", ["-xf", tar, "-C", old]);
  symlinkSync(join(root, "node_modules"), join(old, "node_modules"));
  run("node_modules/.bin/tsc", ["-p", "tsconfig.build.json", "--noCheck"], { cwd: old });
  const made = run("npm", ["pack", "--silent", "--ignore-scripts"], { cwd: old }).trim();
  run("mv", [join(old, made.split("\n").at(-1)), served]);
  const { version: packed } = JSON.parse(readFileSync(join(old, "package.json"), "utf8"));
  trial.report(
    packed === before,
    `the version before is ${packed}, of commit ${commit.slice(0, 8)}`,
  );
}
