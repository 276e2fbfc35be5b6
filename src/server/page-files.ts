// The files of the page itself, as the build wrote them. A name is matched before a file is touched,
// so no request reaches a file outside of the folder.
import { type Files, FilesError } from "../environment/files.ts";

export interface PageFile {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly cacheControl: string;
}

/** Up to two folders deep; no name begins with a dot. */
const pathPattern = /^\/(?:[\w-][\w.-]{0,99}\/){0,2}[\w-][\w.-]{0,99}$/;

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  ico: "image/x-icon",
  json: "application/json",
  webmanifest: "application/manifest+json",
  txt: "text/plain; charset=utf-8",
  woff2: "font/woff2",
};

export const notBuilt =
  "The page is not built. Run: npm run setup. The API works without it: /api/v1/openapi.json describes it.";

export class PageFiles {
  readonly #files: Pick<Files, "read">;
  readonly #folder: string;

  constructor(files: Pick<Files, "read">, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /** Undefined when there is no such file. */
  async find(path: string): Promise<PageFile | undefined> {
    const name = path === "/" ? "/index.html" : path;
    const contentType = contentTypes[name.slice(name.lastIndexOf(".") + 1)];
    if (!pathPattern.test(name) || contentType === undefined) return undefined;
    const bytes = await this.#read(`${this.#folder}${name}`);
    if (bytes === undefined) return undefined;
    // Names of assets have a digest of their content.
    const isFixed = name.startsWith("/assets/");
    const cacheControl = isFixed ? "public, max-age=31536000, immutable" : "no-cache";
    return { bytes, contentType, cacheControl };
  }

  async #read(path: string): Promise<Uint8Array | undefined> {
    try {
      return await this.#files.read(path);
    } catch (error) {
      if (error instanceof FilesError && error.code === "NOT_A_FILE") return undefined;
      throw error;
    }
  }
}
