// The patch contradicts the schema or itself. Which status that gives differs by the mistake: those
// that the server does not expect are answered as its own.

export class StrategicPatchError extends Error {
  override readonly name = "StrategicPatchError";
  readonly code = "STRATEGIC_PATCH";
  readonly status: 400 | 422 | 500;

  constructor(status: 400 | 422 | 500, message: string) {
    super(message);
    this.status = status;
  }
}
