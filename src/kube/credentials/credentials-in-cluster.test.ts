// A pod's service account, as files on a real disk.
import { afterEach, beforeEach, expect, it } from "vitest";
import { nodeEnvironment } from "../../environment/node/node-environment.ts";
import type { Processes } from "../../environment/processes.ts";
import { inClusterAccess, isInCluster } from "./credentials-in-cluster.ts";

const environment = nodeEnvironment({ log: { write: () => undefined } });
const { files } = environment;
let serviceAccountDirectory: string;

beforeEach(async () => {
  serviceAccountDirectory = await files.temporaryDirectory("credentials-in-cluster-");
});
afterEach(() => files.remove(serviceAccountDirectory));

it.each([
  ["10.96.0.1", "https://10.96.0.1:443"],
  ["fd00::1", "https://[fd00::1]:443"],
])("shows the service account's token at %s", async (host, server) => {
  const processes = processesWith({
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: "443",
  });
  await files.write(`${serviceAccountDirectory}/ca.crt`, "CA\n");
  await files.write(`${serviceAccountDirectory}/token`, "pod-token\n");
  const access = inClusterAccess({ ...environment, processes, serviceAccountDirectory });
  expect(isInCluster(processes)).toBe(true);
  expect(access.server).toBe(server);
  expect(await access.credentials()).toEqual({
    authorization: "Bearer pod-token",
    tls: { ca: "CA" },
  });
});

it("names the file that is missing", async () => {
  const processes = processesWith({
    KUBERNETES_SERVICE_HOST: "10.96.0.1",
    KUBERNETES_SERVICE_PORT: "443",
  });
  const access = inClusterAccess({ ...environment, processes, serviceAccountDirectory });
  await expect(access.credentials()).rejects.toMatchObject({
    code: "UNREADABLE",
    message: `the service account's token: no such file: ${serviceAccountDirectory}/token`,
  });
});

it("says that this is not a pod when it is not", () => {
  const processes = processesWith({});
  expect(isInCluster(processes)).toBe(false);
  expect(() => inClusterAccess({ ...environment, processes })).toThrow(
    "this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
  );
});

function processesWith(variables: Processes["variables"]): Processes {
  return { ...environment.processes, variables };
}
