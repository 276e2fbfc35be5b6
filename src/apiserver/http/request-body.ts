// What a request brings: an object of the kind its path expects, or the options of a deletion.
import type { IncomingRequest } from "../../environment/network.ts";
import { mediaType, parseDocumentBody, readBody } from "../decode/body.ts";
import {
  type DecodedObject,
  decodeDocument,
  type ExpectedKind,
  type FieldValidation,
} from "../decode/request-object.ts";
import { type DeleteOptions, readDeleteOptions } from "../verbs/delete-options.ts";

/** The object in the body, of the expected kind. */
export async function decodeBody(
  request: IncomingRequest,
  expected: ExpectedKind,
  validation: FieldValidation,
): Promise<DecodedObject> {
  const body = await readBody(request);
  const document = parseDocumentBody(body, mediaType(request.headers), expected);
  return decodeDocument(document, expected, validation);
}

/** Clients put the group and version of the deleted resource here. */
const deleteOptionsKind: ExpectedKind = {
  kind: "DeleteOptions",
  apiVersion: "",
  schema: "meta.v1.DeleteOptions",
};

export async function decodeDeleteOptions(
  request: IncomingRequest,
  query: URLSearchParams,
): Promise<DeleteOptions> {
  const body = await readBody(request);
  if (body.byteLength === 0) {
    return readDeleteOptions(undefined, query);
  }
  const document = parseDocumentBody(body, mediaType(request.headers), deleteOptionsKind);
  return readDeleteOptions(decodeDocument(document, deleteOptionsKind, "Ignore").value, query);
}
