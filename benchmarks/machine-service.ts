// A service with one pod that answers: a listener on this machine.
import type { KubeClient } from "../src/kube/client/client.ts";

export const machineService = "web";

export async function createMachineService(
  client: KubeClient,
  { namespace, port }: { readonly namespace: string; readonly port: number },
): Promise<void> {
  const create = (path: string, body: object) =>
    client.request({ verb: "create", method: "POST", path, body });
  const core = `/api/v1/namespaces/${namespace}`;
  const name = machineService;
  await create("/api/v1/namespaces", { metadata: { name: namespace } });
  await create(`${core}/services`, {
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: port }] },
  });
  await create(`${core}/pods`, {
    metadata: { name, labels: { app: name } },
    spec: { nodeName: "node-1", containers: [{ name, image: name }] },
  });
  const podIP = "127.0.0.1";
  const conditions = [{ type: "Ready", status: "True" }];
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: `${core}/pods/${name}/status`,
    contentType: "application/merge-patch+json",
    body: { status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions } },
  });
}
