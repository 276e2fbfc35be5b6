// Requests to the server that served the page. A failure is a sentence of the server, or one that says
// that the server did not answer.
import { useCallback, useEffect, useState } from "react";

/** As in the contract; its values are not imported, because they would bring the schemas with them. */
const apiRoot = "api/v1";

export class ApiError extends Error {
  /** 0 when there was no answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function apiPath(path: string): string {
  return `${apiRoot}/${path}`;
}

export async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return await exchange<Answer>(path, signal === undefined ? {} : { signal });
}

export async function post<Answer>(
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  return await exchange<Answer>(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}

export async function postFile<Answer>(
  path: string,
  file: Blob,
  signal?: AbortSignal,
): Promise<Answer> {
  return await exchange<Answer>(path, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: file,
    ...(signal && { signal }),
  });
}

async function exchange<Answer>(path: string, request: RequestInit): Promise<Answer> {
  let answer: Response;
  try {
    answer = await fetch(apiPath(path), { ...request, cache: "no-store" });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new ApiError(0, "Lockstep does not answer.");
  }
  if (answer.ok) return (await answer.json()) as Answer;
  throw new ApiError(answer.status, await problemOf(answer));
}

/** The sentence of the server; a proxy between may answer without one. */
async function problemOf(answer: Response): Promise<string> {
  const text = await answer.text().catch(() => "");
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === "string" && error !== "") return error;
  } catch {
    // Not JSON: the status has to do.
  }
  return `The server answered with status ${answer.status}.`;
}

export interface Loaded<Answer> {
  readonly value: Answer | undefined;
  readonly error: ApiError | undefined;
  readonly reload: () => void;
}

/** The answer for a path, read again when the path or the revision changes; undefined asks nothing. */
export function useAnswer<Answer>(path: string | undefined, revision: unknown = 0): Loaded<Answer> {
  const [loaded, setLoaded] = useState<{ path?: string; value?: Answer; error?: ApiError }>({});
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new revision or attempt reads again.
  useEffect(() => {
    if (path === undefined) return;
    const ending = new AbortController();
    get<Answer>(path, ending.signal).then(
      (value) => setLoaded({ path, value }),
      (error: unknown) => {
        if (ending.signal.aborted) return;
        // The last answer stays on the page beside the error.
        setLoaded((before) => ({
          ...(before.path === path && before),
          path,
          error: error as ApiError,
        }));
      },
    );
    return () => ending.abort();
  }, [path, revision, attempt]);
  const isCurrent = loaded.path === path;
  const reload = useCallback(() => setAttempt((before) => before + 1), []);
  return {
    value: isCurrent ? loaded.value : undefined,
    error: isCurrent ? loaded.error : undefined,
    reload,
  };
}
