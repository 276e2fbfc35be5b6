// Access control of one API server: authentication, impersonation, authorization, tokens and
// reviews. In the mode AlwaysAllow every authenticated user may do everything.

import {
  defaultIssuer,
  discoveryDocument,
  keySet,
} from "../../components/service-account-tokens.ts";
import type { Headers } from "../../environment/network.ts";
import type { ApiError } from "../api-error.ts";
import { type Answer, jsonAnswer } from "../http/answer.ts";
import type { Authentication, User } from "../http/authentication.ts";
import { withoutSlash } from "../http/other-paths.ts";
import type { RequestNotes } from "../http/request-record.ts";
import type { JsonObject } from "../kinds/fields.ts";
import { rbacGroup } from "../kinds/rbac.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import { notFound } from "../listwatch/refusals.ts";
import type { Backend, Target } from "../verbs/backend.ts";
import { allow, type RequestContext } from "../verbs/request-context.ts";
import type { Attributes } from "./attributes.ts";
import { Authenticator } from "./authenticator.ts";
import { type AuthorizationMode, Authorizer, forbidden } from "./authorizer.ts";
import { ensureBootstrapPolicy } from "./bootstrap-policy.ts";
import { refuseEscalation } from "./escalation.ts";
import { impersonationWays } from "./impersonation.ts";
import { Reviews } from "./reviews.ts";
import { issueToken } from "./token-request.ts";

export interface AccessControlOptions {
  readonly backend: Backend;
  readonly authentication: Authentication;
  readonly mode: AuthorizationMode;
  /** As servers do since 1.36. */
  readonly constrainsImpersonation: boolean;
}

/** One write, as the rules about roles need to know it. */
interface RoleWriteCall {
  readonly kind: ResourceKind;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export class AccessControl {
  readonly authorizer: Authorizer;
  readonly reviews: Reviews;
  readonly #options: AccessControlOptions;
  readonly #authenticator: Authenticator;
  readonly #issuer: string;

  constructor(options: AccessControlOptions) {
    const { backend, authentication, mode } = options;
    const { clock } = backend;
    this.#options = options;
    this.#issuer = authentication.issuer ?? defaultIssuer;
    this.authorizer = new Authorizer({ mode, backend });
    this.#authenticator = new Authenticator({
      clock,
      authentication,
      key: authentication.tokenKey,
      issuer: this.#issuer,
      // As the real server: no anonymous requests in the mode AlwaysAllow.
      allowsAnonymous: mode !== "AlwaysAllow",
      backend,
    });
    const parts = { authenticator: this.#authenticator, authorizer: this.authorizer };
    this.reviews = new Reviews({ clock, ...parts });
  }

  get isGuarded(): boolean {
    return this.#options.mode !== "AlwaysAllow";
  }

  /** Stores the roles every cluster has, and resolves when requests can be decided. */
  async start(): Promise<void> {
    if (!this.isGuarded) return;
    await ensureBootstrapPolicy(this.#options.backend);
    await this.authorizer.start();
  }

  /** Idempotent. */
  stop(): void {
    this.authorizer.stop();
  }

  /** Throws 401. At hand for static tokens, so that they cost no turn of the event loop. */
  authenticate(headers: Headers): User | Promise<User> {
    return this.#authenticator.authenticate(headers["authorization"]);
  }

  /** The user that the request acts as: the requestor, or the impersonated user. Throws 403. */
  actingUser(requestor: User, headers: Headers, attributes: Attributes): User {
    const { constrainsImpersonation: isConstrained } = this.#options;
    const ways = impersonationWays({ requestor, headers, attributes, isConstrained });
    if (ways === undefined) return requestor;
    let refusal: ApiError | undefined;
    for (const { user, needs } of ways) {
      const denied = needs.find((access) => !this.authorizer.decide(access).allowed);
      if (denied === undefined) return user;
      refusal ??= forbidden(denied, this.authorizer.decide(denied).reason);
    }
    throw refusal ?? new Error("there is no way to impersonate, and nothing refused it");
  }

  /** Throws 403, and notes why it was allowed or not. */
  authorize(user: User, attributes: Attributes, notes: RequestNotes): void {
    const access = { user, attributes };
    const decision = this.authorizer.decide(access);
    notes.decision = decision;
    if (!decision.allowed) throw forbidden(access, decision.reason);
  }

  /** Admission of one write: a role or binding must not grant more than the user holds. */
  admission(user: User, call: RoleWriteCall): RequestContext["admit"] {
    const { kind, namespace = "", name = "" } = call;
    if (!this.isGuarded || kind.group !== rbacGroup) return allow;
    const write = { authorizer: this.authorizer, user, kind, namespace, name };
    return (object, current) => refuseEscalation({ ...write, object, current });
  }

  /** Answers `serviceaccounts/token`. */
  async issueToken(
    { kind, namespace = "", name }: Target,
    request: JsonObject,
    notes: RequestNotes,
  ): Promise<JsonObject> {
    const { backend, authentication } = this.#options;
    const { tokenKey: key } = authentication;
    if (key === undefined) throw notFound({ ...kind, resource: `${kind.resource}/token` }, name);
    const issuer = this.#issuer;
    const issued = await issueToken({ backend, key, issuer, namespace, name, request });
    notes.issuedCredentialId = issued.credentialId;
    return issued.answer;
  }

  /** The two documents by which others verify tokens of this cluster; undefined for other paths. */
  openIdAnswer(path: string, server: string): Answer | undefined {
    const { tokenKey: key } = this.#options.authentication;
    if (key === undefined) return undefined;
    const document = withoutSlash(path);
    if (document === "/.well-known/openid-configuration") {
      return jsonAnswer(200, discoveryDocument(this.#issuer, server));
    }
    if (document !== "/openid/v1/jwks") return undefined;
    return { ...jsonAnswer(200, keySet(key)), contentType: "application/jwk-set+json" };
  }
}
