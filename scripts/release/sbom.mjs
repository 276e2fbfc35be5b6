// The list of everything in a release, in the format CycloneDX: npm packages of the lock file, and for the
// image Node and the Debian packages of its root file system.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageVersion, root, run, sourceDate } from "./stage.mjs";

/** `dpkgFolder` is var/lib/dpkg of the image, `node` its version; without them only npm packages. */
export function sbom({ dpkgFolder, node, cpu = "x64" } = {}) {
  const components = [
    ...npmComponents(cpu),
    ...(node === undefined
      ? []
      : [component("application", "node", node, `pkg:generic/node@${node}`)]),
    ...(dpkgFolder === undefined ? [] : debianComponents(dpkgFolder)),
  ];
  const version = packageVersion();
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      timestamp: new Date(Number(sourceDate()) * 1_000).toISOString(),
      component: component("application", "lockstep", version, `pkg:npm/lockstep@${version}`),
    },
    components,
  };
}

function npmComponents(cpu) {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const fits = ({ os, cpu: cpus, libc }) =>
    (os?.includes("linux") ?? true) &&
    (cpus?.includes(cpu) ?? true) &&
    (libc?.includes("glibc") ?? true);
  return Object.entries(packages)
    .filter(([path, one]) => path !== "" && one.dev !== true && fits(one))
    .map(([path, one]) => {
      const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
      const purl = `pkg:npm/${name.replace("@", "%40")}@${one.version}`;
      return {
        ...component("library", name, one.version, purl),
        ...(one.license === undefined ? {} : { licenses: [{ expression: one.license }] }),
        ...(one.integrity === undefined ? {} : { hashes: [hashOf(one.integrity)] }),
      };
    });
}

function hashOf(integrity) {
  const [, algorithm, digest] = /^(sha\d+)-(.+)$/.exec(integrity) ?? [];
  const alg = algorithm === "sha512" ? "SHA-512" : "SHA-1";
  return { alg, content: Buffer.from(digest ?? "", "base64").toString("hex") };
}

function debianComponents(dpkgFolder) {
  const format = "${Package} ${Version} ${Architecture}\n";
  return run("dpkg-query", ["--admindir", dpkgFolder, "-W", "-f", format])
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [name, version, architecture] = line.split(" ");
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
      return component("library", name, version, purl);
    });
}

function component(type, name, version, purl) {
  return { type, "bom-ref": purl, name, version, purl };
}
