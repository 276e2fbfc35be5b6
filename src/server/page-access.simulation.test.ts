import { expect, test } from "vitest";
import { onPageStage } from "../../tests/page/page-stage.ts";
import { isLoopback, PageAccess } from "./page-access.ts";

const token = "0123456789abcdef-secret";
const json = { "content-type": "application/json" };
const doctor = {
  answer: () => ({
    state: "idle" as const,
    detail: null,
    examinedAt: null,
    findings: [],
    ruledOut: [],
    notExamined: [],
    markdown: "",
  }),
  examine: () => undefined,
};

test("an address that is not loopback needs a token", () => {
  expect(() => new PageAccess({ host: "0.0.0.0", hostNames: [], token: undefined })).toThrow(
    "a page on 0.0.0.0 needs a token",
  );
  expect(["127.0.0.1", "127.9.9.9", "::1", "localhost"].map(isLoopback)).not.toContain(false);
  expect(["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example", "shop"].map(isLoopback)).not.toContain(
    true,
  );
});

test("without the token nothing is answered but health, and with it everything is", () =>
  onPageStage({ token }, async ({ page }) => {
    for (const path of ["/", "/api/v1/state", "/api/v1/events", "/api/v1/none", "/assets/x.js"]) {
      expect(await page().problem("GET", path), `${path}`).toMatch(/^401 A token is needed/);
      const wrong = page({ authorization: `Bearer ${token}x` });
      expect(await wrong.problem("GET", path), `${path}`).toMatch(/^401 /);
    }
    expect((await page().send("GET", "/healthz")).status).toBe(200);
    expect((await page().send("GET", `/?token=${token}x`)).status).toBe(401);
    await page({ authorization: `Bearer ${token}` }).get("/api/v1/state");
    const { status, headers } = await page().send("GET", `/?token=${token}`);
    expect([status, headers["location"]]).toEqual([303, "/"]);
    expect(headers["set-cookie"]).toBe(
      `lockstep-token=${token}; Path=/; HttpOnly; SameSite=Strict`,
    );
    await page({ cookie: `a=b; lockstep-token=${token}` }).get("/api/v1/state");
    const odd = page({ cookie: "lockstep-token=%E0%A4%A" });
    expect(await odd.problem("GET", "/api/v1/state")).toMatch(/^401 /);
  }));

test("a foreign name leads to nothing, on loopback too", () =>
  onPageStage({ hostNames: ["lockstep.example"] }, async ({ page }) => {
    for (const host of ["evil.example", "127.0.0.1.evil.example", "evil.example:7070"]) {
      expect(await page({ host }).problem("GET", "/api/v1/state"), `${host}`).toMatch(/^421 /);
    }
    for (const host of ["localhost:7070", "127.0.0.1", "[::1]:7070", "LOCKSTEP.example.:7070"]) {
      await page({ host }).get("/api/v1/state");
    }
  }));

test("a foreign page cannot start anything", () =>
  onPageStage({ doctor }, async ({ page }) => {
    const own = { ...json, host: "localhost:7070" };
    const start = (headers: Readonly<Record<string, string>>) =>
      page(headers).send("POST", "/api/v1/doctor", { body: "{}" });
    const refused = [
      { ...own, origin: "http://evil.example" },
      { ...own, origin: "null" },
      { ...own, origin: "http://localhost:7071" },
      { ...own, "sec-fetch-site": "cross-site" },
      { ...own, "sec-fetch-site": "same-site" },
    ];
    for (const headers of refused) expect((await start(headers)).status).toBe(403);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      expect((await start({ ...own, "content-type": type })).status).toBe(415);
    }
    const allowed = [
      { ...own, origin: "http://localhost:7070", "sec-fetch-site": "same-origin" },
      { ...own, origin: "https://localhost:7070" },
      own,
      { ...own, "content-type": "application/json; charset=utf-8" },
    ];
    for (const headers of allowed) expect((await start(headers)).status).toBe(200);
  }));

test("every answer forbids foreign content, and answers of the API are not kept", () =>
  onPageStage({}, async ({ client, environment }) => {
    await environment.files.makeDirectory("/page/assets");
    await environment.files.write("/page/index.html", "<!doctype html>");
    await environment.files.write("/page/assets/index-1a2b.js", "1");
    const answers = await Promise.all(
      ["/", "/assets/index-1a2b.js", "/none.js", "/api/v1/state", "/api/v1/none", "/healthz"].map(
        async (path) => ({ path, ...(await client.send("GET", path)) }),
      ),
    );
    for (const { path, headers } of answers) {
      expect(headers["content-security-policy"], `${path}`).toMatch(/^default-src 'self'; /);
      expect(headers["content-security-policy"], `${path}`).not.toMatch(/unsafe|\*|http/);
      expect(headers["x-content-type-options"], `${path}`).toBe("nosniff");
    }
    const kept = answers.map(({ path, status, headers }) => {
      return `${path} ${status} ${headers["cache-control"]}`;
    });
    expect(kept).toEqual([
      "/ 200 no-cache",
      "/assets/index-1a2b.js 200 public, max-age=31536000, immutable",
      "/none.js 404 no-store",
      "/api/v1/state 200 no-store",
      "/api/v1/none 404 no-store",
      "/healthz 200 no-store",
    ]);
  }));

test("no path reaches a file outside of the page", () =>
  onPageStage({}, async ({ client, environment }) => {
    await environment.files.makeDirectory("/page");
    await environment.files.write("/page/index.html", "page");
    await environment.files.write("/secret.txt", "secret");
    await environment.files.write("/page/.hidden.txt", "secret");
    const paths = [
      "/../secret.txt",
      "/..%2fsecret.txt",
      "/%2e%2e/secret.txt",
      "/assets/../../secret.txt",
      "//secret.txt",
      "/.hidden.txt",
      "/index.html/../../secret.txt",
      "/a/b/c/d.txt",
      "/secret.txt%00.html",
    ];
    for (const path of paths) {
      const { status, text } = await client.send("GET", path);
      expect(`${status} ${text}`, `${path}`).not.toContain("secret\n");
      expect(status, `${path}`).toBe(404);
    }
  }));
