// The audit log of an API server: a line of JSON for each request at the level Metadata, as
// `--audit-log-path` gives it with `--audit-log-format=json`. It knows who asked for what, when and
// with what result, and nothing of the objects.
import { type Clock, toMicroTime, toTime, type WallMs } from "../../../environment/clock.ts";
import { recordAt } from "../../../kube/kinds/fields.ts";
import type { RequestObserver, RequestOutcome, ServedRequest } from "../http/served-request.ts";
import type { PeerAddresses } from "./peer-addresses.ts";

/** The API version the events are written in: 1.7, 1.8 to 1.11, 1.12 and later. */
export type AuditForm = "v1alpha1" | "v1beta1" | "v1";

/** Stages of a policy's `omitStages` are not written; most policies omit the first. */
export type AuditStage = "RequestReceived" | "ResponseStarted" | "ResponseComplete";

export interface AuditLogOptions {
  readonly clock: Clock;
  readonly form: AuditForm;
  readonly peers: PeerAddresses;
  readonly omitStages?: readonly AuditStage[];
  /** Takes each line, without its end. */
  readonly write: (line: string) => void;
}

export class AuditLog implements RequestObserver {
  readonly #options: AuditLogOptions;
  readonly #omitted: ReadonlySet<AuditStage>;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#omitted = new Set(options.omitStages ?? ["RequestReceived"]);
  }

  began(served: ServedRequest): void {
    this.#write(served, "RequestReceived");
  }

  streaming(served: ServedRequest, code: number): void {
    this.#write(served, "ResponseStarted", { metadata: {}, code });
  }

  finished(served: ServedRequest, { code, failure }: RequestOutcome): void {
    const { message, reason, details } = failure ?? {};
    const why = failure === undefined ? {} : { status: "Failure", message, reason, details };
    this.#write(served, "ResponseComplete", { metadata: {}, ...why, code });
  }

  #write(served: ServedRequest, stage: AuditStage, responseStatus?: object): void {
    // What was answered before anybody was authenticated is not audited: health and version.
    if (served.user === undefined || this.#omitted.has(stage)) return;
    const { form, clock, write, peers } = this.#options;
    const { request, user, receivedAt } = served;
    const now = clock.wallMs();
    const isToday = form === "v1";
    write(
      JSON.stringify({
        kind: "Event",
        apiVersion: `audit.k8s.io/${form}`,
        ...(isToday ? {} : { metadata: { creationTimestamp: toTime(receivedAt) } }),
        level: "Metadata",
        ...(isToday ? {} : { timestamp: toTime(receivedAt) }),
        auditID: served.auditId,
        stage,
        requestURI: request.target,
        verb: verbOf(served),
        user: { username: user.name, groups: [...user.groups, "system:authenticated"] },
        sourceIPs: [peers.address(request.peer)],
        ...(isToday ? { userAgent: request.headers["user-agent"] ?? "" } : {}),
        objectRef: objectRef(served, form),
        responseStatus,
        ...(form === "v1alpha1" ? {} : timestamps(receivedAt, now)),
        ...(isToday ? { annotations: allowed } : {}),
      }),
    );
  }
}

/** Everybody whom the lab's servers know may do everything. */
const allowed = { "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "" };

function timestamps(receivedAt: WallMs, now: WallMs) {
  return { requestReceivedTimestamp: toMicroTime(receivedAt), stageTimestamp: toMicroTime(now) };
}

function verbOf({ route, request }: ServedRequest): string {
  return route?.type === "resource" ? route.verb : request.method.toLowerCase();
}

/** What the object sent says is known only once it was read. */
function objectRef({ route, notes }: ServedRequest, form: AuditForm): object | undefined {
  if (route?.type !== "resource") return undefined;
  const sent = recordAt(notes.object ?? {}, "metadata");
  const text = (value: unknown): string | undefined =>
    typeof value === "string" && value !== "" ? value : undefined;
  return {
    resource: route.kind.resource,
    namespace: route.namespace ?? text(sent["namespace"]),
    name: route.name ?? text(sent["name"]),
    uid: text(sent["uid"]),
    ...(form === "v1alpha1" ? {} : { apiGroup: text(route.kind.group) }),
    apiVersion: route.kind.version,
    resourceVersion: text(sent["resourceVersion"]),
    subresource: route.subresource,
  };
}
