// serviceaccounts/token: issues a token of a ServiceAccount for an audience and a time. It may be
// bound to an object and is then valid only while that object exists.

import { signToken, type TokenKey } from "../../components/service-account-tokens.ts";
import { toTime } from "../../environment/clock.ts";
import { ApiError } from "../api-error.ts";
import type { ExpectedKind } from "../decode/request-object.ts";
import { serviceAccountName } from "../http/authentication.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { type JsonObject, numberAt, objectAt, textAt, textsAt } from "../kinds/fields.ts";
import { nodeKind } from "../kinds/node.ts";
import { podKind } from "../kinds/pod.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import { authenticationGroup } from "../kinds/reviews.ts";
import { secretKind } from "../kinds/secret.ts";
import { serviceAccountKind } from "../kinds/service-account.ts";
import type { KubeObject } from "../kube-object.ts";
import { badRequest, notFound } from "../listwatch/refusals.ts";
import type { Backend } from "../verbs/backend.ts";

export const tokenRequestKind: ExpectedKind = {
  kind: "TokenRequest",
  apiVersion: `${authenticationGroup}/v1`,
  schema: "authentication.v1.TokenRequest",
};

export interface TokenRequestCall {
  readonly backend: Backend;
  readonly key: TokenKey;
  readonly issuer: string;
  readonly namespace: string;
  readonly name: string;
  readonly request: JsonObject;
}

/** pkg/apis/authentication/v1 defaults and validation: an hour, and not less than ten minutes. */
const defaultSeconds = 3600;
const minSeconds = 600;
const maxSeconds = 2 ** 32;

export interface IssuedToken {
  readonly answer: JsonObject;
  /** By which the audit log knows the token. */
  readonly credentialId: string;
}

export async function issueToken(call: TokenRequestCall): Promise<IssuedToken> {
  const { backend, key, issuer, namespace, name, request } = call;
  const account = await required(backend, serviceAccountKind, namespace, name);
  const spec = objectAt(request, "spec") ?? {};
  const given = textsAt(spec, "audiences");
  const audiences = given.length === 0 ? [issuer] : given;
  const seconds = numberAt(spec, "expirationSeconds") ?? defaultSeconds;
  validateSeconds(seconds);
  const reference = objectAt(spec, "boundObjectRef");
  const bound = reference === undefined ? {} : await boundClaims(call, reference);
  const wall = backend.clock.wallMs();
  const now = Math.floor(wall / 1000);
  const jti = backend.random.uuid();
  const { uid = "" } = account.metadata;
  const token = signToken(key, {
    aud: audiences,
    exp: now + seconds,
    iat: now,
    iss: issuer,
    jti,
    "kubernetes.io": { namespace, ...bound, serviceaccount: { name, uid } },
    nbf: now,
    sub: serviceAccountName(namespace, name),
  });
  const ends = new Date((now + seconds) * 1000);
  const expirationTimestamp = `${ends.toISOString().slice(0, 19)}Z`;
  const answer = {
    kind: "TokenRequest",
    apiVersion: tokenRequestKind.apiVersion,
    metadata: { name, namespace, uid, creationTimestamp: toTime(wall) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: reference ?? null },
    status: { token, expirationTimestamp },
  };
  return { answer, credentialId: `JTI=${jti}` };
}

function validateSeconds(seconds: number): void {
  const field = "spec.expirationSeconds";
  const errors = new FieldErrors();
  if (seconds < minSeconds) {
    errors.invalid(field, seconds, "may not specify a duration less than 10 minutes");
  }
  if (seconds > maxSeconds) {
    errors.invalid(field, seconds, "may not specify a duration larger than 2^32 seconds");
  }
  errors.throwIfAny({ group: authenticationGroup, kind: "TokenRequest" }, "");
}

async function boundClaims(call: TokenRequestCall, reference: JsonObject): Promise<JsonObject> {
  const { backend, namespace } = call;
  const kind = textAt(reference, "kind");
  const apiVersion = textAt(reference, "apiVersion");
  const found = apiVersion === "v1" ? bindable[kind] : undefined;
  if (found === undefined) {
    const [version = "", group = ""] = apiVersion.split("/").reverse();
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  }
  const where = found.namespaced ? namespace : undefined;
  const object = await required(backend, found, where, textAt(reference, "name"));
  if (kind === "Pod" && textAt(object, "spec", "serviceAccountName") !== call.name) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(call.name)} to pod running with ` +
        "different serviceaccount name.",
    );
  }
  refuseOtherUid(object, textAt(reference, "uid"), kind);
  const own = { [kind.toLowerCase()]: referenceTo(object) };
  return kind === "Pod" ? { ...(await nodeClaim(backend, object)), ...own } : own;
}

const bindable: Readonly<Record<string, ResourceKind>> = {
  Pod: podKind,
  Node: nodeKind,
  Secret: secretKind,
};

async function nodeClaim(backend: Backend, pod: KubeObject): Promise<JsonObject> {
  const name = textAt(pod, "spec", "nodeName");
  if (name === "") return {};
  const node = await backend.store(nodeKind).get(undefined, name);
  return { node: node === undefined ? { name } : referenceTo(node) };
}

function referenceTo({ metadata: { name, uid } }: KubeObject): JsonObject {
  return { name, uid };
}

function refuseOtherUid(object: KubeObject, asked: string, kind: string): void {
  if (asked === "" || asked === object.metadata.uid) return;
  const { name } = object.metadata;
  throw new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${kind} ${JSON.stringify(name)}: the UID in the bound object ` +
      `reference (${asked}) does not match the UID in record. The object might have been deleted ` +
      "and then recreated",
    { name, kind },
  );
}

async function required(
  backend: Backend,
  kind: ResourceKind,
  namespace: string | undefined,
  name: string,
): Promise<KubeObject> {
  const object = await backend.store(kind).get(namespace, name);
  if (object === undefined) throw notFound(kind, name);
  return object;
}
