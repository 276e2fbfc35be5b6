// The files of `kubectl cluster-info dump --all-namespaces --output-directory`, made over the API
// with the same requests and the same layout. Beside them are the lists that an operator would save
// for a problem with endpoints, which that command leaves out.
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import { listAt, optionalString, type RawRecord, recordAt } from "../../kube/kinds/fields.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";

export interface DumpOptions {
  readonly client: KubeClient;
  /** Takes each file: `kube-system/pods.json`. */
  readonly write: (path: string, text: string) => void;
}

interface Listed {
  readonly file: string;
  readonly kind: string;
  readonly group: string;
  readonly resource: string;
}

/** kubectl's clusterinfo_dump.go, in its order. */
const namespaced: readonly Listed[] = [
  { file: "events", kind: "EventList", group: "api/v1", resource: "events" },
  {
    file: "replication-controllers",
    kind: "ReplicationControllerList",
    group: "api/v1",
    resource: "replicationcontrollers",
  },
  { file: "services", kind: "ServiceList", group: "api/v1", resource: "services" },
  { file: "daemonsets", kind: "DaemonSetList", group: "apis/apps/v1", resource: "daemonsets" },
  { file: "deployments", kind: "DeploymentList", group: "apis/apps/v1", resource: "deployments" },
  { file: "replicasets", kind: "ReplicaSetList", group: "apis/apps/v1", resource: "replicasets" },
  { file: "pods", kind: "PodList", group: "api/v1", resource: "pods" },
];

/** `kubectl get --all-namespaces -o json` of what moves an endpoint change, and of locks. */
const others: readonly Listed[] = [
  { file: "endpoints", kind: "EndpointsList", group: "api/v1", resource: "endpoints" },
  {
    file: "endpointslices",
    kind: "EndpointSliceList",
    group: "apis/discovery.k8s.io/v1",
    resource: "endpointslices",
  },
  {
    file: "ingresses",
    kind: "IngressList",
    group: "apis/networking.k8s.io/v1",
    resource: "ingresses",
  },
  { file: "leases", kind: "LeaseList", group: "apis/coordination.k8s.io/v1", resource: "leases" },
  { file: "configmaps", kind: "ConfigMapList", group: "api/v1", resource: "configmaps" },
];

const requestDeadlineMs = 60_000;

/** Throws as the client does. */
export async function dumpCluster({ client, write }: DumpOptions): Promise<void> {
  const nodes = { file: "nodes", kind: "NodeList", group: "api/v1", resource: "nodes" };
  write("cluster-info/nodes.json", asFile(await listOf(client, nodes)));
  const namespaces = await listOf(client, { ...nodes, kind: "", resource: "namespaces" });
  for (const namespace of listAt(namespaces, "items").map(nameOf)) {
    for (const listed of namespaced) {
      const list = await listOf(client, listed, namespace);
      write(`cluster-info/${namespace}/${listed.file}.json`, asFile(list));
      if (listed.file !== "pods") continue;
      for (const pod of listAt(list, "items").map(objectRecord)) {
        const path = `cluster-info/${namespace}/${nameOf(pod)}/logs.txt`;
        write(path, await podLogs(client, namespace, pod));
      }
    }
  }
  for (const listed of others) {
    write(`objects/${listed.file}.json`, asFile(await listOf(client, listed)));
  }
}

/** A kind that the server does not have gives an empty list, which is what is true of it. */
async function listOf(client: KubeClient, listed: Listed, namespace?: string): Promise<RawRecord> {
  const { group, resource, kind } = listed;
  const place = namespace === undefined ? "" : `/namespaces/${namespace}`;
  const path = `/${group}${place}/${resource}`;
  try {
    const limits = { deadlineMs: requestDeadlineMs };
    const answer = await client.request({ verb: "list", method: "GET", path, ...limits });
    return objectRecord(parseJson(answer));
  } catch (error) {
    if (!(error instanceof StatusError && error.code === 404)) throw error;
    const apiVersion = group.replace(/^apis?\//, "");
    return { kind, apiVersion, metadata: { resourceVersion: "" }, items: [] };
  }
}

async function podLogs(client: KubeClient, namespace: string, pod: RawRecord): Promise<string> {
  const name = nameOf(pod);
  const spec = recordAt(pod, "spec");
  const containers = [...listAt(spec, "initContainers"), ...listAt(spec, "containers")];
  const parts: string[] = [];
  for (const container of containers.map((one) => optionalString(objectRecord(one), "name"))) {
    const title = `container ${container ?? ""} of pod ${namespace}/${name}`;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?container=${container ?? ""}`;
    parts.push(`==== START logs for ${title} ====\n`);
    parts.push(await logText(client, path), `==== END logs for ${title} ====\n`);
  }
  return parts.join("");
}

async function logText(client: KubeClient, path: string): Promise<string> {
  try {
    const limits = { deadlineMs: requestDeadlineMs };
    const { body } = await client.request({ verb: "get", method: "GET", path, ...limits });
    return body.toString("utf8");
  } catch (error) {
    // The pod may have gone since it was listed; kubectl says so in the same place.
    if (!(error instanceof StatusError)) throw error;
    return `Request log error: ${error.message}\n`;
  }
}

/** kubectl's JSON printer indents by four. */
function asFile(list: RawRecord): string {
  return `${JSON.stringify(list, undefined, 4)}\n`;
}

function nameOf(object: unknown): string {
  return optionalString(recordAt(objectRecord(object), "metadata"), "name") ?? "";
}
