// Memory and steps are bounded for every input, and everything that is left out is counted. These
// tests count steps and do not measure time.
import { describe, expect, test } from "vitest";
import { at, pod, service, slice } from "../../tests/blame/blame-world.ts";
import { AccessLogParser } from "../access-log/access-log-parser.ts";
import { recordAt } from "../kube/kinds/fields.ts";
import { savedDocuments } from "../kube/yaml/saved-documents.ts";
import { changeLine, listedLine, runLine } from "../recording/recording-line.ts";
import { Evidence } from "./evidence.ts";
import { judgeRequest } from "./judge-request.ts";
import { RecordingReader } from "./recording-reader.ts";

const place = { cluster: "prod", namespace: "shop" };

function seen(seconds: number) {
  return { atMs: at(seconds), isWatched: true, afterMs: undefined };
}

function requestAt(seconds: number, addresses: readonly string[], service_ = "shop/web") {
  const parser = new AccessLogParser();
  const list = (text: string): string => addresses.map(() => text).join(", ");
  const entry = parser.read({
    number: 1,
    isCut: false,
    text: JSON.stringify({
      time: new Date(at(seconds)).toISOString(),
      status: 502,
      request_time: 1,
      service: service_,
      upstream_addr: addresses.join(", "),
      upstream_status: list("502"),
      upstream_response_time: list("0.010"),
    }),
  });
  if (entry === undefined) throw new Error("the line was not understood");
  return entry;
}

function judged(evidence: Evidence, ...args: Parameters<typeof requestAt>) {
  return judgeRequest(requestAt(...args), { evidence, skewMs: 100, file: "log" });
}

describe("of a request", () => {
  test("with many tries the first fifteen and the last are kept, and the others counted", () => {
    const addresses = Array.from({ length: 50 }, (_, index) => `10.0.0.${index}:8080`);
    const { tries, triesLeftOut } = requestAt(100, addresses);
    expect(tries.map(({ address }) => address)).toEqual([
      ...Array.from({ length: 15 }, (_, index) => `10.0.0.${index}`),
      "10.0.0.49",
    ]);
    expect(triesLeftOut).toEqual({ count: 34, durationMs: 340 });
    const verdict = judged(new Evidence(), 100, addresses);
    expect(verdict.triesLeftOut).toBe(34);
    expect(verdict.confidence).not.toBe("certain");
    // The last one was sent when the 49 before it were over.
    const [first, last] = [verdict.tries[0], verdict.tries.at(-1)];
    expect((last?.sent.fromMs ?? 0) - (first?.sent.fromMs ?? 0)).toBe(490);
  });

  test("no text is kept in any length", () => {
    const long = "x".repeat(10_000);
    const text = JSON.stringify({
      time: new Date(at(1)).toISOString(),
      status: 502,
      method: long,
      host: long,
      path: `/${long}`,
      proxy_upstream_name: long,
      upstream_addr: long,
    });
    const entry = new AccessLogParser().read({ number: 1, text, isCut: false });
    expect(JSON.stringify(entry).length).toBeLessThan(2_500);
  });
});

describe("of evidence", () => {
  test("a pod that never stops changing keeps its last moments, and says nothing of the others", () => {
    const evidence = new Evidence();
    evidence.cover(place, at(0)).toMs = at(100_000);
    for (let flap = 0; flap < 3_000; flap += 1) {
      const object = flap % 2 === 0 ? pod({ readySince: flap }) : pod({ unreadySince: flap });
      evidence.add({ cluster: "prod", kind: "Pod", isDeleted: false, object, seen: seen(flap) });
    }
    const [life] = evidence.lives.at("10.0.0.1", { fromMs: at(9_000), toMs: at(9_000) });
    const kept = life?.moments.length ?? 0;
    expect(kept).toBeLessThanOrEqual(1_000);
    // It appeared once, and then changed with every version.
    expect(evidence.dropped).toBe(3_001 - kept);
    expect(judged(evidence, 100, ["10.0.0.1:8080"]).because).toContain("changed so often");
    expect(judged(evidence, 3_100, ["10.0.0.1:8080"]).cause).toBe("stale");
  });

  test("an address that passed through more pods than the limit keeps the last ones", () => {
    const evidence = new Evidence();
    for (let number = 0; number < 1_500; number += 1) {
      const object = pod({ name: `web-${number}`, readySince: number });
      evidence.add({ cluster: "prod", kind: "Pod", isDeleted: false, object, seen: seen(number) });
    }
    const instant = { fromMs: at(9_000), toMs: at(9_000) };
    expect(evidence.lives.at("10.0.0.1", instant).length).toBe(1_000);
    expect(evidence.dropped).toBe(500);
  });

  test("an endpoint that is listed again and again keeps its last times", () => {
    const evidence = new Evidence();
    const one = { ip: "10.0.0.1", uid: "uid-web-1", name: "web-1" };
    for (let flap = 0; flap < 3_000; flap += 1) {
      const object = slice(flap % 2 === 0 ? [one] : []);
      const news = { cluster: "prod", kind: "EndpointSlice", isDeleted: false, object } as const;
      evidence.add({ ...news, seen: seen(flap) });
    }
    expect(evidence.publications.ofAddress("10.0.0.1").length).toBe(1_000);
    expect(evidence.publications.size).toBe(1_000);
    expect(evidence.dropped).toBe(500);
  });

  test("an object that lists every port of every address is left out", () => {
    const evidence = new Evidence();
    const many = Array.from({ length: 500 }, (_, port) => ({ port }));
    const object = { ...slice([{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }]), ports: many };
    const huge = { ...object, endpoints: Array(5_000).fill({ addresses: ["10.0.0.1"] }) };
    const news = { cluster: "prod", kind: "EndpointSlice", isDeleted: false } as const;
    evidence.add({ ...news, object: huge, seen: seen(1) });
    expect([evidence.malformed, evidence.publications.size]).toEqual([1, 0]);
    evidence.add({ ...news, object, seen: seen(2) });
    expect(evidence.publications.size).toBe(1_000);
  });

  test("pods count for what they take: one with thousands of labels drives out many", () => {
    const evidence = new Evidence({ livesMax: 100 });
    const add = (name: string, labels: Readonly<Record<string, string>>): void => {
      const made = pod({ name, readySince: 1 });
      const object = { ...made, metadata: { ...recordAt(made, "metadata"), labels } };
      evidence.add({ cluster: "prod", kind: "Pod", isDeleted: false, object, seen: seen(1) });
    };
    for (let number = 0; number < 100; number += 1) add(`web-${number}`, { app: "web" });
    expect(evidence.lives.size).toBe(100);
    const labels = Array.from({ length: 500 }, (_, label) => [`label-${label}`, "x".repeat(20)]);
    add("labelled", Object.fromEntries(labels));
    expect(evidence.lives.size).toBeLessThan(50);
  });

  test("names that Kubernetes would refuse are not kept", () => {
    const evidence = new Evidence();
    const object = pod({ name: "x".repeat(1_000_000) });
    evidence.add({ cluster: "prod", kind: "Pod", isDeleted: false, object, seen: seen(1) });
    expect([evidence.malformed, evidence.lives.size]).toEqual([1, 0]);
  });

  test("services that a log names without end leave nothing behind", () => {
    const evidence = new Evidence();
    const news = { cluster: "prod", kind: "Service", isDeleted: false } as const;
    evidence.add({ ...news, object: service(), seen: seen(1) });
    const none = evidence.podsOf("shop/none");
    expect(evidence.podsOf("shop/none")).not.toBe(none);
    expect(evidence.publications.latestFirst("shop/none")).toEqual([]);
  });
});

class CountingEvidence extends Evidence {
  lists = 0;

  override endList(...args: Parameters<Evidence["endList"]>): void {
    this.lists += 1;
    super.endList(...args);
  }
}

describe("of a recording", () => {
  const listed = (seconds: number, namespace?: string): string =>
    listedLine({ atMs: at(seconds), cluster: "prod", kind: "Pod", namespace });

  test("with runs and places without end so many are kept", () => {
    const evidence = new Evidence();
    const reader = new RecordingReader(evidence);
    for (let run = 0; run < 2_000; run += 1) {
      reader.read(runLine({ atMs: at(run), run: "again" }));
      reader.read(listed(run));
    }
    expect(evidence.coverage.length).toBeLessThanOrEqual(1_000);
    for (let name = 0; name < 3_000; name += 1) reader.read(listed(2_000, `namespace-${name}`));
    expect(new Set(evidence.coverage.map(({ namespace }) => namespace)).size).toBe(500);
    expect(evidence.dropped).toBeGreaterThan(3_000);
  });

  test("a list that is whole is compared once with the pods that are still there", () => {
    const evidence = new CountingEvidence();
    const reader = new RecordingReader(evidence);
    reader.read(runLine({ atMs: at(0), run: "one" }));
    const [atMs, json] = [at(0), JSON.stringify(pod({ readySince: 0 }))];
    const shared = { cluster: "prod", kind: "Pod", afterMs: undefined } as const;
    reader.read(changeLine({ ...shared, atMs, change: "added", by: "list", json }));
    for (let line = 0; line < 1_000; line += 1) reader.read(listed(line));
    expect(evidence.lists).toBe(1);
    expect(evidence.podsListedMs({ cluster: "prod", namespace: "shop" })).toBe(at(0));
    expect(evidence.lives.isGone("uid-web-1")).toBe(false);
  });
});

describe("of saved text", () => {
  test("an unfinished string is passed over once, whatever is in it", () => {
    // Each escaped quote would begin another search to the end of the text.
    const text = `{"a":1}{"b":"${'\\"'.repeat(200_000)}`;
    expect(savedDocuments(text)).toEqual({
      documents: [{ a: 1 }],
      isSequence: true,
      problems: [],
    });
  });

  test("a list in YAML is read item by item, with what stands around it", () => {
    const item = (name: string) => `- metadata:\n    name: ${name}\n  note: |\n    - a\n\n    b\n`;
    const list = `apiVersion: v1\nitems:\n${item("a")}${item("b")}kind: PodList\n`;
    const items = ["a", "b"].map((name) => ({ metadata: { name }, note: "- a\n\nb\n" }));
    expect(savedDocuments(`${list}---\n${list}`).documents).toEqual([
      { apiVersion: "v1", kind: "PodList", items },
      { apiVersion: "v1", kind: "PodList", items },
    ]);
    expect(savedDocuments(`a: ${"x".repeat(5_000_000)}\n---\nb: 1`)).toEqual({
      documents: [{ b: 1 }],
      isSequence: false,
      problems: ["document 1: an object has more than 4000000 characters of YAML"],
    });
  });
});
