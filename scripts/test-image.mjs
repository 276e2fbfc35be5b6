#!/usr/bin/env node
// `npm run test:image`: builds the root file system of the image and runs the product in it as a user without
// privileges: the root is read-only, and its shells are replaced by /dev/null.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildRoot, imageUser } from "./build-image.mjs";
import { createShop } from "./release/shop.mjs";
import { root } from "./release/stage.mjs";
import { freePort } from "./release/trial.mjs";

const usage = `Usage: npm run test:image -- [--if-possible]

Builds the root file system of the image from Debian packages and starts the product in it, as an
unprivileged user with a read-only root and without a shell. Needs root and mmdebstrap.

  --if-possible  where that is missing, say so and exit 0
`;

/** A start that has not succeeded by then never will. */
const patienceMs = 300_000;
const shells = ["bash", "dash"];
const folder = mkdtempSync(join(tmpdir(), "lockstep-image-test-"));
const started = [];
const totals = { passed: 0, failed: 0 };

process.exitCode = await main(process.argv.slice(2));

async function main(args) {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(usage);
    return 0;
  }
  const missing = whatIsMissing();
  if (missing !== undefined) {
    const verdict = args.includes("--if-possible") ? "skipped" : "cannot run";
    process.stderr.write(`The test of the image: ${verdict}, because ${missing}\n`);
    return args.includes("--if-possible") ? 0 : 1;
  }
  try {
    await judge();
  } catch (error) {
    report(false, error.message);
  } finally {
    for (const one of started.toReversed()) await stop(one);
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed\n`);
  return totals.failed === 0 ? 0 : 1;
}

function whatIsMissing() {
  if (process.getuid?.() !== 0) return "it needs root";
  if (spawnSync("unshare", ["--mount", "true"]).status !== 0) return "mounts are not allowed here";
  if (spawnSync("mmdebstrap", ["--version"]).status === 0) return undefined;
  if (process.env["LOCKSTEP_NO_SYSTEM"] !== "1") {
    spawnSync("apt-get", ["install", "-y", "--no-install-recommends", "mmdebstrap"]);
  }
  if (spawnSync("mmdebstrap", ["--version"]).status === 0) return undefined;
  return "mmdebstrap is not installed (Debian: apt-get install mmdebstrap)";
}

async function judge() {
  const image = buildRoot(join(folder, "root"), {
    say: (line) => process.stdout.write(`${line}\n`),
  });
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const shown = inImage(image, ["/usr/bin/lockstep", "--version"]);
  report(shown.stdout.trim() === version, `lockstep --version prints ${shown.stdout.trim()}`);
  const write =
    '(() => { try { fs.writeFileSync("/x", ""); } catch (error) { return error.code; } })()';
  const who = inImage(image, ["/usr/bin/node", "-p", `${write} + " " + process.getuid()`]);
  report(who.stdout.trim() === `EROFS ${imageUser}`, `a write to the root: ${who.stdout.trim()}`);
  const shell = inImage(image, ["/bin/sh", "-c", "true"]);
  report(shell.status !== 0, "no shell can be run");

  const kubeconfig = join(folder, "lab.yaml");
  const lab = start("node", [join(root, "bin/lockstep.mjs"), "lab", "--kubeconfig", kubeconfig]);
  await until("the lab has started", lab, () => existsSync(kubeconfig));
  await createShop(kubeconfig);
  const [http, status] = [await freePort(), await freePort()];
  const flags = ["--listen", "127.0.0.1", "--http-port", http, "--status-port", status];
  const files = ["--kubeconfig", "/tmp/kubeconfig", "--prefix", "/var/lib/lockstep"];
  const entrypoint = ["/usr/bin/node", "/usr/lib/lockstep/bin/lockstep.mjs"];
  const ingress = startInImage(image, [...entrypoint, "ingress", ...files, ...flags], kubeconfig);
  await until("the ingress is ready", ingress, () => isOk(`http://127.0.0.1:${status}/readyz`));
  report(true, "lockstep ingress is ready, with nginx from the image");
  let answer = "";
  await until("a pod answers", ingress, async () => {
    answer = await (await fetch(`http://127.0.0.1:${http}/`)).text();
    return answer.includes('"pod":"shop-');
  });
  report(true, `a request reaches a pod: ${JSON.parse(answer).pod}`);
  report((await stop(ingress)) === 0, "lockstep ingress ends on SIGTERM with exit code 0");
  report(nginxOf(image).length === 0, "no nginx is left");
  report((await stop(lab)) === 0, "lockstep lab ends");
}

/** Mounts in a namespace of their own, which end with the command. */
function mounting(image, kubeconfig) {
  return [
    "set -e",
    `mount --bind ${image} ${image}`,
    ...shells.map((shell) => `mount --bind /dev/null ${image}/usr/bin/${shell}`),
    `mount --rbind /dev ${image}/dev`,
    `mount -t proc proc ${image}/proc`,
    `mount -t tmpfs -o uid=${imageUser},mode=700 tmpfs ${image}/var/lib/lockstep`,
    `mount -t tmpfs -o uid=${imageUser},mode=700 tmpfs ${image}/tmp`,
    ...(kubeconfig === undefined
      ? []
      : [`install -o ${imageUser} -m 600 ${kubeconfig} ${image}/tmp/kubeconfig`]),
    `mount -o remount,bind,ro ${image}`,
    'exec setpriv --no-new-privs chroot --userspec="$0" "$@"',
  ].join("\n");
}

function command(image, args, kubeconfig) {
  const script = mounting(image, kubeconfig);
  const clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin", "HOME=/tmp"];
  const user = `${imageUser}:${imageUser}`;
  const inside = [image, "/usr/bin/env", ...clean.slice(1), ...args.map(String)];
  return ["--mount", "sh", "-c", script, user, ...inside];
}

function inImage(image, args) {
  return spawnSync("unshare", command(image, args), { encoding: "utf8" });
}

function startInImage(image, args, kubeconfig) {
  return start("unshare", command(image, args, kubeconfig));
}

function start(program, args) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const chunks = [];
  child.stdout.on("data", (chunk) => chunks.push(chunk));
  child.stderr.on("data", (chunk) => chunks.push(chunk));
  const ended = new Promise((resolve) => child.on("close", resolve));
  const one = { child, ended, output: () => Buffer.concat(chunks).toString() };
  started.push(one);
  return one;
}

async function stop({ child, ended }) {
  if (child.exitCode === null) child.kill("SIGTERM");
  return await ended;
}

/** Fails at once if the program has ended. */
async function until(what, { child, output }, holds) {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`ended before ${what}:\n${output()}`);
    try {
      if (await holds()) return;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    if (performance.now() > deadline)
      throw new Error(`5 min have passed before ${what}:\n${output()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function isOk(url) {
  return (await fetch(url)).status === 200;
}

/** Programs whose file is in the image. */
function nginxOf(image) {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const link = spawnSync("readlink", [`/proc/${pid}/root`], { encoding: "utf8" });
    return link.stdout.trim() === image;
  });
}

function report(ok, text) {
  totals[ok ? "passed" : "failed"] += 1;
  process.stdout.write(`${ok ? "✓" : "✗"} ${text}\n`);
}
