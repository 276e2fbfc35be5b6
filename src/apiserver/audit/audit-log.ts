// The audit log of an API server: a line of JSON for each request at the level Metadata, as with
// `--audit-log-path` and `--audit-log-format=json`. A line has the user, the request, the time and
// the result, and no objects.
import { type Clock, toMicroTime, toTime, type WallMs } from "../../environment/clock.ts";
import { recordAt } from "../../kube/kinds/fields.ts";
import type { ResourceAttributes } from "../access/attributes.ts";
import type { Decision } from "../access/authorizer.ts";
import type { ApiError } from "../api-error.ts";
import { userInfo } from "../http/authentication.ts";
import type { RequestObserver, RequestOutcome, ServedRequest } from "../http/request-record.ts";
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
    this.#write(served, "ResponseStarted", statusOf(code, served.notes.failure));
  }

  finished(served: ServedRequest, { code, failure }: RequestOutcome): void {
    // A request that was not authenticated has no user, as in the real server.
    const stage = served.user === undefined ? "ResponseStarted" : "ResponseComplete";
    this.#write(served, stage, statusOf(code, failure));
  }

  #write(served: ServedRequest, stage: AuditStage, responseStatus?: object): void {
    if (this.#omitted.has(stage) || isOpen(served, responseStatus)) return;
    const { form, clock, write, peers } = this.#options;
    const { request, user, impersonated, receivedAt } = served;
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
        user: user === undefined ? {} : userInfo(user),
        impersonatedUser: impersonated && userInfo(impersonated),
        sourceIPs: [peers.address(request.peer)],
        ...(isToday ? { userAgent: request.headers["user-agent"] ?? "" } : {}),
        objectRef: objectRef(served, form),
        responseStatus,
        ...(form === "v1alpha1" ? {} : timestamps(receivedAt, now)),
        ...(isToday && user !== undefined ? { annotations: annotationsOf(served, stage) } : {}),
      }),
    );
  }
}

function statusOf(code: number, failure: ApiError | undefined): object {
  const { message, reason, details } = failure ?? {};
  const why = failure === undefined ? {} : { status: "Failure", message, reason, details };
  return { metadata: {}, ...why, code };
}

/** Paths that are answered before authentication: health and version. */
function isOpen({ user }: ServedRequest, status: object | undefined): boolean {
  return user === undefined && !(status !== undefined && "reason" in status);
}

const notAsked: Decision = { allowed: true, reason: "" };

/** In the order of their keys. None before the decision. */
function annotationsOf(served: ServedRequest, stage: AuditStage): object | undefined {
  const { decision: decided, issuedCredentialId: issued } = served.notes;
  const decision = served.attributes === undefined ? notAsked : decided;
  if (stage === "RequestReceived" || decision === undefined) return undefined;
  return {
    ...(issued === undefined
      ? {}
      : { "authentication.kubernetes.io/issued-credential-id": issued }),
    "authorization.k8s.io/decision": decision.allowed ? "allow" : "forbid",
    "authorization.k8s.io/reason": decision.reason,
  };
}

function timestamps(receivedAt: WallMs, now: WallMs) {
  return { requestReceivedTimestamp: toMicroTime(receivedAt), stageTimestamp: toMicroTime(now) };
}

function verbOf({ route, attributes, request }: ServedRequest): string {
  if (attributes !== undefined) return attributes.verb;
  return route?.type === "resource" ? route.verb : request.method.toLowerCase();
}

/** The name in the body is known only after the body was read. */
function objectRef(served: ServedRequest, form: AuditForm): object | undefined {
  const place = placeOf(served);
  if (place === undefined) return undefined;
  const sent = recordAt(served.notes.object ?? {}, "metadata");
  return {
    resource: place.resource,
    namespace: given(place.namespace) ?? given(sent["namespace"]),
    name: given(place.name) ?? given(sent["name"]),
    uid: given(sent["uid"]),
    ...(form === "v1alpha1" ? {} : { apiGroup: given(place.group) }),
    apiVersion: place.version,
    resourceVersion: given(sent["resourceVersion"]),
    subresource: given(place.subresource),
  };
}

type Place = Omit<ResourceAttributes, "type" | "verb">;

/** A request for a resource that there is not is one for a resource all the same. */
function placeOf({ route, attributes }: ServedRequest): Place | undefined {
  if (attributes !== undefined) return attributes.type === "resource" ? attributes : undefined;
  if (route?.type !== "resource") return undefined;
  const { group, version, resource } = route.kind;
  const { namespace = "", name = "", subresource = "" } = route;
  return { group, version, resource, namespace, name, subresource };
}

function given(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
