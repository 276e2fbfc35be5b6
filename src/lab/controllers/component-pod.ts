// The pod that stands in the API for a component of the control plane. The real ones are run by a
// kubelet from a file, and the API holds a mirror of them; here the component writes its own. Its
// command shows the flags, as operators read them.
import { toTime } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import { type RawRecord, recordAt } from "../../kube/kinds/fields.ts";
import { collectionPath, objectPath } from "../../kube/kinds/kind.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { podKind } from "../../kube/kinds/pod.ts";

export interface ComponentPodOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  readonly client: KubeClient;
  /** `kube-controller-manager`. */
  readonly component: string;
  readonly nodeName: string;
  readonly gitVersion: string;
  readonly command: readonly string[];
  /** How often it has ended by itself; 0 unless given. */
  readonly restartCount?: number;
  /** The address of its metrics; an annotation of the pod has it. */
  readonly listening?: { readonly host: string; readonly port: number } | undefined;
}

const namespace = "kube-system";

/** By this annotation a kubelet knows that it must not run the pod. */
const mirrorAnnotation = "kubernetes.io/config.mirror";

/** Where the pod of a component is. */
export function componentPodName(component: string, nodeName: string) {
  return { namespace, name: `${component}-${nodeName}` };
}

/** Between two tries, when the server is not there yet. */
const retryMs = 1000;

/** Tries until it has worked or the signal aborts: a component runs with or without its pod. */
export async function publishComponentPod(
  options: ComponentPodOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await replacePod(options, signal);
      return;
    } catch (error) {
      if (signal.aborted) return;
      options.log.warn("the component's pod could not be written", { error });
    }
    await options.timers.sleep(retryMs, signal);
  }
}

/** The pod of an earlier run goes: its flags may have been others. */
async function replacePod(options: ComponentPodOptions, signal: AbortSignal): Promise<void> {
  const { client, clock } = options;
  const pod = componentPodName(options.component, options.nodeName);
  const path = objectPath(podKind, pod);
  try {
    const body = { gracePeriodSeconds: 0 };
    await client.request({ verb: "delete", method: "DELETE", path, body, signal });
  } catch (error) {
    if (!(error instanceof StatusError && error.code === 404)) throw error;
  }
  const created = objectRecord(
    parseJson(
      await client.request({
        verb: "create",
        method: "POST",
        path: collectionPath(podKind, namespace),
        body: podOf(options, pod.name),
        signal,
      }),
    ),
  );
  await client.request({
    verb: "update",
    method: "PUT",
    path: objectPath(podKind, pod, "status"),
    body: { ...created, status: runningStatus(created, options, toTime(clock.wallMs())) },
    signal,
  });
}

function podOf(options: ComponentPodOptions, name: string) {
  const { component, nodeName, gitVersion, command } = options;
  const address = addressOf(options);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      name,
      labels: { component, tier: "control-plane" },
      annotations: { [mirrorAnnotation]: `${component}-${gitVersion}` },
    },
    spec: {
      nodeName,
      hostNetwork: true,
      priorityClassName: "system-node-critical",
      tolerations: [{ operator: "Exists" }],
      containers: [
        {
          name: component,
          image: imageOf(component, gitVersion),
          command,
          ...(address !== undefined && {
            ports: [{ name: "metrics", hostPort: address.port, containerPort: address.port }],
          }),
        },
      ],
    },
  };
}

/** In a simulation a machine listens under its name, which no pod can show. */
function addressOf({ listening }: ComponentPodOptions) {
  return listening !== undefined && /^[\d.]+$|:/.test(listening.host) ? listening : undefined;
}

function runningStatus(created: RawRecord, options: ComponentPodOptions, now: string): RawRecord {
  const { component, gitVersion, restartCount = 0 } = options;
  const ip = addressOf(options)?.host;
  const condition = (type: string) => ({ type, status: "True", lastTransitionTime: now });
  return {
    ...recordAt(created, "status"),
    phase: "Running",
    ...(ip !== undefined && { hostIP: ip, podIP: ip, podIPs: [{ ip }] }),
    startTime: now,
    conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition),
    containerStatuses: [
      {
        name: component,
        image: imageOf(component, gitVersion),
        imageID: "",
        ready: true,
        started: true,
        restartCount,
        state: { running: { startedAt: now } },
      },
    ],
  };
}

/** Where images came from at the time: `-amd64` was part of the name until 1.12. */
function imageOf(component: string, gitVersion: string): string {
  const minor = Number(/^v1\.(\d+)/.exec(gitVersion)?.[1]);
  if (minor < 12) return `gcr.io/google_containers/${component}-amd64:${gitVersion}`;
  return `${minor < 25 ? "k8s.gcr.io" : "registry.k8s.io"}/${component}:${gitVersion}`;
}
