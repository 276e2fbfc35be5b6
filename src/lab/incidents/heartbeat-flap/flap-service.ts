// A service with a pod on every node and no readiness probe: its pods are ready from their start
// until somebody says otherwise.
import type { KubeClient } from "../../../kube/client/client.ts";

const name = "steady";
const containerPort = 8080;
const requestDeadlineMs = 30_000;

/** Its `namespace/name`. The scheduler spreads the pods evenly. */
export async function createService(client: KubeClient, pods: number): Promise<string> {
  const labels = { app: name };
  const containers = [{ name, image: name, ports: [{ containerPort }] }];
  await create(client, "/apis/apps/v1/namespaces/default/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: pods,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  });
  await create(client, "/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { selector: labels, ports: [{ port: 80, targetPort: containerPort }] },
  });
  return `default/${name}`;
}

async function create(client: KubeClient, path: string, body: object): Promise<void> {
  const deadlineMs = requestDeadlineMs;
  await client.request({ verb: "create", method: "POST", path, body, deadlineMs });
}
