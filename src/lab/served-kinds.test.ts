import { expect, test } from "vitest";
import { servedKinds } from "./served-kinds.ts";

test.each(["DaemonSet", "ReplicationController"])(
  "a %s is refused: it can be listed, and no controller would run it",
  (kind) => {
    const served = servedKinds("1.33").find((one) => one.kind === kind);
    const object = { apiVersion: "v1", kind, metadata: { name: "web" } };
    expect(() => served?.prepareCreate(object)).toThrow(
      `"web" is forbidden: the lab does not run ${kind}s; use a Deployment`,
    );
  },
);
