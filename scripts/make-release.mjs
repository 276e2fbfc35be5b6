#!/usr/bin/env node
// Makes everything of a release from its tag, and checks it: npm tarball, plugin archive with krew's
// manifest, chart, plain manifests, notes, SBOM, image archive, checksums.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { sbom } from "./release/sbom.mjs";
import {
  archive,
  installPackage,
  packageVersion,
  packInto,
  root,
  run,
  sha256,
} from "./release/stage.mjs";

const usage = `Usage: node scripts/make-release.mjs [--out FOLDER] [--base-url URL] [--homepage URL]
                                     [--untagged] [--no-image]

Makes a release in FOLDER (default: dist/release), twice, and compares the two byte by byte; the image is
made once. The tree must be clean, and its commit must have the tag vVERSION.

  --base-url URL  address under which the files will be served, for krew's manifest
  --homepage URL  the project's page, for krew's manifest
  --untagged      also from a tree without the tag or with changes, to try it
  --no-image      without the image archive, which needs root and mmdebstrap
`;

/** The files without the image; the same tree gives the same bytes. */
export function makeFiles(out, { baseUrl, homepage }) {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const version = packageVersion();
  const scratch = mkdtempSync(join(tmpdir(), "lockstep-release-"));
  try {
    const tarball = packInto(out);
    const plugin = join(scratch, "plugin");
    installPackage(tarball, plugin, "x64");
    const name = `kubectl-lockstep-${version}-linux-amd64.tar.gz`;
    const pluginPath = archive(plugin, join(out, name));
    const values = { version, homepage, url: baseUrl, archive: name, sha256: sha256(pluginPath) };
    writeFileSync(join(out, "lockstep-krew.yaml"), filled("deploy/krew/lockstep.yaml", values));
    cpSync(join(root, "deploy", "chart"), join(scratch, "chart", "lockstep"), { recursive: true });
    archive(join(scratch, "chart"), join(out, `lockstep-chart-${version}.tgz`), ["lockstep"]);
    const parts = ["rbac", "ingress", "observer", "sync", "assist", "monitoring"];
    archive(join(root, "deploy"), join(out, `lockstep-manifests-${version}.tar.gz`), parts);
    writeFileSync(join(out, "NOTES.md"), notesOf(version));
    writeFileSync(
      join(out, `lockstep-${version}.cdx.json`),
      `${JSON.stringify(sbom(), null, 2)}\n`,
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function filled(path, values) {
  return readFileSync(join(root, path), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${path} has an unknown field ${name}`);
    return value;
  });
}

/** The section of the changelog. */
export function notesOf(version, changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8")) {
  const sections = changelog.split(/^(?=## )/m);
  const found = sections.find((one) =>
    new RegExp(`^## ${version.replaceAll(".", "\\.")}\\b`).test(one),
  );
  if (found === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}"`);
  return found;
}

/** Names of the files of both folders whose bytes differ. */
export function differences(first, second, names) {
  return names.filter((name) => sha256(join(first, name)) !== sha256(join(second, name)));
}

function filesOf(folder) {
  return run("ls", ["-1", folder])
    .split("\n")
    .filter((name) => name !== "");
}

function tagProblem() {
  if (run("git", ["status", "--porcelain"]).trim() !== "") return "the tree has changes";
  const tags = run("git", ["tag", "--points-at", "HEAD"]).split("\n");
  const wanted = `v${packageVersion()}`;
  return tags.includes(wanted) ? undefined : `the commit has no tag ${wanted}`;
}

function main(args) {
  const values = new Map();
  const withValue = ["--out", "--base-url", "--homepage"];
  for (let at = 0; at < args.length; at += 1) {
    const flag = args[at];
    if (flag === "--help" || flag === "-h") {
      process.stdout.write(usage);
      return 0;
    }
    if (["--untagged", "--no-image"].includes(flag)) values.set(flag, "");
    else if (withValue.includes(flag) && at + 1 < args.length) {
      at += 1;
      values.set(flag, args[at]);
    } else {
      process.stderr.write(`There is no option ${flag}.\n\n${usage}`);
      return 2;
    }
  }
  const again = mkdtempSync(join(tmpdir(), "lockstep-again-"));
  try {
    makeRelease(values, again);
    return 0;
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return 1;
  } finally {
    rmSync(again, { recursive: true, force: true });
  }
}

function makeRelease(values, again) {
  const say = (line) => process.stdout.write(`${line}\n`);
  const problem = values.has("--untagged") ? undefined : tagProblem();
  if (problem !== undefined) throw new Error(`${problem}: use --untagged to try it all the same`);
  const out = resolve(values.get("--out") ?? join(root, "dist", "release"));
  const addresses = {
    baseUrl: values.get("--base-url") ?? "https://example.invalid",
    homepage: values.get("--homepage") ?? "https://example.invalid",
  };
  makeFiles(out, addresses);
  makeFiles(again, addresses);
  const names = filesOf(out);
  const differing = differences(out, again, names);
  if (differing.length > 0) throw new Error(`made twice, these differ: ${differing.join(", ")}`);
  say(`✓ ${names.length} files are byte-identical when made twice`);
  if (!values.has("--no-image")) {
    say("Building the image");
    say(run(process.execPath, ["scripts/build-image.mjs", "--out", join(out, "image")]).trim());
    for (const name of filesOf(join(out, "image")).filter((one) => one !== "SHA256SUMS")) {
      run("mv", [join(out, "image", name), join(out, name)]);
    }
    rmSync(join(out, "image"), { recursive: true });
  }
  const sums = filesOf(out).map((name) => `${sha256(join(out, name))}  ${name}\n`);
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: out });
  if (existsSync(join(out, "lockstep-krew.yaml")) && !values.has("--base-url")) {
    say("! lockstep-krew.yaml has no usable address: give --base-url");
  }
  for (const line of sums) say(`  ${basename(line.trim().split("  ")[1])}`);
  say(out);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = main(process.argv.slice(2));
}
