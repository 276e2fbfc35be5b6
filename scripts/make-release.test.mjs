import { expect, test } from "vitest";
import { notesOf } from "./make-release.mjs";
import { sbom } from "./release/sbom.mjs";
import { packageVersion } from "./release/stage.mjs";

const changelog =
  "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0\n\n- second\n\n## 0.1.0\n\n- first\n";

test("the notes of a release are its section of the changelog", () => {
  expect(notesOf("0.2.0", changelog)).toBe("## 0.2.0\n\n- second\n\n");
  expect(() => notesOf("0.3.0", changelog)).toThrow('CHANGELOG.md has no section "## 0.3.0"');
});

test("the version of the package has a section in the changelog", () => {
  expect(notesOf(packageVersion())).toContain(packageVersion());
});

test("the SBOM has the modules that are installed on Linux, with versions and hashes, and no others", () => {
  const { components } = sbom();
  const names = components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["libsql", "@libsql/linux-x64-gnu", "commander"]));
  expect(names).not.toContain("typescript");
  expect(names).not.toContain("@libsql/darwin-arm64");
  for (const one of components) {
    expect(one.version).toMatch(/^\d/);
    expect(one.hashes?.[0]).toMatchObject({ alg: "SHA-512" });
  }
});
