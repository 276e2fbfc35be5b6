import { expect, it } from "vitest";
import { hashKey } from "./hash-key.ts";

const request = {
  method: "GET",
  target: "/a/b?user=7&x=1",
  headers: { host: "Shop.example:8080", "x-shop-id": "s3", cookie: "a=1; session=abc" },
};

it.each([
  [[{ variable: "request_uri" }], "/a/b?user=7&x=1"],
  [[{ variable: "uri" }, { text: " " }, { variable: "args" }], "/a/b user=7&x=1"],
  [[{ variable: "host" }, { text: "/" }, { variable: "request_method" }], "shop.example/GET"],
  [[{ variable: "http_x_shop_id" }, { variable: "cookie_session" }], "s3abc"],
  [[{ variable: "arg_user" }, { variable: "scheme" }], "7http"],
  [[{ variable: "http_other" }, { variable: "cookie_b" }, { variable: "arg_y" }], ""],
  [[{ variable: "remote_addr" }], ""],
])("makes a key of %j", (parts, key) => {
  expect(hashKey(parts, request)).toBe(key);
});
