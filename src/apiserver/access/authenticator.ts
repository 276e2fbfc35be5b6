// Authentication of a request: by a static token, by a token of a ServiceAccount, or as anonymous.
// A token of a ServiceAccount is valid only while this server's caches have every object it is
// bound to.

import { isLegacy, type TokenKey, verifyToken } from "../../components/service-account-tokens.ts";
import type { Clock } from "../../environment/clock.ts";
import { ApiError } from "../api-error.ts";
import {
  type Authentication,
  anonymous,
  asAuthenticated,
  bearerToken,
  serviceAccountGroups,
  serviceAccountName,
  type User,
} from "../http/authentication.ts";
import { type JsonObject, numberAt, objectAt, textAt, textsAt } from "../kinds/fields.ts";
import { nodeKind } from "../kinds/node.ts";
import { podKind } from "../kinds/pod.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import { secretKind } from "../kinds/secret.ts";
import { serviceAccountKind } from "../kinds/service-account.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Backend } from "../verbs/backend.ts";
import { quotedList } from "./policy-rule.ts";

export interface AuthenticatorOptions {
  readonly clock: Clock;
  readonly authentication: Authentication;
  /** Signs the tokens of ServiceAccounts; without it there are none. */
  readonly key: TokenKey | undefined;
  /** Of the tokens, and the only audience this server is. */
  readonly issuer: string;
  /** A request without a token is from system:anonymous instead of being refused. */
  readonly allowsAnonymous: boolean;
  readonly backend: Pick<Backend, "store">;
}

export type TokenVerdict =
  | { readonly user: User; readonly audiences: readonly string[] }
  | { readonly problem: string };

/** The bound of the cache of verified tokens, which any client can fill. */
const maxVerified = 1000;

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  /** Static users with the group that all authenticated ones have. */
  readonly #known = new Map<User, User>();
  readonly #verified = new Map<string, JsonObject>();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /** Throws 401. The answer is at hand for static tokens, which most requests have. */
  authenticate(authorization: string | undefined): User | Promise<User> {
    const token = bearerToken(authorization);
    if (token === undefined) {
      if (this.#options.allowsAnonymous) return anonymous;
      throw unauthorized();
    }
    return this.#static(token) ?? this.#byServiceAccount(token);
  }

  /** The status of a TokenReview. */
  async review(token: string, audiences: readonly string[]): Promise<TokenVerdict> {
    const own = [this.#options.issuer];
    const wanted = audiences.length === 0 ? own : audiences;
    const known = this.#static(token);
    if (known !== undefined) {
      const shared = wanted.filter((one) => own.includes(one));
      if (shared.length === 0) return { problem: "invalid bearer token" };
      return { user: known, audiences: shared };
    }
    return this.#serviceAccount(token, wanted);
  }

  #static(token: string): User | undefined {
    const given = this.#options.authentication.tokens.get(token);
    if (given === undefined) return undefined;
    let known = this.#known.get(given);
    if (known === undefined) {
      known = asAuthenticated(given);
      this.#known.set(given, known);
    }
    return known;
  }

  async #byServiceAccount(token: string): Promise<User> {
    const verdict = await this.#serviceAccount(token, [this.#options.issuer]);
    if ("problem" in verdict) throw unauthorized();
    return verdict.user;
  }

  async #serviceAccount(token: string, audiences: readonly string[]): Promise<TokenVerdict> {
    const claims = this.#claims(token);
    if (claims === undefined) return { problem: "invalid bearer token" };
    const given = isLegacy(claims) ? [this.#options.issuer] : textsAt(claims, "aud");
    const shared = given.filter((one) => audiences.includes(one));
    if (shared.length === 0) {
      const problem = `token audiences ${quotedList(given)} is invalid for the target audiences ${quotedList(audiences)}`;
      return invalid(problem);
    }
    const problem = isLegacy(claims)
      ? await this.#legacyProblem(token, claims)
      : await this.#boundProblem(claims);
    if (problem !== undefined) return invalid(problem);
    return { user: userOf(claims), audiences: shared };
  }

  #claims(token: string): JsonObject | undefined {
    const { key } = this.#options;
    if (key === undefined) return undefined;
    const known = this.#verified.get(token);
    if (known !== undefined) return known;
    const claims = verifyToken(key, token);
    if (claims === undefined) return undefined;
    if (this.#verified.size >= maxVerified) this.#verified.clear();
    this.#verified.set(token, claims);
    return claims;
  }

  async #boundProblem(claims: JsonObject): Promise<string | undefined> {
    const nowSeconds = this.#options.clock.wallMs() / 1000;
    if (nowSeconds > (numberAt(claims, "exp") ?? 0)) return "service account token has expired";
    const bound = objectAt(claims, "kubernetes.io") ?? {};
    const namespace = textAt(bound, "namespace");
    const name = textAt(bound, "serviceaccount", "name");
    const account = await this.#find(serviceAccountKind, namespace, name);
    if (account === undefined) return `serviceaccounts ${JSON.stringify(name)} not found`;
    const uid = textAt(bound, "serviceaccount", "uid");
    if (account.metadata.uid !== uid) {
      return `service account UID (${account.metadata.uid}) does not match claim (${uid})`;
    }
    const isPodBound = bound["pod"] !== undefined;
    const parts: readonly (readonly [string, ResourceKind, string | undefined])[] = [
      ["secret", secretKind, namespace],
      ["pod", podKind, namespace],
      ["node", nodeKind, undefined],
    ];
    for (const [field, kind, where] of parts) {
      const reference = objectAt(bound, field);
      // The node of a pod's token is not checked: the token ends with the pod.
      if (reference === undefined || (field === "node" && isPodBound)) continue;
      const object = await this.#find(kind, where, textAt(reference, "name"));
      if (object?.metadata.uid !== textAt(reference, "uid")) {
        return "service account token has been invalidated";
      }
    }
    return undefined;
  }

  async #legacyProblem(token: string, claims: JsonObject): Promise<string | undefined> {
    const { namespace, name, uid, secret } = readLegacy(claims);
    const stored = await this.#find(secretKind, namespace, secret);
    if (stored === undefined) return "Token has been invalidated";
    const copy = Buffer.from(textAt(stored, "data", "token"), "base64").toString("utf8");
    if (copy !== token) return "Token does not match server's copy";
    const account = await this.#find(serviceAccountKind, namespace, name);
    if (account?.metadata.uid !== uid) {
      return `ServiceAccount UID (${account?.metadata.uid ?? ""}) does not match claim (${uid})`;
    }
    return undefined;
  }

  #find(
    kind: ResourceKind,
    namespace: string | undefined,
    name: string,
  ): Promise<KubeObject | undefined> {
    return this.#options.backend.store(kind).getCached(namespace, name);
  }
}

function unauthorized(): ApiError {
  return new ApiError(401, "Unauthorized", "Unauthorized");
}

/** The real server tries several authenticators and reports the error of each. */
function invalid(problem: string): TokenVerdict {
  return { problem: `[invalid bearer token, ${problem}]` };
}

function userOf(claims: JsonObject): User {
  const bound = objectAt(claims, "kubernetes.io");
  const { namespace, name, uid } = isLegacy(claims)
    ? readLegacy(claims)
    : {
        namespace: textAt(bound, "namespace"),
        name: textAt(bound, "serviceaccount", "name"),
        uid: textAt(bound, "serviceaccount", "uid"),
      };
  const groups = serviceAccountGroups(namespace);
  return asAuthenticated({
    name: serviceAccountName(namespace, name),
    uid,
    groups,
    extra: extraOf(claims),
  });
}

function extraOf(claims: JsonObject): Record<string, readonly string[]> {
  const jti = textAt(claims, "jti");
  const bound = objectAt(claims, "kubernetes.io");
  const entries: readonly (readonly [string, string])[] = [
    ["credential-id", jti === "" ? "" : `JTI=${jti}`],
    ["node-name", textAt(bound, "node", "name")],
    ["node-uid", textAt(bound, "node", "uid")],
    ["pod-name", textAt(bound, "pod", "name")],
    ["pod-uid", textAt(bound, "pod", "uid")],
  ];
  const extra: Record<string, readonly string[]> = {};
  for (const [key, value] of entries) {
    if (value !== "") extra[`authentication.kubernetes.io/${key}`] = [value];
  }
  return extra;
}

function readLegacy(claims: JsonObject): {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly secret: string;
} {
  const at = (part: string): string => textAt(claims, `kubernetes.io/serviceaccount/${part}`);
  return {
    namespace: at("namespace"),
    name: at("service-account.name"),
    uid: at("service-account.uid"),
    secret: at("secret.name"),
  };
}
