// Starts the page for a command: the token, the listener, and the address that is printed.

import { FilesError } from "../../../environment/files.ts";
import { isLoopback, tokenLeast, tokenMost } from "../../../server/page-access.ts";
import { PageServer, type PageServerOptions } from "../../../server/page-server.ts";
import { UploadedRecordings } from "../../../server/uploaded-recording.ts";
import { type CommandContext, UsageError } from "../../command.ts";
import { asUsage } from "../../flags.ts";
import { pageFolder } from "../../page-folder.ts";
import { namingPortFlags } from "../../taken-port.ts";
import type { ServeFlags } from "./command.ts";

type PageParts = Pick<PageServerOptions, "source" | "doctor" | "lab" | "history">;

/** The flags that say where the page is. */
export type PageFlags = Pick<ServeFlags, "listen" | "hostName" | "tokenFile" | "slow"> & {
  /** The flag with the port; `--listen` unless given. */
  readonly portFlag?: string;
};

export interface StartedPage {
  readonly server: PageServer;
  /** To be opened in a browser, with the token if there is one. */
  readonly address: string;
}

/** Rejects with a `UsageError` for a token or an address that cannot be used. */
export async function startPage(
  { environment, version = "0.0.0" }: CommandContext,
  { listen, hostName, tokenFile, slow, portFlag = "--listen" }: PageFlags,
  parts: PageParts,
): Promise<StartedPage> {
  const { files, random } = environment;
  const given = tokenFile === undefined ? undefined : await readToken(files, tokenFile);
  // Two version 4 UUIDs have 244 random bits.
  const made = `${random.uuid()}${random.uuid()}`.replaceAll("-", "");
  const token = given ?? (isLoopback(listen.host) ? undefined : made);
  const flags = [{ flag: portFlag, port: listen.port }];
  const server = await namingPortFlags(environment, flags, () =>
    PageServer.start({
      ...environment,
      ...parts,
      ...listen,
      version,
      slowMs: slow,
      hostNames: hostName,
      token,
      pageFolder: pageFolder(),
      readRecording: new UploadedRecordings(environment).read,
    }),
  );
  const query = token === undefined ? "" : `?token=${encodeURIComponent(token)}`;
  return { server, address: `${server.url}${query}` };
}

async function readToken(
  files: CommandContext["environment"]["files"],
  path: string,
): Promise<string> {
  const bytes = await asUsage([FilesError], () => files.read(path));
  if (bytes === undefined) throw new UsageError(`the token file ${path} does not exist.`);
  const token = Buffer.from(bytes).toString("utf8").trim();
  if (token.length >= tokenLeast && token.length <= tokenMost && /^[\x21-\x7e]+$/.test(token)) {
    return token;
  }
  throw new UsageError(
    `the token in ${path} must have ${tokenLeast} to ${tokenMost} printable characters without spaces.`,
  );
}
