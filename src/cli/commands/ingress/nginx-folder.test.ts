import { expect, test } from "vitest";
import { UsageError } from "../../command.ts";
import { nginxFolder } from "./run.ts";

const user = { isRoot: false, variables: { HOME: "/home/ann" } };

test.each([
  ["the one that is given", user, "/srv/edge", "/srv/edge"],
  ["one of the user's own", user, undefined, "/home/ann/.lockstep/ingress-8080"],
  [
    "as root one that nginx's workers can enter",
    { isRoot: true, variables: { HOME: "/root" } },
    undefined,
    "/var/lib/lockstep/ingress-8080",
  ],
])("nginx's folder is %s", (_, processes, prefix, folder) => {
  expect(nginxFolder(processes, { prefix, httpPort: 8080 })).toBe(folder);
});

test("without a home, a user has to give one", () => {
  expect(() =>
    nginxFolder({ isRoot: false, variables: {} }, { prefix: undefined, httpPort: 80 }),
  ).toThrow(new UsageError("HOME is not set: give a folder for nginx with --prefix"));
});
