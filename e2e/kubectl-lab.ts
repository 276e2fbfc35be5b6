// A `lockstep lab` and the ordinary kubectl to talk to it with: the one LOCKSTEP_KUBECTL names, or
// the machine's. The one in use is printed; without one of 1.27 or newer the tests are skipped and
// say so.
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { finished, type LabProcess, startLabProcess } from "./lab-process.ts";

export interface KubectlLab {
  /** Standard output of a kubectl that must succeed. */
  readonly kubectl: (...args: readonly string[]) => Promise<string>;
  /** kubectl's standard error when it must fail. */
  readonly refused: (...args: readonly string[]) => Promise<string>;
  /** The same with variables of the environment besides the usual. */
  readonly kubectlWith: (
    variables: Readonly<Record<string, string>>,
    ...args: readonly string[]
  ) => Promise<string>;
  /** The first lines of a kubectl that does not end by itself; `act` runs when one is there. */
  readonly watched: (
    count: number,
    args: readonly string[],
    act: () => Promise<unknown>,
  ) => Promise<readonly string[]>;
  /** Writes a file of that name and gives its path. */
  readonly file: (name: string, text: string) => string;
}

const oldestMinor = 27;
const program = process.env["LOCKSTEP_KUBECTL"] ?? "kubectl";
const version = findVersion();
export const kubectlMinor = version?.minor ?? 0;
const usable = version !== undefined && version.minor >= oldestMinor;
const found =
  version === undefined
    ? `no kubectl was found on this machine as ${program}`
    : `kubectl ${version.text}${usable ? "" : ` is older than 1.${oldestMinor}`}`;

const run = promisify(execFile);

/** Tests that share one lab. */
export function describeKubectl(
  title: string,
  labArguments: readonly string[],
  tests: (lab: KubectlLab) => void,
): void {
  if (!usable) process.stderr.write(`${found}: the kubectl tests are skipped\n`);
  describe.skipIf(!usable)(`${title}, with ${found}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "lockstep-e2e-kubectl-"));
    let lab: LabProcess | undefined;
    beforeAll(async () => {
      lab = await startLabProcess(...labArguments);
    });
    afterAll(async () => {
      await lab?.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    const environment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
      PATH: process.env["PATH"],
      HOME: folder,
      KUBECONFIG: lab?.kubeconfig,
      ...more,
    });
    tests({ ...callsIn(environment), file: (name, text) => written(join(folder, name), text) });
  });
}

/**
 * A table of kubectl, a line as its cells. Ages and addresses, which differ from run to run, are
 * replaced by placeholders. Widths do not matter.
 */
export function cells(text: string): readonly string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) =>
      line
        .trimEnd()
        .split(/\s{2,}/)
        .map((cell) => (/^\d+(s|m\d*s?)$/.test(cell) ? "AGE" : cell))
        .join(" | ")
        .replaceAll(/\b127\.\d+\.\d+\.\d+/g, "POD-IP")
        .replaceAll(/\b10\.96\.\d+\.\d+/g, "CLUSTER-IP"),
    );
}

function callsIn(
  environment: (more?: Readonly<Record<string, string>>) => NodeJS.ProcessEnv,
): Omit<KubectlLab, "file"> {
  const kubectlWith: KubectlLab["kubectlWith"] = async (variables, ...args) => {
    const { stdout } = await run(program, [...args], { env: environment(variables) });
    return stdout;
  };
  return {
    kubectlWith,
    kubectl: (...args) => kubectlWith({}, ...args),
    async refused(...args) {
      const result = await finished(spawn(program, [...args], { env: environment() }));
      expect(result.code).not.toBe(0);
      return result.errorOutput;
    },
    async watched(count, args, act) {
      const stdio = ["ignore", "pipe", "inherit"] as const;
      const watching = spawn(program, [...args], { env: environment(), stdio: [...stdio] });
      try {
        const lines = linesOf(watching.stdout);
        await lines(1);
        await act();
        return await lines(count);
      } finally {
        const exited = once(watching, "exit");
        watching.kill();
        await exited;
      }
    },
  };
}

/** Resolves to that many lines as soon as they are there. */
function linesOf(
  stream: NodeJS.ReadableStream | null,
): (count: number) => Promise<readonly string[]> {
  let text = "";
  let hasEnded = false;
  let notify = (): void => undefined;
  stream?.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    notify();
  });
  stream?.on("end", () => {
    hasEnded = true;
    notify();
  });
  return (count) =>
    new Promise((resolve, reject) => {
      notify = () => {
        const lines = text.split("\n").slice(0, -1);
        if (lines.length >= count) resolve(lines.slice(0, count));
        else if (hasEnded) reject(new Error(`the watch ended after: ${text}`));
      };
      notify();
    });
}

function written(path: string, text: string): string {
  writeFileSync(path, text);
  return path;
}

interface KubectlVersion {
  /** `v1.33.1` */
  readonly text: string;
  readonly minor: number;
}

/** Undefined when there is none. */
function findVersion(): KubectlVersion | undefined {
  try {
    const output = execFileSync(program, ["version", "--client", "-o", "json"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const text = String(JSON.parse(output).clientVersion.gitVersion);
    const [, minor = "0"] = /^v1\.(\d+)/.exec(text) ?? [];
    return { text, minor: Number(minor) };
  } catch {
    return undefined;
  }
}
