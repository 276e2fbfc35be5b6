// Answers to reviews, the questions of the authentication and authorization groups: the own
// identity, the user of a token, whether a user may do something, the own rights in a namespace.
import { type Clock, toTime } from "../../environment/clock.ts";
import { type User, userInfo } from "../http/authentication.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { type JsonObject, objectAt, textAt, textMapOfListsAt, textsAt } from "../kinds/fields.ts";
import { groupVersion, type ResourceKind } from "../kinds/resource-kind.ts";
import { authorizationGroup } from "../kinds/reviews.ts";
import { badRequest } from "../listwatch/refusals.ts";
import type { Attributes } from "./attributes.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Authorizer } from "./authorizer.ts";
import type { PolicyRule } from "./policy-rule.ts";

export interface ReviewsOptions {
  readonly clock: Clock;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
}

export interface ReviewCall {
  readonly kind: ResourceKind;
  readonly user: User;
  /** Of the path; "" for the kinds that have none. */
  readonly namespace: string;
  readonly question: JsonObject;
}

export class Reviews {
  readonly #options: ReviewsOptions;

  constructor(options: ReviewsOptions) {
    this.#options = options;
  }

  async answer({ kind, user, namespace, question }: ReviewCall): Promise<JsonObject> {
    const spec = objectAt(question, "spec") ?? {};
    const metadata = objectAt(question, "metadata") ?? {};
    const head = { kind: kind.kind, apiVersion: groupVersion(kind) };
    switch (kind.kind) {
      case "SelfSubjectReview": {
        const creationTimestamp = toTime(this.#options.clock.wallMs());
        return { ...head, metadata: { creationTimestamp }, status: { userInfo: userInfo(user) } };
      }
      case "TokenReview":
        return { ...head, metadata, spec, status: await this.#tokenStatus(spec) };
      case "SelfSubjectRulesReview":
        return { ...head, metadata, spec: {}, status: this.#rulesStatus(user, spec) };
      case "SelfSubjectAccessReview":
        return {
          ...head,
          metadata,
          spec,
          status: this.#accessStatus(user, spec, new FieldErrors()),
        };
      case "LocalSubjectAccessReview": {
        const status = this.#subjectStatus(spec, localErrors(namespace, spec));
        return { ...head, metadata: { ...metadata, namespace }, spec, status };
      }
      case "SubjectAccessReview":
        return { ...head, metadata, spec, status: this.#subjectStatus(spec, new FieldErrors()) };
      default:
        throw new Error(`${kind.kind} is not a review`);
    }
  }

  async #tokenStatus(spec: JsonObject): Promise<JsonObject> {
    const token = textAt(spec, "token");
    if (token === "") throw badRequest("token is required for TokenReview in authentication");
    const verdict = await this.#options.authenticator.review(token, textsAt(spec, "audiences"));
    if ("problem" in verdict) return { user: {}, error: verdict.problem };
    const { user, audiences } = verdict;
    return { authenticated: true, user: userInfo(user), audiences };
  }

  #subjectStatus(spec: JsonObject, errors: FieldErrors): JsonObject {
    const name = textAt(spec, "user");
    const groups = textsAt(spec, "groups");
    const subject: User = {
      name,
      groups,
      uid: textAt(spec, "uid"),
      extra: textMapOfListsAt(spec, "extra"),
    };
    return this.#accessStatus(subject, spec, errors, name === "" && groups.length === 0);
  }

  #accessStatus(user: User, spec: JsonObject, errors: FieldErrors, isNobody = false): JsonObject {
    const attributes = readAttributes(spec, errors);
    if (isNobody)
      errors.invalid("spec.user", "", "at least one of user or group must be specified");
    errors.throwIfAny({ group: authorizationGroup, kind: "" }, "");
    if (attributes === undefined) throw new Error("no attributes, and no error said so");
    const { allowed, reason } = this.#options.authorizer.decide({ user, attributes });
    return { allowed, ...(reason === "" ? {} : { reason }) };
  }

  #rulesStatus(user: User, spec: JsonObject): JsonObject {
    const namespace = textAt(spec, "namespace");
    if (namespace === "") throw badRequest("no namespace on request");
    const { rules, problem } = this.#options.authorizer.rulesFor(user, namespace);
    return {
      resourceRules: rules.filter(({ resources }) => resources.length > 0).map(resourceRule),
      nonResourceRules: rules
        .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
        .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
      incomplete: false,
      ...(problem === "" ? {} : { evaluationError: problem }),
    };
  }
}

function resourceRule({ verbs, apiGroups, resources, resourceNames }: PolicyRule): object {
  const names = resourceNames.length === 0 ? {} : { resourceNames };
  return { verbs, apiGroups, resources, ...names };
}

function readAttributes(spec: JsonObject, errors: FieldErrors): Attributes | undefined {
  const resource = objectAt(spec, "resourceAttributes");
  const path = objectAt(spec, "nonResourceAttributes");
  if (resource !== undefined && path !== undefined) {
    const printed = { Path: textAt(path, "path"), Verb: textAt(path, "verb") };
    const problem = "cannot be specified in combination with resourceAttributes";
    errors.invalid("spec.nonResourceAttributes", printed, problem);
  }
  if (resource === undefined && path === undefined) {
    const problem = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.invalid("spec.resourceAttributes", null, problem);
  }
  if (path !== undefined) {
    return { type: "path", verb: textAt(path, "verb"), path: textAt(path, "path") };
  }
  if (resource === undefined) return undefined;
  const at = (field: string): string => textAt(resource, field);
  return {
    type: "resource",
    verb: at("verb"),
    group: at("group"),
    version: at("version"),
    resource: at("resource"),
    subresource: at("subresource"),
    namespace: at("namespace"),
    name: at("name"),
  };
}

function localErrors(namespace: string, spec: JsonObject): FieldErrors {
  const errors = new FieldErrors();
  const attributes = objectAt(spec, "resourceAttributes");
  if (attributes === undefined) return errors;
  const given = textAt(attributes, "namespace");
  if (given !== namespace) {
    errors.invalid("spec.resourceAttributes.namespace", given, "must match metadata.namespace");
  }
  return errors;
}
