// Reviews: a client creates one as a question, the answer has the result in its status, and nothing
// is stored.
import { defineKind, type ResourceKind } from "./resource-kind.ts";

export const authenticationGroup = "authentication.k8s.io";
export const authorizationGroup = "authorization.k8s.io";

export const tokenReviewKind = question("authentication", "TokenReview");
export const selfSubjectReviewKind = question("authentication", "SelfSubjectReview");
export const localSubjectAccessReviewKind = question("authorization", "LocalSubjectAccessReview");
export const selfSubjectAccessReviewKind = question("authorization", "SelfSubjectAccessReview");
export const selfSubjectRulesReviewKind = question("authorization", "SelfSubjectRulesReview");
export const subjectAccessReviewKind = question("authorization", "SubjectAccessReview");

/** In the order of discovery. */
export const reviewKinds: readonly ResourceKind[] = [
  selfSubjectReviewKind,
  tokenReviewKind,
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
];

function question(family: "authentication" | "authorization", kind: string): ResourceKind {
  return defineKind({
    group: `${family}.k8s.io`,
    kind,
    resource: `${kind.toLowerCase()}s`,
    namespaced: kind.startsWith("Local"),
    schema: `${family}.v1.${kind}`,
    createOnly: true,
  });
}
