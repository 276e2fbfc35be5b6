import { expect, it } from "vitest";
import { parseStore } from "./store.ts";

it("takes memory, an etcd of the lab's own, or the addresses of one", () => {
  expect(
    ["memory", "etcd", "etcd=http://127.0.0.1:2379/", "etcd=http://a:1,http://b:2"].map(parseStore),
  ).toEqual([
    { type: "memory" },
    { type: "own etcd" },
    { type: "etcd", endpoints: ["http://127.0.0.1:2379"] },
    { type: "etcd", endpoints: ["http://a:1", "http://b:2"] },
  ]);
});

it.each(["", "disk", "etcd=", "etcd=127.0.0.1:2379", "etcd=https://a:1", "etcd=http://a:1/v3"])(
  "refuses %j",
  (word) => {
    expect(() => parseStore(word)).toThrow("It must be memory, etcd, or etcd=http://HOST:PORT");
  },
);
