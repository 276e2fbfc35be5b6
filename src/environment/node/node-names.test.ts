// Tests that need no DNS server: this machine may have none.
import { expect, test } from "vitest";
import { addressesIn, nodeNames } from "./node-names.ts";

const never = new AbortController().signal;

test("an address is its own name", async () => {
  for (const address of ["192.0.2.7", "2001:db8::1"]) {
    const answer = { addresses: [address], ttlMs: undefined };
    expect(await nodeNames.resolve(address, never)).toEqual(answer);
  }
});

test("a name that cannot exist fails in words", async () => {
  await expect(nodeNames.resolve("a..example", never)).rejects.toMatchObject({
    name: "NetworkError",
    code: "FAILED",
    message: "a..example: the name could not be looked up (EBADNAME)",
  });
});

test("a lookup can be given up before and while it is made", async () => {
  const given = { code: "ABORTED", cause: { message: "enough" } };
  const before = nodeNames.resolve("db.example", AbortSignal.abort(new Error("enough")));
  await expect(before).rejects.toMatchObject(given);
  const giveUp = new AbortController();
  const lookup = nodeNames.resolve("db.example", giveUp.signal);
  giveUp.abort(new Error("enough"));
  await expect(lookup).rejects.toMatchObject(given);
});

test("a name of the hosts file has the addresses it has there", () => {
  const hosts =
    "127.0.0.1\tlocalhost db\n# 192.0.2.1 db\n::1 Localhost #x\nno-address db\n192.0.2.2 db";
  expect(addressesIn(hosts, "db")).toEqual(["127.0.0.1", "192.0.2.2"]);
  expect(addressesIn(hosts, "LOCALHOST.")).toEqual(["127.0.0.1", "::1"]);
  expect(addressesIn(hosts, "x")).toEqual([]);
});
