// Real helm, built once from its Go module and kept in the user's cache folder. LOCKSTEP_HELM names
// another one.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const module = "helm.sh/helm/v3/cmd/helm";
const version = "v3.19.0";

/** Rendering without a server: the newest version that the real suite tests. */
export const renderedKubeVersion = "1.36.0";

/** The path of helm. Throws if it cannot be had. */
export function helmProgram(say) {
  const given = process.env["LOCKSTEP_HELM"];
  if (given !== undefined) return given;
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(cache, "lockstep", `helm-${version}`);
  const path = join(folder, "helm");
  if (existsSync(path)) return path;
  say(`Building helm ${version} (about two minutes the first time, kept in ${folder})`);
  mkdirSync(folder, { recursive: true });
  const answer = spawnSync("go", ["install", `${module}@${version}`], {
    env: { ...process.env, GOBIN: folder, GOFLAGS: "", GOWORK: "off", CGO_ENABLED: "0" },
    encoding: "utf8",
  });
  if (answer.error !== undefined) {
    throw new Error(
      "helm is not here and Go is not installed to build it; LOCKSTEP_HELM names one",
    );
  }
  if (answer.status !== 0) throw new Error(`helm cannot be built:\n${answer.stderr}`);
  return path;
}
