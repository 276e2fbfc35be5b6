// Where `npm run test:real` has put the real programs, and which versions they are.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export type RealProgram = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kubectl";

export interface RealVersions {
  readonly kubernetes: string;
  readonly etcd: string;
  readonly go: string;
}

export function realProgram(name: RealProgram): string {
  const path = join(folder(), name);
  if (!existsSync(path)) throw new Error(`${path} does not exist: run npm run test:real`);
  return path;
}

export function realVersions(): RealVersions {
  return JSON.parse(readFileSync(join(folder(), "versions.json"), "utf8")) as RealVersions;
}

function folder(): string {
  const given = process.env["LOCKSTEP_REAL_BIN"];
  if (given === undefined) {
    throw new Error("LOCKSTEP_REAL_BIN is not set: these tests are run by npm run test:real");
  }
  return given;
}
