// What a recording will list and watch in one cluster, how much that is, and what a missing permission
// costs whoever asks `lockstep blame` later. The same questions as before an observation.
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ClusterObservation, type ObservedForm } from "../../observe/cluster-observation.ts";
import type { ClusterPermissions } from "../../observe/permissions.ts";
import type { ClusterPreview } from "../../observe/preview.ts";
import type { PublishedForm } from "../../sources/published-form.ts";
import type { ObservationSink } from "../../timeline/observation.ts";

export interface RecordSurveyOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly cluster: string;
  readonly client: KubeClient;
  readonly form: ObservedForm;
  /** All when undefined. */
  readonly namespaces: readonly string[] | undefined;
}

/** What blame cannot say without them. */
export const costOfMissing: Readonly<Record<string, string>> = {
  pods: "blame cannot match an address to a pod",
  services: "blame cannot explain a 503 for which no endpoint was tried",
  nodes: "pods on a lost node are treated as healthy",
  endpointslices: "blame cannot name the late hop",
  endpoints: "blame cannot name the late hop",
};

/** An observation that only asks tells nobody anything. */
const unheard: ObservationSink = {
  report: () => undefined,
  follow: () => undefined,
  unfollow: () => undefined,
};

export class RecordSurvey {
  /** It is never started. */
  readonly #observation: ClusterObservation;

  constructor(options: RecordSurveyOptions) {
    const part = { isBusiness: true, isAccess: false, nodes: true };
    const originOf = () => undefined;
    this.#observation = new ClusterObservation({ ...options, ...part, originOf, sink: unheard });
  }

  /** How the cluster publishes, as far as that may be read; rejects without an answer. */
  form(signal: AbortSignal): Promise<PublishedForm> {
    return this.#observation.form(signal);
  }

  /** Never rejects. */
  preview(signal: AbortSignal): Promise<ClusterPreview> {
    return this.#observation.preview(signal);
  }

  /** Never rejects. */
  async permissions(signal: AbortSignal): Promise<ClusterPermissions> {
    const asked = await this.#observation.permissions(signal);
    const lost = asked.lost.map((one) => ({
      ...one,
      sentence: `Missing permission: list/watch ${one.resource} in ${placeOf(one)}. Effect: ${costOfMissing[one.resource]}`,
    }));
    return { ...asked, lost };
  }
}

function placeOf({
  cluster,
  namespace,
}: Pick<ClusterPermissions["lost"][number], "cluster" | "namespace">): string {
  return namespace === undefined ? cluster : `namespace ${namespace} of ${cluster}`;
}
