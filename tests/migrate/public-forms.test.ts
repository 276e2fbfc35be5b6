// The verdicts on Ingresses as they are found in public repositories and charts, and on the examples of
// ingress-nginx's documentation: each Ingress has its expected verdict in an annotation.
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { makeAuthority } from "../../src/apiserver/certificate-authority.ts";
import { savedDocuments } from "../../src/kube/yaml/saved-documents.ts";
import { type CheckedIngress, check } from "../../src/migrate/check.ts";
import { FoundObjects } from "../../src/migrate/found-objects.ts";
import { checkOptions } from "./check-options.ts";

const fixtures = ["public-forms", "any-host", "documentation"];

async function foundIn(name: string): Promise<FoundObjects> {
  const url = new URL(`./fixtures/${name}.yaml`, import.meta.url);
  const { documents, problems } = savedDocuments(readFileSync(url, "utf8"));
  expect(problems).toEqual([]);
  const found = new FoundObjects();
  for (const document of documents) found.add(document, name);
  await addCertificates(found);
  expect(found.problems).toEqual([]);
  return found;
}

/** The secret `tls` of every namespace has a certificate for all names; each test makes a new key. */
async function addCertificates(found: FoundObjects): Promise<void> {
  const { now } = checkOptions();
  const clock = { wallMs: () => now, monotonicMs: () => 0 as never };
  const authority = await makeAuthority({ clock, crypto: webcrypto, name: "test" });
  const ingresses = [...found.ingresses.values()];
  const hosts = ingresses.flatMap(({ tls }) => tls.flatMap((entry) => entry.hosts));
  const { cert, key } = await authority.issueServer([...new Set([...hosts, "any.example"])]);
  for (const namespace of new Set(ingresses.map(({ metadata }) => metadata.namespace))) {
    found.add(
      {
        kind: "Secret",
        type: "kubernetes.io/tls",
        metadata: { name: "tls", namespace },
        stringData: { "tls.crt": cert, "tls.key": key },
      },
      "test",
    );
  }
}

/** `refused: a, b; differs: c; note: d` */
function inWords({ verdict, findings }: CheckedIngress): string {
  const parts = (["refused", "differs", "note"] as const).flatMap((kind) => {
    const about = findings.filter((one) => one.kind === kind).map((one) => one.about);
    return about.length === 0 ? [] : [`${kind}: ${[...new Set(about)].sort().join(", ")}`];
  });
  return [...(verdict === "same" ? ["same"] : []), ...parts].join("; ");
}

const expected = "expect.test/verdict";

test.each(fixtures)("%s", async (name) => {
  const found = await foundIn(name);
  const { ingresses } = check(found, checkOptions());
  const verdicts = Object.fromEntries(
    ingresses.map((one) => [`${one.namespace}/${one.name}`, inWords(one)]),
  );
  const wanted = [...found.ingresses].map(([key, one]) => [key, one.annotations[expected]]);
  expect(verdicts).toEqual(Object.fromEntries(wanted));
});

test("there are more than forty Ingresses, and each kind of verdict is among them", async () => {
  const { ingresses } = check(await foundIn("public-forms"), checkOptions());
  expect(ingresses.length).toBeGreaterThan(40);
  expect(new Set(ingresses.map(({ verdict }) => verdict)).size).toBe(3);
});
