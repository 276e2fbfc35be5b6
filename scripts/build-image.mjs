#!/usr/bin/env node
// Builds the image from Debian packages alone, without a container tool and without pulling an image: a
// root file system with mmdebstrap, then an OCI archive. Or writes the folder for `docker build`.
import { createHash } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { writeOciArchive } from "./release/oci-archive.mjs";
import { sbom } from "./release/sbom.mjs";
import {
  archive,
  installPackage,
  packageVersion,
  packInto,
  root,
  run,
  sha256,
  sourceDate,
} from "./release/stage.mjs";

const usage = `Usage: node scripts/build-image.mjs [--out FOLDER] [--mirror URL] [--name NAME] [--fresh]
       node scripts/build-image.mjs --context FOLDER

Makes lockstep-VERSION-linux-ARCH.oci.tar, its SBOM (CycloneDX) and SHA256SUMS in FOLDER (default:
dist/image). Needs root and mmdebstrap. Node is copied from this machine, because Debian 12 has Node 18.

  --mirror URL      where mmdebstrap gets Debian packages (default: its own default)
  --name NAME       name of the image in the archive (default: lockstep:VERSION)
  --fresh           get the Debian packages again; otherwise those of an earlier run are used
  --context FOLDER  only write the Containerfile and the package there, for:
                    docker build --build-arg BASE=debian:bookworm-slim FOLDER
`;

const suite = "bookworm";
/** nginx with Lua, and the C++ library of Node. */
const packages =
  "nginx libnginx-mod-http-lua lua-resty-core lua-cjson libstdc++6 ca-certificates".split(" ");
const left = ["doc", "man", "locale", "info", "lintian"];
export const imageUser = 10_001;
const packageFolder = "usr/lib/lockstep";
const architectures = { x64: "amd64", arm64: "arm64" };

/** Of the runtime: no shell is needed, and nothing is written outside of volumes. */
const config = {
  User: `${imageUser}:${imageUser}`,
  Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp"],
  Entrypoint: ["/usr/bin/node", `/${packageFolder}/bin/lockstep.mjs`],
  Cmd: ["--help"],
  WorkingDir: "/",
  Labels: { "org.opencontainers.image.licenses": "Apache-2.0" },
};

/** The root file system in `folder`, for the tests too. */
export function buildRoot(folder, { mirror, fresh = false, say }) {
  const debian = debianRoot({ mirror, fresh, say });
  mkdirSync(folder, { recursive: true });
  run("tar", ["-xf", debian, "-C", folder, "--exclude=./dev/*"]);
  const node = join(folder, "usr", "bin", "node");
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  run("chroot", [folder, "/usr/bin/node", "--version"]);
  const name = `lockstep:x:${imageUser}:${imageUser}::/tmp:/usr/sbin/nologin\n`;
  appendFileSync(join(folder, "etc", "passwd"), name);
  appendFileSync(join(folder, "etc", "group"), `lockstep:x:${imageUser}:\n`);
  mkdirSync(join(folder, "var", "lib", "lockstep"), { recursive: true });
  say("Packing and installing the package");
  const scratch = mkdtempSync(join(tmpdir(), "lockstep-pack-"));
  try {
    installPackage(packInto(scratch), join(folder, packageFolder), process.arch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  symlinkSync(`../lib/lockstep/bin/lockstep.mjs`, join(folder, "usr", "bin", "lockstep"));
  return folder;
}

/** A tar of Debian's packages, kept between runs. */
function debianRoot({ mirror, fresh, say }) {
  const key = JSON.stringify([suite, packages, left, mirror ?? ""]);
  const name = `${createHash("sha256").update(key).digest("hex").slice(0, 16)}.tar`;
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const path = join(cache, "lockstep", "image", name);
  if (existsSync(path) && !fresh) return path;
  mkdirSync(dirname(path), { recursive: true });
  say(`Getting Debian ${suite} with mmdebstrap (about a minute; kept as ${path})`);
  const excluded = left.map((one) => `--dpkgopt=path-exclude=/usr/share/${one}/*`);
  const partial = `${path}.${process.pid}`;
  const args = [
    "--variant=minbase",
    `--include=${packages.join(",")}`,
    ...excluded,
    // A mirror that does not answer once is asked again.
    '--aptopt=Acquire::Retries "5"',
    "--format=tar",
  ];
  const target = [suite, partial, ...(mirror === undefined ? [] : [mirror])];
  run("mmdebstrap", [...args, ...target], {
    input: "",
    env: { ...process.env, SOURCE_DATE_EPOCH: sourceDate() },
  });
  run("mv", [partial, path]);
  return path;
}

function buildImage({ out, mirror, name, fresh }) {
  const say = (line) => process.stdout.write(`${line}\n`);
  const version = packageVersion();
  const architecture = architectures[process.arch] ?? process.arch;
  const base = `lockstep-${version}-linux-${architecture}`;
  const scratch = mkdtempSync(join(tmpdir(), "lockstep-image-"));
  try {
    const folder = buildRoot(join(scratch, "root"), { mirror, fresh, say });
    mkdirSync(out, { recursive: true });
    say("Writing the OCI archive");
    const layer = archive(folder, join(scratch, "layer.tar.gz"));
    const path = join(out, `${base}.oci.tar`);
    const reference = name ?? `lockstep:${version}`;
    const digest = writeOciArchive({
      layers: [layer],
      config,
      reference,
      architecture,
      path,
      scratch,
    });
    const list = sbom({
      dpkgFolder: join(folder, "var", "lib", "dpkg"),
      node: process.versions.node,
      cpu: process.arch,
    });
    const sbomPath = join(out, `${base}.cdx.json`);
    writeFileSync(sbomPath, `${JSON.stringify(list, null, 2)}\n`);
    const sums = [path, sbomPath].map((one) => `${sha256(one)}  ${one.slice(out.length + 1)}\n`);
    writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
    say(`${path}\n${reference} ${digest}, ${list.components.length} components in the SBOM`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function writeContext(folder) {
  const scratch = mkdtempSync(join(tmpdir(), "lockstep-pack-"));
  try {
    rmSync(join(folder, "package"), { recursive: true, force: true });
    installPackage(packInto(scratch), join(folder, "package"), process.arch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  writeFileSync(
    join(folder, "Containerfile"),
    readFileSync(join(root, "deploy", "image", "Containerfile")),
  );
}

function main(args) {
  const values = new Map();
  for (let at = 0; at < args.length; at += 1) {
    const flag = args[at];
    if (flag === "--help" || flag === "-h") {
      process.stdout.write(usage);
      return 0;
    }
    if (flag === "--fresh") values.set(flag, "");
    else if (["--out", "--mirror", "--name", "--context"].includes(flag) && at + 1 < args.length) {
      at += 1;
      values.set(flag, args[at]);
    } else {
      process.stderr.write(`There is no option ${flag}.\n\n${usage}`);
      return 2;
    }
  }
  try {
    if (values.has("--context")) writeContext(resolve(values.get("--context")));
    else
      buildImage({
        out: resolve(values.get("--out") ?? join(root, "dist", "image")),
        mirror: values.get("--mirror"),
        name: values.get("--name"),
        fresh: values.has("--fresh"),
      });
    return 0;
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = main(process.argv.slice(2));
}
