import { expect, test } from "vitest";
import type { Files } from "../../environment/files.ts";
import { simulate } from "../../simulation/simulation.ts";
import { FileText } from "./credentials-text.ts";

test("simultaneous readers share one read of the file", async () => {
  const seen = await simulate({ seed: 1 }, async (simulation) => {
    const { clock, log, files, timers } = simulation.host("client");
    await files.write("/tmp/token", "first\n");
    let opened = 0;
    const slow: Pick<Files, "open"> = {
      open: async (path) => {
        opened += 1;
        await timers.sleep(10);
        return await files.open(path);
      },
    };
    const text = new FileText({
      files: { ...files, ...slow },
      clock,
      log,
      path: "/tmp/token",
      what: "the token",
    });
    const together = await Promise.all([text.read(), text.read()]);
    await files.write("/tmp/token", "second\n");
    text.invalidate();
    return { together, later: await text.read(), opened };
  });
  expect(seen).toEqual({ together: ["first", "first"], later: "second", opened: 2 });
});
