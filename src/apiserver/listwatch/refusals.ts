// The refusals of list, watch and storage, in the words of the Kubernetes API server, because
// clients and people compare them. Each is one `ApiError`.
import { ApiError } from "../api-error.ts";
import { qualifiedResource } from "../kinds/resource-kind.ts";
import type { ResourceNames } from "./resource-names.ts";

type Subject = Pick<ResourceNames, "group" | "resource">;

/** The Retry-After when a version is newer than this server's cache. */
const tooLargeRetrySeconds = 1;

export function notFound(names: Subject, name: string): ApiError {
  const message = `${qualifiedResource(names)} ${JSON.stringify(name)} not found`;
  return new ApiError(404, "NotFound", message, about(names, name));
}

export function alreadyExists(names: Subject, name: string): ApiError {
  const message = `${qualifiedResource(names)} ${JSON.stringify(name)} already exists`;
  return new ApiError(409, "AlreadyExists", message, about(names, name));
}

export function conflict(names: Subject, name: string): ApiError {
  const subject = `${qualifiedResource(names)} ${JSON.stringify(name)}`;
  const message =
    `Operation cannot be fulfilled on ${subject}: the object has been modified; ` +
    "please apply your changes to the latest version and try again";
  return new ApiError(409, "Conflict", message, about(names, name));
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, "BadRequest", message);
}

/** A list of an exact version that the storage no longer has. */
export function listExpired(): ApiError {
  return expired("The resourceVersion for the provided list is too old.");
}

/** A watch of changes older than the cache's window. */
export function watchExpired(revision: number, oldest: number): ApiError {
  return expired(`too old resource version: ${revision} (${oldest})`);
}

/** The version is newer than the cache of this server, also after a wait. */
export function tooLargeResourceVersion(asked: number, current: number): ApiError {
  const message = `Timeout: Too large resource version: ${asked}, current: ${current}`;
  return new ApiError(504, "Timeout", message, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: tooLargeRetrySeconds,
  });
}

/** The cache has not listed the storage yet, or lost it and lists again. */
export function storageInitializing(): ApiError {
  const message = "storage is (re)initializing";
  return new ApiError(429, "TooManyRequests", message, { retryAfterSeconds: 1 });
}

/**
 * The pages of a list outlived the history they were cut from. The answer brings a token with
 * which the client may have the remainder as it is now.
 */
export class ContinueExpiredError extends ApiError {
  readonly continueToken: string;

  constructor(continueToken: string) {
    super(
      410,
      "Expired",
      "The provided continue parameter is too old to display a consistent list result. " +
        "You can start a new list without the continue parameter, or use the continue token in " +
        "this response to retrieve the remainder of the results. Continuing with the provided " +
        "token results in an inconsistent list - objects that were created, modified, or deleted " +
        "between the time the first chunk was returned and now may show up in the list.",
    );
    this.continueToken = continueToken;
  }

  override toStatus(): object {
    return { ...super.toStatus(), metadata: { continue: this.continueToken } };
  }
}

function expired(message: string): ApiError {
  return new ApiError(410, "Expired", message);
}

function about(names: Subject, name: string): { name: string; group?: string; kind: string } {
  const { group, resource } = names;
  return group === "" ? { name, kind: resource } : { name, group, kind: resource };
}
