// An ordinary client-go program against `lockstep lab`, and against a real API server, which is how
// its expectations are known to be true. It is built with the Go modules of this folder.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { finished, type LabProcess, startLabProcess } from "../lab-process.ts";
import { type RealControlPlane, startRealControlPlane } from "./harness/real-control-plane.ts";
import { writeRealResult } from "./results.ts";

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

const folder = mkdtempSync(join(tmpdir(), "lockstep-clientgo-"));
const program = join(folder, "clientgo");
/** The first build compiles client-go, which takes minutes where nothing is cached. */
const buildTimeoutMs = 600_000;
const runTimeoutMs = 180_000;

beforeAll(() => {
  execFileSync("go", ["build", "-mod=readonly", "-o", program, "./clientgo"], {
    cwd: dirname(fileURLToPath(import.meta.url)),
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" },
    stdio: ["ignore", "ignore", "inherit"],
  });
}, buildTimeoutMs);
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

it(
  "believes the embedded server",
  async () => {
    const lab: LabProcess = await startLabProcess("--nodes", "0");
    try {
      const checks = await run(lab.kubeconfig);
      record(checks);
      expect(checks.filter((check) => !check.ok)).toEqual([]);
      expect(checks.length).toBeGreaterThan(0);
    } finally {
      await lab.stop();
    }
  },
  runTimeoutMs,
);

it(
  "believes a real server",
  async () => {
    const plane: RealControlPlane = await startRealControlPlane();
    try {
      const checks = await run(plane.kubeconfig);
      expect(checks.filter((check) => !check.ok)).toEqual([]);
      expect(checks.length).toBeGreaterThan(0);
    } finally {
      await plane.stop();
    }
  },
  runTimeoutMs,
);

async function run(kubeconfig: string): Promise<readonly Check[]> {
  const { output, errorOutput, code } = await finished(
    spawn(program, ["--kubeconfig", kubeconfig], { stdio: ["ignore", "pipe", "pipe"] }),
  );
  const checks = output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Check);
  if (code !== 0 && checks.every((check) => check.ok)) throw new Error(errorOutput);
  return checks;
}

function record(checks: readonly Check[]): void {
  writeRealResult({
    section: "clientgo",
    title: "client-go",
    text: "A client-go program tests the requests of ordinary programs; the same program passes against a real server.",
    facts: { checks: checks.length, failed: checks.filter((check) => !check.ok).length },
    columns: ["check", "embedded server"],
    rows: checks.map(({ name, ok, detail }) => [name, ok ? "as a real server" : detail]),
  });
}
