import { expect, test } from "vitest";
import { passwordSecretKind } from "../kube/kinds/password-secret.ts";
import { checkedUsers, maxUsers, type UserListForm } from "./checked-users.ts";

const secretOf = (texts: Readonly<Record<string, string>>) =>
  passwordSecretKind.project({
    metadata: { name: "users", namespace: "shop", uid: "u", resourceVersion: "1" },
    data: Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
    ),
  });

const check = (texts: Readonly<Record<string, string>>, form: UserListForm = "file") =>
  checkedUsers(secretOf(texts), form);

const apr1 = "$apr1$8e4ZP8Ux$AeUDO823aewZVmd9PNzy7.";
const bcrypt = (cost: string) =>
  `$2y$${cost}$abcdefghijklmnopqrstuuz29TNT43FrbrkSgusq0SUVtGQkhH2mm`;
const sha256 = "KfEXP.wsgEroRnKu4BQJuwAs5UuwOk4zLAIa2ujzX80";

test("a file has a user in each line, and the first of equal names counts", () => {
  const auth = `# people\nann:${apr1}\r\n\nbob:{PLAIN}x:Bob himself\nann:{PLAIN}y\n`;
  const users = [
    ["ann", apr1],
    ["bob", "{PLAIN}x"],
  ];
  expect(check({ auth, other: "x:y" })).toEqual({ users, leftOut: [] });
});

test("a map has a user for each key", () => {
  expect(check({ ann: apr1, bob: "{PLAIN}x" }, "map")).toEqual({
    users: [
      ["ann", apr1],
      ["bob", "{PLAIN}x"],
    ],
    leftOut: [],
  });
});

test.each([
  ["", []],
  ["secret", []],
  ["$y$j9T$abc$def", []],
  [bcrypt("14"), ["ann"]],
  [bcrypt("15"), []],
  [bcrypt("03"), []],
  [`$5$rounds=1000000$abcdefgh$${sha256}`, ["ann"]],
  [`$5$rounds=1000001$abcdefgh$${sha256}`, []],
  [`$5$rounds=999999999$abcdefgh$${sha256}`, []],
  [`$5$abcdefgh$${sha256}`, ["ann"]],
  ["{SHA}C+7Hteo/D9vJXQ3UfzxbwnXaijM=", ["ann"]],
  ["{SHA}C+7H", []],
  ["abQ9KY.KfrYrc", ["ann"]],
  ["abQ9KY.KfrYrcd", []],
])("only passwords that are checked in a bounded time count: %s", (digest, names) => {
  const found = check({ auth: `ann:${digest}\nbob:{PLAIN}x` });
  const users = [...names.map((name) => [name, digest]), ["bob", "{PLAIN}x"]];
  expect(found).toEqual({ users, leftOut: names.length === 0 ? ["ann"] : [] });
});

test("a list without a user is no list, and no problem text has a password", () => {
  expect([
    check({ users: "x:y" }),
    check({ auth: "# nobody\n" }),
    check({ auth: "ann:secret" }),
    check({ auth: ":{PLAIN}x" }),
    check({}, "map"),
    check({ auth: "a:{PLAIN}x\n".repeat(maxUsers + 1) }),
  ]).toEqual([
    "has no key auth",
    "has no users",
    "has no user whose password could be checked",
    "has no user whose password could be checked",
    "has no users",
    `has more than ${maxUsers} users`,
  ]);
});
