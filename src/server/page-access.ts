// Access to the page. On loopback any client on this machine; on any other address only with the
// token. A foreign web page can neither read nor change anything: its host name, its origin and its
// forms are refused.
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingRequest } from "../environment/network.ts";
import { isOwnName } from "../telemetry/own-name.ts";

export interface PageAccessOptions {
  /** The listen address. */
  readonly host: string;
  /** Further names that requests may be for. */
  readonly hostNames: readonly string[];
  /** Undefined: no token is needed, on loopback only. */
  readonly token: string | undefined;
}

export interface Refusal {
  readonly status: 401 | 403 | 415 | 421;
  readonly sentence: string;
}

/** A shorter one could be guessed. */
export const tokenLeast = 16;
/** Headers have little room. */
export const tokenMost = 512;

const cookieName = "lockstep-token";

const otherName =
  "This name is not one of the page. Use the address that lockstep printed, or allow the name with --host-name.";
const noToken =
  "A token is needed. Open the address that lockstep printed, with ?token=TOKEN, or send Authorization: Bearer TOKEN.";
const otherOrigin = "A request that changes something must come from the page itself.";

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

export class PageAccess {
  readonly #options: PageAccessOptions;
  readonly #digest: Buffer | undefined;

  /** Throws a `RangeError` for an address that needs a token and has none. */
  constructor(options: PageAccessOptions) {
    this.#options = options;
    const { token, host } = options;
    if (token === undefined && !isLoopback(host)) {
      throw new RangeError(`a page on ${host} needs a token: it is not on loopback`);
    }
    this.#digest = token === undefined ? undefined : digestOf(token);
  }

  /** Undefined when the request may be answered. */
  refusal({ headers, method }: IncomingRequest, contentType?: string): Refusal | undefined {
    if (!isOwnName(headers["host"], this.#options)) return { status: 421, sentence: otherName };
    if (!this.#hasToken(headers)) return { status: 401, sentence: noToken };
    if (method === "GET" || method === "HEAD") return undefined;
    if (!isSameOrigin(headers)) return { status: 403, sentence: otherOrigin };
    // A form of a foreign page can send only other types without a question to this server.
    const given = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase();
    if (contentType === undefined || given === contentType) return undefined;
    return { status: 415, sentence: `The content-type must be ${contentType}.` };
  }

  /** The cookie for a browser that opened the address with the right token; undefined otherwise. */
  cookieFor(headers: IncomingRequest["headers"], token: string): string | undefined {
    if (!isOwnName(headers["host"], this.#options) || !this.#isToken(token)) return undefined;
    return `${cookieName}=${encodeURIComponent(token)}; Path=/; HttpOnly; SameSite=Strict`;
  }

  #hasToken(headers: IncomingRequest["headers"]): boolean {
    if (this.#digest === undefined) return true;
    const [, bearer] = /^Bearer (\S{1,512})$/.exec(headers["authorization"] ?? "") ?? [];
    const given = bearer ?? cookieOf(headers["cookie"]);
    return given !== undefined && this.#isToken(given);
  }

  /** In a time that does not depend on how much of it is right. */
  #isToken(given: string): boolean {
    return this.#digest !== undefined && timingSafeEqual(digestOf(given), this.#digest);
  }
}

/** Digests have one length, which the comparison needs. */
function digestOf(token: string): Buffer {
  return createHash("sha256").update(token, "utf8").digest();
}

function cookieOf(header: string | undefined): string | undefined {
  const start = `${cookieName}=`;
  const found = (header ?? "").split(";").map((part) => part.trim());
  const value = found.find((part) => part.startsWith(start))?.slice(start.length);
  if (value === undefined) return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    // Not a cookie of ours.
    return undefined;
  }
}

/** Browsers name the origin of every request that is not a plain read; other clients name none. */
function isSameOrigin(headers: IncomingRequest["headers"]): boolean {
  const { origin, host, "sec-fetch-site": site } = headers;
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  if (origin === undefined) return true;
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`);
}
