// The conformance suite of the Gateway API where the API server, which validates the objects of the suite and
// the statuses of the product, and the controllers are real. Machines and pods are the lab's. The reports
// are the same as against a lab.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  comparable,
  grpcProfile,
  httpProfile,
  keptReport,
  passConformance,
  suiteTimeoutMs,
} from "./harness/gateway-suite.ts";
import { askNodesByAddress, serveKubeletLogs } from "./harness/kubelet-logs.ts";
import { startRealCluster } from "./harness/real-cluster.ts";

it.each([httpProfile, grpcProfile])(
  "$profile: every core test and the tests of every claimed feature pass",
  async (profile) => {
    const folder = mkdtempSync(join(tmpdir(), "lockstep-gateway-real-"));
    const apiServerFlags = [askNodesByAddress];
    const cluster = await startRealCluster({ name: "real", nodes: 2, apiServerFlags });
    let stopLogs = async (): Promise<void> => undefined;
    try {
      stopLogs = await serveKubeletLogs(cluster);
      const { client, plane } = cluster;
      const target = { client, kubeconfig: plane.kubeconfig };
      const { report } = await passConformance(profile, target, folder);
      expect(comparable(report)).toEqual(keptReport(profile));
    } finally {
      await stopLogs();
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  suiteTimeoutMs,
);
