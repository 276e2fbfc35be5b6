// `lockstep up` where it cannot begin. The story itself is told by real processes, end to end.
import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

/** On a machine with nginx, where somebody listens on port 8080 already. */
async function lockstepUp(...args: readonly string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const problem: unknown = await simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    const { files, network } = environment;
    await files.makeDirectory("/usr/sbin");
    await files.makeDirectory("/usr/lib/nginx/modules");
    await files.write("/usr/sbin/nginx", "");
    await files.write("/usr/lib/nginx/modules/ngx_http_lua_module.so", "");
    const taken = { host: "127.0.0.1", port: 8080 };
    const listener = await network.listen(taken, (exchange) => exchange.abort());
    const line = ["up", "--once", ...args];
    const running = runProgram({ environment, terminal, stop }, "1.2.3", line);
    const failure = await running.catch((error: unknown) => error);
    await listener.close();
    return failure;
  });
  return { problem, out: terminal.out };
}

test.each(["--port", "--stock-port"])("%s that is taken is refused first", async (flag) => {
  const { problem, out } = await lockstepUp(flag, "8080");
  expect(problem).toMatchObject({
    code: "USAGE",
    message:
      "port 8080 is in use by another process. " +
      `Stop that process, or choose another port with ${flag}.`,
  });
  expect(out).toBe("");
});

test("one port for both entries is refused first", async () => {
  const { problem, out } = await lockstepUp("--port", "9000", "--stock-port", "9000");
  expect(problem).toMatchObject({
    code: "USAGE",
    message: "--port and --stock-port must be different; both are 9000.",
  });
  expect(out).toBe("");
});
