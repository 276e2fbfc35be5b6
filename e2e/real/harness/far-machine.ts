// A machine that can fall silent: a network namespace behind a pair of virtual interfaces, with a
// program that listens on several addresses. Packets from a silent address are dropped, also the
// acknowledgements of its kernel, as if it were switched off. Needs the namespace of the real
// suite.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";

export const farPort = 8080;

export const nearAddress = "10.202.0.1";
const network = "10.202.0";

/**
 * Answers with its own address; with what it received to a POST; to `/slow` after the milliseconds
 * in the query.
 */
const program = `
const { createServer } = require("node:http");
const answer = (request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const name = request.socket.localAddress;
    const wait = Number(new URL(request.url, "http://x").searchParams.get("ms") ?? 0);
    setTimeout(() => response.end(name + Buffer.concat(chunks)), wait);
  });
};
const listening = process.argv.slice(1).map((host) =>
  new Promise((resolve) => createServer(answer).listen(${farPort}, host, resolve)));
Promise.all(listening).then(() => console.log("listening"));
`;

const downloader = `
const [url, localAddress] = process.argv.slice(1);
let bytes = 0;
const end = (how) => { console.log(bytes + " " + how); process.exit(); };
require("node:http").get(url, { localAddress, headers: { host: "silent.example" } }, (response) => {
  response.on("data", (chunk) => { bytes += chunk.length; });
  response.on("end", () => end("ok"));
  response.on("error", (error) => end(error.code));
}).on("error", (error) => end(error.code));
`;

export class FarMachine {
  readonly addresses: readonly string[];
  readonly #namespace: ChildProcess;
  readonly #program: ChildProcess;

  private constructor(
    addresses: readonly string[],
    namespace: ChildProcess,
    ownProgram: ChildProcess,
  ) {
    this.addresses = addresses;
    this.#namespace = namespace;
    this.#program = ownProgram;
  }

  static async start(count: number): Promise<FarMachine> {
    const holder = spawn("unshare", ["--net", "sh", "-c", "echo ready; exec sleep 1d"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(holder.stdout, "data");
    const addresses = Array.from({ length: count }, (_, index) => `${network}.${11 + index}`);
    run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far");
    run("ip", "link", "set", "far", "netns", String(holder.pid));
    run("ip", "address", "add", `${nearAddress}/24`, "dev", "near");
    run("ip", "link", "set", "near", "up");
    inside(holder, "ip", "link", "set", "lo", "up");
    for (const address of addresses) {
      inside(holder, "ip", "address", "add", `${address}/24`, "dev", "far");
    }
    inside(holder, "ip", "link", "set", "far", "up");
    const into = ["-t", String(holder.pid), "-n", process.execPath, "-e", program, ...addresses];
    const ownProgram = spawn("nsenter", into, { stdio: ["ignore", "pipe", "inherit"] });
    await once(ownProgram.stdout, "data");
    return new FarMachine(addresses, holder, ownProgram);
  }

  /** Gets the URL from the address; resolves to the number of bytes that came, and `ok` or the error. */
  async download(url: string, address: string): Promise<string> {
    const into = ["-t", String(this.#namespace.pid), "-n", process.execPath, "-e", downloader];
    const child = spawn("nsenter", [...into, url, address], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
    await once(child, "close");
    return output.trim();
  }

  silence(address: string): void {
    inside(this.#namespace, "ip", "rule", "add", "from", address, "blackhole");
  }

  restore(address: string): void {
    inside(this.#namespace, "ip", "rule", "del", "from", address, "blackhole");
  }

  async stop(): Promise<void> {
    run("ip", "link", "delete", "near");
    for (const child of [this.#program, this.#namespace]) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
  }
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ["ignore", "ignore", "inherit"] });
}

function inside({ pid }: ChildProcess, ...command: readonly string[]): void {
  run("nsenter", "-t", String(pid), "-n", ...command);
}
