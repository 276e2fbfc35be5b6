import fc from "fast-check";
import { expect, test } from "vitest";
import { noFacts } from "./evidence.ts";
import { LineSieve } from "./line-sieve.ts";
import { type TextFacts, TextReader } from "./text-reader.ts";

/** Lines of every sort: silent ones, known ones, halves of known ones, tables and objects. */
const lines = [
  'I1118 10:00:00.000001       1 replica_set.go:676] "Finished syncing" key="shop/web"',
  "I1118 10:00:01.000001       1 request.go:480] Throttling request took 240.1ms, request: PUT:https://10.0.0.1/api/v1/namespaces/pay/endpoints/web",
  'W1118 10:00:02.000001       1 mastercount.go:135] Resetting endpoints for master service "kubernetes" to',
  "W1118 10:00:03.000001       1 controller.go:290] Resetting endpoints",
  'for master service "kubernetes" to &{{ } {kubernetes  default',
  '10.4.0.9 - - [18/Nov/2026:10:00:04 +0000] "GET / HTTP/1.1" 200 512 "-" "curl"',
  '10.4.0.9 - - [18/Nov/2026:10:00:04 +0000] "GET /no HTTP/1.1" 404 512 "-" "curl" 431 0.01',
  '{"level":"info","ts":"2026-11-18T10:00:05Z","caller":"a.go:1","msg":"compact tree index"}',
  "Nov 18 10:00:06 node-1 kubelet[12]: starting the µ service",
  "NAME    READY   STATUS    RESTARTS   AGE",
  "web-1   1/1     Running   0          5m",
  "apiVersion: v1",
  "kind: Service",
  "metadata: { name: web, namespace: shop }",
  "---",
  "kubectl -n shop get pods",
  "Server Version: v1.17.3",
  "",
  "   ",
] as const;

test("a reader sees the same with and without the sieve, however the bytes are cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...lines), { maxLength: 60 }),
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 }),
      fc.boolean(),
      (text, sizes, hasEnd) => {
        const bytes = Buffer.from(text.join("\n") + (hasEnd ? "\n" : ""));
        const facts = noFacts();
        const reader = new TextReader(facts, "a.log");
        const sieve = new LineSieve(reader, 0);
        for (let at = 0, index = 0; at < bytes.length; index += 1) {
          const size = sizes[index % sizes.length] ?? 1;
          // A copy that is overwritten afterwards, as senders do.
          const chunk = Uint8Array.from(bytes.subarray(at, at + size));
          sieve.push(chunk);
          chunk.fill(0);
          at += size;
        }
        sieve.end();
        reader.end();
        expect(shown(facts)).toEqual(shown(readPlainly(text)));
      },
    ),
  );
});

function readPlainly(text: readonly string[]): TextFacts {
  const facts = noFacts();
  const reader = new TextReader(facts, "a.log");
  for (const [index, line] of text.entries()) reader.push(line, index + 1);
  reader.end();
  return facts;
}

function shown({ signs, objects, settings, requests }: TextFacts): unknown {
  return {
    refused: [...requests.clientErrors.byClient],
    signs: signs.all.map(({ name, count, samples }) => ({ name, count, samples })),
    pods: [...objects.pods.values()],
    services: [...objects.services.values()],
    version: settings.version,
  };
}

test("a long line is cut, and lines are counted", () => {
  const sieve = new LineSieve(new TextReader(noFacts(), "a.log"));
  sieve.push(Buffer.from(`${"x".repeat(200_000)}\n\nshort\nrest`));
  sieve.end();
  expect(sieve.lines).toBe(4);
});

test("the length of a request is not its status", () => {
  const facts = noFacts();
  const sieve = new LineSieve(new TextReader(facts, "a.log"));
  const request = (status: number): string =>
    `10.4.0.9 - - [18/Nov/2026:10:00:04 +0000] "GET / HTTP/1.1" ${status} 512 "-" "curl" 431 0.01 [shop-web-80]`;
  sieve.push(Buffer.from(`${request(200)}\n${request(404)}\n${request(200)}\n`));
  sieve.end();
  expect(facts.requests.clientErrors.total).toBe(1);
  const reader = new TextReader(facts, "b.log");
  reader.push(request(200));
  reader.push(request(403));
  expect(facts.requests.clientErrors.total).toBe(2);
});
