#!/usr/bin/env node
// `npm run test:image`: builds the root file system of the image and runs the product in it as a user without
// privileges: the root is read-only, and its shells are replaced by /dev/null.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { buildRoot, imageUser } from "./build-image.mjs";
import { createShop } from "./release/shop.mjs";
import { packageVersion, root } from "./release/stage.mjs";
import { freePort, Trial } from "./release/trial.mjs";
import { installPackages, missingPackages } from "./setup.mjs";

const usage = `Usage: npm run test:image -- [--if-possible]

Builds the root file system of the image from Debian packages and runs watch, ingress and up in it, as
an unprivileged user with a read-only root and without a shell. Needs root and mmdebstrap.

  --if-possible  where that is missing, say so and exit 0
`;

const shells = ["bash", "dash"];
const entrypoint = ["/usr/bin/node", "/usr/lib/lockstep/bin/lockstep.mjs"];

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
  const trial = new Trial("image-test");
  await trial.run(() => judge(trial));
  return process.exitCode;
}

function whatIsMissing() {
  if (process.getuid?.() !== 0) return "it needs root";
  if (spawnSync("unshare", ["--mount", "true"]).status !== 0) return "mounts are not allowed here";
  const builder = [{ name: "mmdebstrap", file: "/usr/bin/mmdebstrap", for: "the image" }];
  const absent = missingPackages(existsSync, builder);
  if (absent.length > 0) {
    installPackages(absent, process.env["LOCKSTEP_NO_SYSTEM"] !== "1", builder);
  }
  if (spawnSync("mmdebstrap", ["--version"]).status === 0) return undefined;
  return "mmdebstrap is not installed (Debian: apt-get install mmdebstrap)";
}

async function judge(trial) {
  const image = buildRoot(join(trial.folder, "root"), {
    say: (line) => process.stdout.write(`${line}\n`),
  });
  const version = packageVersion();
  const shown = inImage(image, ["/usr/bin/lockstep", "--version"]);
  trial.report(shown.stdout.trim() === version, `lockstep --version prints ${shown.stdout.trim()}`);
  const write =
    '(() => { try { fs.writeFileSync("/x", ""); } catch (error) { return error.code; } })()';
  const who = inImage(image, ["/usr/bin/node", "-p", `${write} + " " + process.getuid()`]);
  const isReadOnly = who.stdout.trim() === `EROFS ${imageUser}`;
  trial.report(isReadOnly, `a write to the root: ${who.stdout.trim()}`);
  const shell = inImage(image, ["/bin/sh", "-c", "true"]);
  trial.report(shell.status !== 0, "no shell can be run");
  await judgeWithLab(trial, image);
  trial.judgeDemo("unshare", command(image, entrypoint), root);
  trial.report(nginxOf(image).length === 0, "no nginx is left");
}

/** The lab runs outside; the image has its kubeconfig. */
async function judgeWithLab(trial, image) {
  const kubeconfig = join(trial.folder, "lab.yaml");
  const lab = trial.start(
    process.execPath,
    [join(root, "bin/lockstep.mjs"), "lab", "--json", "--kubeconfig", kubeconfig],
    root,
  );
  await lab.prints(/"servers"/);
  await createShop(kubeconfig);
  const inside = (...args) =>
    trial.start("unshare", command(image, [...entrypoint, ...args], kubeconfig), root);
  const ofLab = ["--kubeconfig", "/tmp/kubeconfig"];
  const watch = inside("watch", ...ofLab);
  await watch.prints(/lab-1: watching/);
  trial.report((await trial.stop(watch)) === 0, "lockstep watch follows a cluster");

  const [http, status] = [await freePort(), await freePort()];
  const flags = ["--listen", "127.0.0.1", "--http-port", http, "--status-port", status];
  const ingress = inside("ingress", ...ofLab, "--prefix", "/var/lib/lockstep", ...flags);
  await ingress.does(
    "the ingress is ready",
    async () => (await fetch(`http://127.0.0.1:${status}/readyz`)).status === 200,
  );
  trial.report(true, "lockstep ingress is ready, with nginx from the image");
  let answer = "";
  await ingress.does("a pod answers", async () => {
    answer = await (await fetch(`http://127.0.0.1:${http}/`)).text();
    return answer.includes('"pod":"shop-');
  });
  trial.report(true, `a request reaches a pod: ${JSON.parse(answer).pod}`);
  const code = await trial.stop(ingress, "SIGTERM");
  trial.report(code === 0, "lockstep ingress ends on SIGTERM with exit code 0");
  trial.report((await trial.stop(lab)) === 0, "lockstep lab ends");
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

/** Programs whose file is in the image. */
function nginxOf(image) {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const link = spawnSync("readlink", [`/proc/${pid}/root`], { encoding: "utf8" });
    return link.stdout.trim() === image;
  });
}
