// Who is asking: a bearer token that is known, or nobody.
import type { Headers } from "../../../environment/network.ts";
import { ApiError } from "../api-error.ts";

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

export interface Authentication {
  /** User by bearer token. */
  readonly tokens: ReadonlyMap<string, User>;
}

export function authenticate(authentication: Authentication, headers: Headers): User {
  const [scheme = "", token = ""] = (headers["authorization"] ?? "").split(/\s+/, 2);
  const user = scheme.toLowerCase() === "bearer" ? authentication.tokens.get(token) : undefined;
  if (user === undefined) {
    throw new ApiError(401, "Unauthorized", "Unauthorized");
  }
  return user;
}
