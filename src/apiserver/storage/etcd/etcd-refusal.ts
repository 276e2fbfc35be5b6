// Refusals of etcd and their reasons: its gateway answers with the code and the message of gRPC.
import type { IncomingResponse } from "../../../environment/network.ts";
import { readBounded } from "../../../kube/client/http-client-body.ts";
import { isRecord, type RawRecord } from "../../../kube/kinds/fields.ts";

/** Of a refusal only a line matters. */
const longestRefusalBytes = 64 * 1024;

/** google.golang.org/grpc/codes. */
const grpcCodes = { outOfRange: 11, resourceExhausted: 8, unavailable: 14 } as const;

export class EtcdRefusal extends Error {
  override readonly name = "EtcdRefusal";
  readonly code = "ETCD_REFUSED";
  readonly grpcCode: number;

  constructor(grpcCode: number, message: string) {
    super(message);
    this.grpcCode = grpcCode;
  }

  /** No leader, a leader that changed, a proposal that took too long. */
  get isUnavailable(): boolean {
    return this.grpcCode === grpcCodes.unavailable;
  }

  /** The revision is older than what etcd still knows. */
  get isCompacted(): boolean {
    return this.grpcCode === grpcCodes.outOfRange && this.message.includes("has been compacted");
  }

  get isFuture(): boolean {
    return this.grpcCode === grpcCodes.outOfRange && this.message.includes("future revision");
  }

  /** The answer does not fit into one message: ask for less at once. */
  get isTooLarge(): boolean {
    return (
      this.grpcCode === grpcCodes.resourceExhausted && this.message.includes("larger than max")
    );
  }
}

export async function refusalOf(response: IncomingResponse, path: string): Promise<EtcdRefusal> {
  const text = (await readBounded(response.body, longestRefusalBytes, path, "cut")).toString(
    "utf8",
  );
  return parseRefusal(text) ?? new EtcdRefusal(0, `${path} was answered with ${response.status}`);
}

/** `{"error":"…","message":"…","code":11}`, with or without the first, or the same in a stream. */
function parseRefusal(text: string): EtcdRefusal | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return isRecord(body) ? refusalIn(body) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The end of a stream brings it under `error`, with other names for the codes. */
export function refusalIn(body: RawRecord): EtcdRefusal | undefined {
  const fields = isRecord(body["error"]) ? body["error"] : body;
  const { message } = fields;
  const code = fields["code"] ?? fields["grpc_code"];
  if (typeof message !== "string") return undefined;
  return new EtcdRefusal(typeof code === "number" ? code : 0, message);
}
