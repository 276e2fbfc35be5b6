// An etcd of the lab's own: one member on two free ports, its data in a folder of the lab's. It is
// kept running; what it acknowledged is on disk and there again after its death.
import type { Environment } from "../../environment/environment.ts";
import { NetworkError } from "../../environment/network.ts";
import { ProcessError } from "../../environment/processes.ts";
import { freePort } from "../free-port.ts";
import { SupervisedProcess } from "./supervised-process.ts";

export interface EtcdProcessOptions {
  readonly environment: Environment;
  /** Where it keeps its data; made if absent, left behind. */
  readonly folder: string;
  /** `etcd`, as found on the PATH, unless given. */
  readonly program?: string;
  readonly onNews?: (news: string) => void;
}

export interface EtcdProcess {
  readonly url: string;
  /** Undefined while it is being started again. */
  readonly pid: number | undefined;
  /** Idempotent. */
  stop(): Promise<void>;
}

const host = "127.0.0.1";

/** On loopback; a started etcd answers within milliseconds. */
const askDeadlineMs = 1_000;

export class EtcdMissingError extends Error {
  override readonly name = "EtcdMissingError";
  readonly code = "ETCD_MISSING";
}

export async function startEtcd(options: EtcdProcessOptions): Promise<EtcdProcess> {
  const { environment, folder, program = "etcd", onNews } = options;
  await refuseMissing(environment, program);
  await environment.files.makeDirectory(folder);
  const url = `http://${host}:${await freePort(environment, host)}`;
  const peerUrl = `http://${host}:${await freePort(environment, host)}`;
  const supervised = await SupervisedProcess.start({
    ...environment,
    name: "etcd",
    command: [program, ...flags(folder, url, peerUrl)],
    isReady: () => answers(environment, url),
    ...(onNews === undefined ? {} : { onNews }),
  });
  return {
    url,
    get pid() {
      return supervised.pid;
    },
    stop: () => supervised.stop(),
  };
}

function flags(folder: string, url: string, peerUrl: string): readonly string[] {
  return [
    ["--name", "lab"],
    ["--data-dir", folder],
    ["--listen-client-urls", url],
    ["--advertise-client-urls", url],
    ["--listen-peer-urls", peerUrl],
    ["--initial-advertise-peer-urls", peerUrl],
    ["--initial-cluster", `lab=${peerUrl}`],
    ["--logger", "zap"],
  ].flat();
}

/** Asked before anything is started: later the failure would have to be read from its output. */
async function refuseMissing({ processes }: Environment, program: string): Promise<void> {
  try {
    await processes.run(program, ["--version"], { timeoutMs: 10_000 });
  } catch (error) {
    if (!(error instanceof ProcessError) || error.code !== "NOT_FOUND") throw error;
    throw new EtcdMissingError(
      "etcd is not installed. Install it (Debian: apt-get install etcd-server), " +
        "or name one that runs: --store etcd=http://127.0.0.1:2379",
      { cause: error },
    );
  }
}

/** Whether it has a leader, and so takes writes. */
async function answers({ network, timers }: Environment, url: string): Promise<boolean> {
  const deadline = new AbortController();
  const cancel = timers.after(askDeadlineMs, () => deadline.abort());
  try {
    const response = await network.request({
      method: "GET",
      url: `${url}/health`,
      signal: deadline.signal,
    });
    let text = "";
    for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
    return response.status === 200 && text.includes("true");
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    return false;
  } finally {
    cancel();
  }
}
