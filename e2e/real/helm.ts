// Real helm and kubectl in front of one cluster, and everything that is in it: to see that an uninstalled
// chart leaves nothing behind.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export const chart = "deploy/chart";
export const release = "lockstep";
export const namespace = "lockstep";

/** Written by controllers at their own pace, or only a trace of what was. */
const notCompared =
  /^(event|lease|node|endpoints|endpointslice|pod|replicaset|controllerrevision)[./]/;

/** No wait of helm or for a state ends sooner than a slow machine needs. */
const patienceMs = 600_000;

export interface Ran {
  readonly code: number;
  readonly output: string;
  readonly errorOutput: string;
}

export function runProgram(program: string, args: readonly string[], input = ""): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(program, [...args], options, (error, output, errorOutput) => {
      const code = error === null ? 0 : Number(error.code ?? 1);
      resolve({ code, output, errorOutput });
    });
    child.stdin?.end(input);
  });
}

export function helmProgram(): string {
  const program = process.env["LOCKSTEP_HELM"];
  if (program === undefined) throw new Error("LOCKSTEP_HELM is not set: run npm run test:real");
  return program;
}

export class HelmCluster {
  readonly #folder = mkdtempSync(join(tmpdir(), "lockstep-helm-"));
  readonly #kubeconfig: string;
  readonly #kubectl: string;

  constructor(kubeconfig: string, kubectl: string) {
    this.#kubeconfig = kubeconfig;
    this.#kubectl = kubectl;
  }

  /** Its standard output; it must succeed. */
  async helm(args: readonly string[], values: object = {}): Promise<string> {
    const { code, output, errorOutput } = await this.tryHelm(args, values);
    if (code !== 0) throw new Error(`helm ${args.join(" ")} failed:\n${errorOutput}`);
    return output;
  }

  async tryHelm(args: readonly string[], values: object = {}): Promise<Ran> {
    const file = join(this.#folder, "values.json");
    writeFileSync(file, JSON.stringify(values));
    const takesValues = ["install", "upgrade", "template", "lint"].includes(args[0] ?? "");
    const own = ["--kubeconfig", this.#kubeconfig, "--namespace", namespace];
    return await runProgram(helmProgram(), [
      ...args,
      ...own,
      ...(takesValues ? ["--values", file] : []),
    ]);
  }

  async kubectl(args: readonly string[], input = ""): Promise<string> {
    const all = ["--kubeconfig", this.#kubeconfig, ...args];
    const { code, output, errorOutput } = await runProgram(this.#kubectl, all, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed:\n${errorOutput}`);
    return output;
  }

  /** Every object of every kind that can be listed, as `namespace kind/name`. */
  async everything(): Promise<readonly string[]> {
    const kinds = await this.kubectl(["api-resources", "--verbs=list,get", "-o", "name"]);
    const names = kinds
      .split("\n")
      .filter((line) => line !== "")
      .join(",");
    const format =
      "--output=jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{'\\n'}{end}";
    const listed = await this.kubectl(["get", names, "--all-namespaces", format]);
    return [...new Set(listed.split("\n"))]
      .filter((line) => line !== "" && !notCompared.test(line.toLowerCase()))
      .toSorted();
  }

  /** Names of what exists of this kind in the namespace of the release. */
  async names(kind: string): Promise<readonly string[]> {
    const listed = await this.kubectl(["get", kind, "-n", namespace, "-o", "name"]);
    return listed.split("\n").filter((line) => line !== "");
  }

  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + patienceMs;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`it took too long until ${what}`);
      await sleep(200);
    }
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
