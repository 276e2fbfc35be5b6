// A patch in a request: which kind it is, by its media type, and what applying it gives or refuses.
import { ApiError } from "../api-error.ts";
import { badRequest, unsupportedMediaType } from "../decode/body.ts";
import { applyJsonPatch, JsonPatchError } from "./json-patch.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { applyStrategicMergePatch, StrategicPatchError } from "./strategic-merge-patch.ts";

/** From the document to the patched document; neither is changed. */
export type Patch = (document: unknown) => unknown;

/** Server-side apply (`application/apply-patch+yaml`) is not among them. */
const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
];

export function readPatch(body: Buffer, mediaType: string, schema: string): Patch {
  if (!patchTypes.includes(mediaType)) {
    throw unsupportedMediaType(patchTypes);
  }
  const patch = parsePatch(body);
  return (document) => {
    try {
      switch (mediaType) {
        case "application/json-patch+json":
          return applyJsonPatch(document, patch);
        case "application/merge-patch+json":
          return applyMergePatch(document, patch);
        default:
          return applyStrategicMergePatch(schema, document, patch);
      }
    } catch (error) {
      throw asRefusal(error);
    }
  };
}

function parsePatch(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw badRequest(
      `error decoding patch: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function asRefusal(error: unknown): unknown {
  if (error instanceof JsonPatchError) {
    return new ApiError(
      422,
      "Invalid",
      `the server rejected our request due to an error in our request: ${error.message}`,
      {},
    );
  }
  return error instanceof StrategicPatchError ? badRequest(error.message) : error;
}
