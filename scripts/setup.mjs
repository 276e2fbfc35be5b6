#!/usr/bin/env node
// Makes a fresh checkout ready: Node modules, Debian packages, the compiled program, the built page. It
// runs before `npm start` and `npm test`, does nothing when all is in place, says what it is about to
// run, and where it may not or cannot install it says what to install. No dependencies of its own.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modulesStamp = join(root, "node_modules", ".lockstep-setup");
const buildStamp = join(root, "dist", ".lockstep-build");
const pageStamp = join(root, "dist", ".lockstep-page");

/** The oldest Node with everything we use; `engines` in package.json says the same. */
const oldestNode = [20, 19];

/** Each package with a file that only it brings, so that no package database is needed to look. */
const debianPackages = [
  { name: "nginx", file: "/usr/sbin/nginx", for: "the proxy" },
  {
    name: "libnginx-mod-http-lua",
    file: "/usr/lib/nginx/modules/ngx_http_lua_module.so",
    for: "the proxy's Lua",
  },
  { name: "lua-resty-core", file: "/usr/share/lua/5.1/resty/core.lua", for: "the proxy's Lua" },
  { name: "lua-cjson", file: "/usr/lib/x86_64-linux-gnu/lua/5.1/cjson.so", for: "the proxy's Lua" },
  { name: "etcd-server", file: "/usr/bin/etcd", for: "lockstep lab --store etcd" },
  { name: "prometheus", file: "/usr/bin/prometheus", for: "the tests of alerts and dashboard" },
];

const usage = `Usage: node scripts/setup.mjs [--check] [--no-system]

Makes this checkout ready to run: installs Node modules and Debian packages that are
missing, compiles the sources and builds the page. Says each command before it runs it.

  --check      change nothing; say what is missing and exit 1 if anything is
  --no-system  never install Debian packages; say what to install instead
               (the same as LOCKSTEP_NO_SYSTEM=1)
`;

export function nodeProblem(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wantMajor, wantMinor] = oldestNode;
  if (major > wantMajor || (major === wantMajor && minor >= wantMinor)) return undefined;
  return (
    `Lockstep needs Node ${wantMajor}.${wantMinor} or newer; this is Node ${version}.\n` +
    "Install a newer one (nodejs.org, or your version manager) and run the command again."
  );
}

/**
 * The inputs of the installed modules: another lock file or Node version means a new installation.
 */
function modulesFingerprint() {
  const lock = readFileSync(join(root, "package-lock.json"));
  const abi = `${process.platform}-${process.arch}-${process.versions.modules}`;
  return createHash("sha256").update(lock).update(abi).digest("hex");
}

function modulesAreReady() {
  return (
    existsSync(modulesStamp) && readFileSync(modulesStamp, "utf8").trim() === modulesFingerprint()
  );
}

/** Why the modules cannot be installed into this folder, or undefined when they can. */
export function modulesProblem(folder = join(root, "node_modules")) {
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined;
  return (
    `${folder} is a symbolic link, and npm ci would empty the folder behind it.\n` +
    "Remove the link and run the command again, or update the modules where the link leads."
  );
}

function installModules() {
  const problem = modulesProblem();
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exit(1);
  }
  run("npm", ["ci", "--no-fund", "--no-audit"], "Installing Node modules");
  writeFileSync(modulesStamp, `${modulesFingerprint()}\n`);
}

/** Needed by `npm run test:page` and `npm run docs -- --pages` only. */
export const browserPackages = [
  { name: "chromium", file: "/usr/bin/chromium", for: "the tests and pictures of the page" },
];

export function missingPackages(exists = existsSync, packages = debianPackages) {
  return packages.filter((one) => {
    if (one.name !== "lua-cjson") return !exists(one.file);
    // The library folder carries the machine's architecture in its name.
    return !["x86_64", "aarch64"].some((cpu) => exists(one.file.replace("x86_64", cpu)));
  });
}

/** The services that these packages would start with the machine. */
const services = {
  nginx: "nginx",
  "etcd-server": "etcd",
  prometheus: "prometheus",
  haproxy: "haproxy",
};

/** While this file says so, Debian's packages start no service when they are installed. */
const policy = "/usr/sbin/policy-rc.d";

/** Installs them without their services: Lockstep starts what it needs, on ports of its own. */
export function aptCommand(missing) {
  const names = missing.map((one) => one.name);
  const disabled = names.flatMap((name) => services[name] ?? []);
  return [
    `test -e ${policy} || { trap "rm -f ${policy}" EXIT; printf "#!/bin/sh\\nexit 101\\n" > ${policy}; chmod +x ${policy}; }`,
    "apt-get update -qq && DEBIAN_FRONTEND=noninteractive " +
      `apt-get install -y -qq --no-install-recommends ${names.join(" ")}`,
    ...disabled.map((service) => `{ update-rc.d ${service} disable || true; }`),
  ].join(" && ");
}

/** Why Debian packages cannot be installed from here, or undefined when they can. */
function whyNotInstall(allowed) {
  if (!allowed) return "installing system packages was switched off";
  if (!existsSync("/usr/bin/apt-get")) return "this is not a Debian system";
  if (process.getuid?.() !== 0) return "installing them needs root";
  return undefined;
}

function explainMissing(missing, why) {
  const list = missing.map((one) => `  ${one.name.padEnd(24)}${one.for}`).join("\n");
  const sudo = existsSync("/usr/bin/apt-get")
    ? `Install them with:\n  sudo sh -c '${aptCommand(missing)}'`
    : "Install nginx with its Lua module, lua-resty-core, lua-cjson, etcd and Prometheus from your distribution.";
  return (
    `Not installed, because ${why}:\n${list}\n${sudo}\n` +
    "Going on without them: whatever needs them will say so.\n"
  );
}

/** Installs them if it may, and says what is missing still. */
export function installPackages(missing, allowed, packages = debianPackages) {
  const why = whyNotInstall(allowed);
  if (why !== undefined) {
    process.stderr.write(explainMissing(missing, why));
    return;
  }
  const ok = run("sh", ["-c", aptCommand(missing)], "Installing Debian packages", {
    quiet: true,
    tolerate: true,
  });
  const still = missingPackages(existsSync, packages);
  if (!ok || still.length > 0) {
    process.stderr.write(explainMissing(still.length > 0 ? still : missing, "apt-get failed"));
  }
}

const sources = ["src", "benchmarks", "scripts/docs", "tsconfig.json", "tsconfig.build.json"];
/** The page has the types of the contract, and shows durations as the terminal does. */
const pageSources = [
  "ui",
  "src/server/api.ts",
  "src/environment/counted.ts",
  "src/environment/duration-text.ts",
];

const turnPollMs = 100;
/** Longer than any compilation: the file is then of a process that ended, whose id another one has. */
const turnMaxMs = 120_000;

/** The newest change among these files and folders. */
function newestMs(names) {
  let newest = 0;
  const visit = (path) => {
    const found = statSync(path);
    newest = Math.max(newest, found.mtimeMs);
    if (found.isDirectory()) for (const name of readdirSync(path)) visit(join(path, name));
  };
  for (const name of names) visit(join(root, name));
  return newest;
}

export function buildIsReady() {
  return existsSync(buildStamp) && statSync(buildStamp).mtimeMs >= newestMs(sources);
}

function pageIsReady() {
  return existsSync(pageStamp) && statSync(pageStamp).mtimeMs >= newestMs(pageSources);
}

/** Two commands that start after a change would write and read the same files at the same time. */
export function build() {
  inTurn(join(root, "node_modules", ".lockstep-build"), () => {
    if (buildIsReady()) return;
    run("npx", ["--no-install", "tsc", "-p", "tsconfig.build.json"], "Compiling");
    for (const folder of ["src", "benchmarks", join("scripts", "docs")]) removeStale(folder);
    writeFileSync(buildStamp, "");
  });
}

/** Does the work when no other living process does it. The file has the process's id. */
export function inTurn(file, work) {
  const beganAt = performance.now();
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const isLate = performance.now() - beganAt > turnMaxMs;
    if (isLate || !isHeld(file)) rmSync(file, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, turnPollMs);
  }
  try {
    work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Whether the process that wrote the file lives. One that was just made may still be empty. */
function isHeld(file) {
  try {
    const pid = Number(readFileSync(file, "utf8"));
    if (pid > 0) process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Compiled files whose source is gone would go into the package. */
function removeStale(folder) {
  const made = join(root, "dist", folder);
  for (const entry of readdirSync(made, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeStale(path);
    const [, stem] = /^(.*)\.js(?:\.map)?$/.exec(path) ?? [];
    const isStale = stem !== undefined && !existsSync(join(root, `${stem}.ts`));
    if (isStale) rmSync(join(root, "dist", path), { force: true });
  }
}

function buildPage() {
  run("npx", ["--no-install", "vite", "build", "--logLevel", "warn", "ui"], "Building the page");
  writeFileSync(pageStamp, "");
}

/** With another one npm would leave out the compiler, and the page would be built for developers. */
const withoutNodeEnv = { ...process.env, NODE_ENV: undefined };

/** Runs a command after saying so; the output shows only if it fails, unless it is the point. */
function run(program, args, title, { quiet = true, tolerate = false } = {}) {
  const shown = program === "sh" ? args.at(-1) : [program, ...args].join(" ");
  process.stderr.write(`${title}: ${shown}\n`);
  const result = spawnSync(program, args, {
    cwd: root,
    env: withoutNodeEnv,
    stdio: quiet ? ["ignore", "pipe", "pipe"] : ["ignore", "inherit", "inherit"],
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (result.status === 0) return true;
  process.stderr.write(`${result.stdout ?? ""}${result.stderr ?? ""}${result.error ?? ""}\n`);
  if (tolerate) return false;
  process.stderr.write(`${title} failed. The command was: ${shown}\n`);
  process.exit(1);
}

function main(args) {
  if (args.includes("--help") || args.includes("-h")) return process.stdout.write(usage);
  const unknown = args.find((arg) => !["--check", "--no-system"].includes(arg));
  if (unknown !== undefined) {
    process.stderr.write(`Unknown option ${unknown}.\n\n${usage}`);
    process.exit(2);
  }
  const problem = nodeProblem();
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exit(1);
  }
  const missing = missingPackages();
  if (args.includes("--check")) return check(missing);
  const allowed = !args.includes("--no-system") && process.env.LOCKSTEP_NO_SYSTEM !== "1";
  if (!modulesAreReady()) installModules();
  if (missing.length > 0) installPackages(missing, allowed);
  if (!buildIsReady()) build();
  if (!pageIsReady()) buildPage();
}

function check(missing) {
  const lines = [];
  if (!modulesAreReady()) lines.push("Node modules are missing or outdated (npm ci).");
  for (const one of missing) lines.push(`The Debian package ${one.name} is missing (${one.for}).`);
  if (!buildIsReady()) lines.push("The sources are not compiled, or changed since.");
  if (!pageIsReady()) lines.push("The page is not built, or changed since.");
  process.stdout.write(lines.length === 0 ? "Everything is in place.\n" : `${lines.join("\n")}\n`);
  process.exit(lines.length === 0 ? 0 : 1);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main(process.argv.slice(2));
