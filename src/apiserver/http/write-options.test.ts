import { expect, test } from "vitest";
import { ApiError } from "../api-error.ts";
import { readWriteOptions, type WriteOperation } from "./write-options.ts";

const read = (query: string, operation: WriteOperation) =>
  readWriteOptions(new URLSearchParams(query), operation);

function refusal(query: string, operation: WriteOperation): string {
  try {
    read(query, operation);
    return "";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.message;
  }
}

test("a write without parameters warns about unknown fields and stores the object", () => {
  const options = { manager: "", dryRun: false, validation: "Warn", isForced: false };
  expect(read("", "create")).toEqual(options);
});

test("every parameter is read", () => {
  const query = "fieldManager=me&dryRun=All&fieldValidation=Strict&force=true";
  const options = { manager: "me", dryRun: true, validation: "Strict", isForced: true };
  expect(read(query, "apply")).toEqual(options);
});

test("one refusal lists everything that is wrong, in the order of the real server", () => {
  const manager = "m".repeat(129);
  const query = `force=1&dryRun=Some&fieldValidation=No&fieldManager=${manager}`;
  expect(refusal(query, "patch")).toBe(
    'PatchOptions.meta.k8s.io "" is invalid: [force: Forbidden: may not be specified for ' +
      "non-apply patch, fieldManager: Too long: may not be more than 128 bytes, dryRun: " +
      'Unsupported value: ["Some"]: supported values: "All", fieldValidation: Unsupported value: ' +
      '"No": supported values: "", "Ignore", "Strict", "Warn"]',
  );
});

test("an apply must name its field manager", () => {
  expect(refusal("", "apply")).toBe(
    'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply ' +
      "patch",
  );
});
