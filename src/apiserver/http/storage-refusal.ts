// What a client sees when the storage does not answer, in the words and codes of kube-apiserver 1.36
// with its etcd killed or stopped. None of them says that a write did not happen.
import { ApiError } from "../api-error.ts";
import { StorageTimeoutError, StorageUnavailableError } from "../storage/storage.ts";

/** Undefined for errors that do not come from a storage. */
export function storageRefusal(error: unknown): ApiError | undefined {
  if (error instanceof StorageTimeoutError) {
    const within =
      error.during === "write"
        ? "within requested timeout - context deadline exceeded"
        : "within the allotted timeout";
    return new ApiError(504, "Timeout", `Timeout: request did not complete ${within}`, {});
  }
  return error instanceof StorageUnavailableError ? new UnknownReasonError(error) : undefined;
}

/** An error that the real server has no reason for: its text, and 500. */
class UnknownReasonError extends ApiError {
  constructor(cause: Error) {
    super(500, "", cause.message);
    this.cause = cause;
  }

  override toStatus(): object {
    const { reason: _none, ...status } = { reason: "", ...super.toStatus() };
    return status;
  }
}
