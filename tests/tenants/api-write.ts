// One write to the API server, as data.
import { type KubeClient, StatusError } from "../../src/kube/client/client.ts";

export interface ApiWrite {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

const verbs = { POST: "create", PATCH: "patch", DELETE: "delete" } as const;

export async function write(client: KubeClient, { method, path, body }: ApiWrite): Promise<void> {
  await client.request({
    verb: verbs[method],
    method,
    path,
    ...(body === undefined ? {} : { body }),
    ...(method === "PATCH" ? { contentType: "application/merge-patch+json" } : {}),
  });
}

/** The same; a refusal or an absent object is no error. */
export async function tryToWrite(client: KubeClient, one: ApiWrite): Promise<void> {
  try {
    await write(client, one);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
  }
}
