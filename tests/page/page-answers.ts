// Answers of the page's API as they are during the incident throttled-controller: for judging the page
// without clusters, in states that a lab reaches rarely. A test checks them against the schemas.
import type {
  Doctor,
  Finding,
  Incidents,
  Journey,
  LagRow,
  Recording,
  Series,
  SeriesAnswer,
  Services,
  State,
  TruthTable,
  WhatIfAnswer,
  WhatIfInputs,
} from "../../src/server/api.ts";

const minuteMs = 60_000;
const lockstepNames = ["lockstep-1", "lockstep-2", "lockstep-3"];
const stockNames = ["stock-1", "stock-2", "stock-3"];

interface JourneyFacts {
  readonly id: string;
  readonly address: string;
  readonly direction: Journey["direction"];
  readonly cause: string;
  readonly ageMs: number;
  readonly lockstep: readonly number[];
  /** null while it waits. */
  readonly publishedMs: number | null;
  readonly stock: readonly (number | null)[];
  readonly service?: string;
  readonly failed?: number;
}

function journey(now: number, facts: JourneyFacts): Journey {
  const { publishedMs, ageMs } = facts;
  const waiting: "stuck" | "pending" = ageMs >= 30_000 ? "stuck" : "pending";
  const at = (
    hop: "published" | "synced" | "routed",
    witness: string,
    lagMs: number | null,
  ): Journey["hops"][number] => ({
    hop,
    witness,
    state: lagMs === null ? waiting : "shown",
    lagMs,
  });
  const isOver = publishedMs !== null && facts.stock.every((lagMs) => lagMs !== null);
  return {
    id: facts.id,
    cluster: "alpha",
    service: facts.service ?? "shop/web",
    address: facts.address,
    port: 8080,
    podUid: `uid-${facts.id}`,
    podName: `web-${facts.id}`,
    direction: facts.direction,
    cause: facts.cause,
    originMs: now - ageMs,
    originNotBeforeMs: null,
    outcome: isOver ? "complete" : "pending",
    hops: [
      { hop: "pod", witness: "alpha", state: "shown", lagMs: 0 },
      at("published", "alpha", publishedMs),
      at("synced", "access", publishedMs === null ? null : publishedMs + 6),
      ...facts.lockstep.map((lagMs, place) => at("routed", lockstepNames[place] ?? "", lagMs)),
      ...facts.stock.map((lagMs, place) => at("routed", stockNames[place] ?? "", lagMs)),
    ],
    ...(facts.failed !== undefined && {
      traffic: { requests: facts.failed + 9, failed: facts.failed, lastFailedMs: now - 900 },
    }),
  };
}

export function journeysAt(now: number): Journey[] {
  const leave = { direction: "leave", cause: "terminating" } as const;
  const join = { direction: "join", cause: "ready" } as const;
  const none = [null, null, null];
  const slow = [30_400, 30_450, 30_600];
  return [
    {
      ...join,
      id: "8",
      address: "127.29.0.8",
      ageMs: 18_600,
      lockstep: [12, 16, 18],
      publishedMs: null,
      stock: none,
    },
    {
      ...join,
      id: "7",
      address: "127.29.0.7",
      ageMs: 19_800,
      lockstep: [14, 15, 17],
      publishedMs: null,
      stock: none,
    },
    {
      ...leave,
      id: "6",
      address: "127.29.0.4",
      ageMs: 24_100,
      lockstep: [7.1, 10.1, 10.6],
      publishedMs: null,
      stock: none,
      failed: 22,
    },
    {
      ...leave,
      id: "5",
      address: "127.29.0.5",
      ageMs: 24_100,
      lockstep: [7.3, 10.3, 10.8],
      publishedMs: null,
      stock: none,
      failed: 19,
    },
    {
      ...leave,
      id: "4",
      address: "127.29.0.9",
      ageMs: 41_000,
      lockstep: [6.9, 9.3, 11.8],
      publishedMs: null,
      stock: none,
      failed: 31,
    },
    {
      ...leave,
      id: "3",
      address: "127.29.0.3",
      ageMs: 62_000,
      lockstep: [7.4, 8.9, 9.4],
      publishedMs: 29_700,
      stock: slow,
      failed: 29,
    },
    {
      ...leave,
      id: "2",
      address: "127.29.0.6",
      ageMs: 64_000,
      lockstep: [7.6, 9.1, 9.6],
      publishedMs: 29_700,
      stock: [30_400, 30_500, 44_900],
      failed: 31,
    },
    {
      ...leave,
      id: "1",
      address: "127.31.0.2",
      ageMs: 140_000,
      lockstep: [6.2, 6.6, 7.1],
      publishedMs: 88,
      stock: [3_900, 3_900, 3_950],
      service: "shop/cart",
    },
    {
      ...join,
      id: "0",
      address: "127.31.0.4",
      ageMs: 170_000,
      lockstep: [5.4, 6.1, 8.1],
      publishedMs: 61,
      stock: [610, 640, 655],
      service: "shop/cart",
    },
  ].map((facts) => journey(now, facts));
}

const cause = "The controller manager of alpha is throttled at 20 requests/s.";

export function finding(now: number): Finding {
  return {
    rule: "client-throttling",
    severity: "critical",
    confidence: "certain: three independent sources",
    hop: "published",
    cause,
    evidence: [
      {
        text: "412 lines in a minute: Throttling request took 2.49s, request: GET /api/v1/namespaces/shop/endpoints",
        source: "log of kube-controller-manager-alpha",
      },
      {
        text: "330 keys wait, never fewer than 240 in 5 min",
        source: 'workqueue_depth{name="endpoint"}',
      },
      { text: "8 changes were published after 24 s to 30 s", source: "journeys of this server" },
    ],
    fix: {
      component: "kube-controller-manager",
      change: "--kube-api-qps=300 --kube-api-burst=325",
      reason: "More endpoint workers do not help: they wait for the same limit.",
      effect: "the wait falls from 30 s to 30 ms",
    },
    affected: "All versions, current ones included.",
    page: "docs/causes/README.md#client-throttling",
    missing: ["The flags of the controller manager: lockstep doctor --flags FILE."],
    cluster: "alpha",
    since: now - 130_000,
    consequences: [
      {
        rule: "dead-endpoints",
        severity: "warning",
        confidence: "certain: two sources",
        hop: "traffic",
        cause: "EndpointSlices list 5 pods that are gone.",
        evidence: [{ text: "5 endpoints refuse connections", source: "access log of stock-1" }],
        fix: {
          component: "kube-controller-manager",
          change: "see above",
          reason: "It follows.",
          effect: null,
        },
        affected: "All versions, current ones included.",
        page: "docs/causes/README.md#dead-endpoints",
        missing: [],
      },
    ],
  };
}

function lagRow(
  hop: LagRow["hop"],
  kind: string,
  direction: LagRow["direction"],
  figures: readonly (number | null)[],
): LagRow {
  const [p50Ms = null, p99Ms = null, maxMs = null, oldestPendingMs = null, pending = 0, count = 0] =
    figures;
  return {
    hop,
    kind,
    direction,
    count: count ?? 0,
    p50Ms,
    recentMs: p50Ms,
    p99Ms,
    maxMs,
    oldestPendingMs,
    pending: pending ?? 0,
  };
}

const headline =
  "Removed pods of cluster alpha leave the EndpointSlices late: after 29.7 s (median of the last 2 minutes); the oldest one has waited for 41 s.";

export function stateAt(now: number): State {
  const watch = (resource: string, objects: number) => ({
    resource,
    state: "fresh" as const,
    aliveAt: now - 900,
    objects,
    detail: null,
  });
  return {
    api: 1,
    version: "0.1.0",
    mode: "lab",
    slowMs: 2_000,
    startedAt: now - 4 * minuteMs,
    at: now,
    verdict: {
      level: "late",
      headline,
      late: { hop: "published", kind: "", direction: "leave", cluster: "alpha" },
      cause,
      text: `${headline} The Lockstep proxies used them after 9.4 ms. Stock (model) lost 180 of 811 requests, Lockstep 0. Cause: ${cause}`,
      confidence: "certain: three independent sources",
      rule: "client-throttling",
    },
    clusters: [
      {
        name: "alpha",
        roles: ["business"],
        state: "watching",
        since: now - 3 * minuteMs,
        detail: null,
        version: "v1.17.3",
        apiServers: [
          { address: "127.0.0.1:6443", state: "up", detail: null },
          { address: "127.0.0.1:6444", state: "up", detail: null },
        ],
        watches: [watch("pods", 1_643), watch("endpointslices", 1_610), watch("services", 1_604)],
        doubts: [],
      },
      {
        name: "access",
        roles: ["access"],
        state: "watching",
        since: now - 3 * minuteMs,
        detail: null,
        version: "v1.33.1",
        apiServers: [{ address: "127.0.0.1:6445", state: "up", detail: null }],
        watches: [{ ...watch("endpointslices", 4), state: "stale", aliveAt: now - 31_000 }],
        doubts: [
          "The watch of endpointslices in access is stale: copied may be too late by up to 31 s.",
        ],
      },
    ],
    replicas: [
      ...lockstepNames.map((name) => ({ name, kind: "lockstep" as const })),
      ...stockNames.map((name) => ({ name, kind: "stock" as const })),
    ].map((one) => ({ ...one, state: "connected" as const, reportedAt: now - 400, problem: null })),
    lags: [
      lagRow("pod", "", "leave", [0, 0.4, 1.1, null, 0, 140]),
      lagRow("published", "", "leave", [29_500, 29_690, 29_700, 41_000, 3, 140]),
      lagRow("synced", "", "leave", [29_520, 29_700, 29_710, 41_000, 3, 140]),
      lagRow("routed", "lockstep", "leave", [9.4, 10.7, 11.8, null, 0, 420]),
      lagRow("routed", "stock", "leave", [30_500, 30_600, 44_900, 41_000, 9, 411]),
      lagRow("published", "", "join", [28_100, null, 29_400, 19_800, 2, 64]),
      lagRow("routed", "lockstep", "join", [15.2, null, 18, null, 0, 192]),
      lagRow("routed", "stock", "join", [29_000, null, 30_100, 19_800, 6, 186]),
    ],
    inFlight: 5,
    stuck: 1,
    toRemoved: null,
    requests: {
      since: now - 3 * minuteMs,
      sides: [
        { side: "stock", requests: 811, lost: 180, sentToDead: 196 },
        { side: "lockstep", requests: 811, lost: 0, sentToDead: 0 },
      ],
    },
    changes: 204,
    findings: 1,
    story: {
      act: 2,
      title: "a release under a throttled controller",
      step: "4 of 8 pods are replaced; EndpointSlices are 29 s behind.",
      seconds: 42,
      isSimulated: false,
      checks: [{ text: "Lockstep sent 0 requests to dead pods", goal: "0", holds: true }],
    },
    incident: { name: "throttled-controller", phase: "fault" },
    notes: [],
    can: { incidents: true, whatif: true, doctor: true, recordings: true },
  };
}

export function servicesAt(): Services {
  const filler = Array.from({ length: 12 }, (_, place) => ({
    service: `filler/service-${String(place + 1).padStart(4, "0")}`,
    clusters: ["alpha"],
    endpoints: 1,
    disagreements: 0,
    changes: 0,
    inFlight: 0,
  }));
  return {
    services: [
      {
        service: "shop/web",
        clusters: ["alpha", "beta"],
        endpoints: 6,
        disagreements: 5,
        changes: 190,
        inFlight: 5,
      },
      {
        service: "shop/cart",
        clusters: ["alpha"],
        endpoints: 3,
        disagreements: 0,
        changes: 14,
        inFlight: 0,
      },
      ...filler,
    ],
    total: 1_604,
  };
}

type Mark = TruthTable["rows"][number]["cells"][number]["mark"];

export function truthAt(now: number): TruthTable {
  const cell = (mark: Mark, text: string, ageMs: number | null = null) => ({
    mark,
    text,
    since: ageMs === null ? null : now - ageMs,
    isStale: false,
  });
  const three = (mark: Mark, text: string) => [
    cell(mark, text),
    cell(mark, text),
    cell(mark, text),
  ];
  const gone = (address: string, ageMs: number, failed: number): TruthTable["rows"][number] => ({
    cluster: "alpha",
    address,
    port: 8080,
    podName: null,
    state: "out",
    reason: "Its pod is gone; the slice still lists it.",
    isDisputed: true,
    cells: [
      cell("out", "gone", ageMs),
      cell("in", "ready"),
      cell("in", "ready"),
      ...three("out", "out"),
      ...three("in", "in"),
      cell("out", "refused"),
      cell("out", `${failed} failed`),
    ],
  });
  const added = (address: string, ageMs: number, ok: number): TruthTable["rows"][number] => ({
    ...gone(address, ageMs, 0),
    podName: "web-7d9c",
    state: "active",
    reason: "Its pod is ready; the slice does not list it yet.",
    cells: [
      cell("in", "ready", ageMs),
      cell("out", "absent"),
      cell("out", "absent"),
      ...three("in", "in"),
      ...three("out", "out"),
      cell("unknown", "not probed"),
      cell("in", `${ok} ok`),
    ],
  });
  return {
    service: "shop/web",
    at: now,
    follows: { mode: "pods", reason: "the pod watch is up to date" },
    routes: ["Ingress shop/web", "HTTPRoute shop/web"],
    witnesses: [
      { id: "pod", kind: "pod", label: "pod", isStock: false },
      { id: "slice", kind: "published", label: "EndpointSlice in alpha", isStock: false },
      { id: "copy", kind: "synced", label: "copy in access", isStock: false },
      ...lockstepNames.map((id) => ({ id, kind: "replica" as const, label: id, isStock: false })),
      ...stockNames.map((id) => ({ id, kind: "replica" as const, label: id, isStock: true })),
      { id: "probe", kind: "probe", label: "probe", isStock: false },
      { id: "traffic", kind: "traffic", label: "requests", isStock: false },
    ],
    endpoints: 6,
    disagreements: 5,
    rows: [
      gone("127.29.0.6", 12_000, 31),
      gone("127.29.0.3", 12_400, 29),
      added("127.29.0.7", 11_000, 104),
      added("127.29.0.8", 9_000, 88),
      {
        ...added("127.29.0.9", 200_000, 412),
        isDisputed: false,
        reason: "All sources agree.",
        cells: [
          cell("in", "ready", 200_000),
          cell("in", "ready"),
          cell("in", "ready"),
          ...three("in", "in"),
          ...three("in", "in"),
          cell("unknown", "not probed"),
          cell("in", "412 ok"),
        ],
      },
      {
        ...gone("127.29.0.4", 2_000, 0),
        podName: "web-5c1f",
        state: "draining",
        reason: "Its pod is terminating; requests in progress may end.",
        cells: [
          cell("draining", "terminating", 2_000),
          cell("in", "ready"),
          cell("in", "ready"),
          ...three("draining", "draining"),
          ...three("in", "in"),
          cell("in", "answers"),
          cell("draining", "2 in progress"),
        ],
      },
    ],
    journeys: journeysAt(now).filter(({ service }) => service === "shop/web"),
    problems: [],
  };
}

interface SeriesFacts extends Pick<Series, "id" | "chart" | "title" | "unit"> {
  readonly limit?: number;
  readonly side?: "stock" | "lockstep";
  readonly hop?: Series["hop"];
  readonly direction?: Series["direction"];
  readonly value: (secondsAgo: number) => number | null;
}

const pointEveryS = 2;

function series(now: number, { value, ...facts }: SeriesFacts): Series {
  const points = Array.from({ length: 150 }, (_, place): [number, number | null] => {
    const secondsAgo = (149 - place) * pointEveryS;
    return [now - secondsAgo * 1000, value(secondsAgo)];
  });
  return {
    cluster: "alpha",
    side: null,
    hop: null,
    direction: null,
    limit: null,
    ...facts,
    points,
  };
}

/** From 130 s ago on the controller is throttled. */
export function seriesAt(now: number): SeriesAnswer {
  const during = (fault: (s: number) => number, calm: number) => (s: number) =>
    s > 130 ? calm : fault(s);
  const wave = (s: number) => Math.abs(((s * 7) % 40) - 20);
  const sometimes = (value: number, every: number) => (s: number) =>
    s % every === 0 ? value + wave(s) * (value / 100) : null;
  const lag = { chart: "lag", unit: "ms" } as const;
  return {
    series: [
      {
        ...lag,
        id: "lag published  leave",
        title: "published, removals",
        hop: "published" as const,
        direction: "leave" as const,
        value: (s: number) => (s > 130 ? sometimes(70, 14)(s) : sometimes(29_000, 10)(s)),
      },
      {
        ...lag,
        id: "lag routed lockstep leave",
        title: "routed (lockstep), removals",
        hop: "routed" as const,
        side: "lockstep" as const,
        direction: "leave" as const,
        value: sometimes(9, 10),
      },
      {
        ...lag,
        id: "lag routed stock leave",
        title: "routed (stock), removals",
        hop: "routed" as const,
        side: "stock" as const,
        direction: "leave" as const,
        value: (s: number) => (s > 130 ? sometimes(640, 14)(s) : sometimes(30_000, 10)(s)),
      },
      {
        id: "queue",
        chart: "control-plane queue depth",
        title: "endpoint queue in alpha",
        unit: "count" as const,
        value: during((s) => 285 + wave(s) * 2, 2),
      },
      {
        id: "wait",
        chart: "control-plane queue wait",
        title: "wait in the endpoint queue",
        unit: "ms" as const,
        value: during((s) => 28_000 + wave(s) * 60, 12),
      },
      {
        id: "get",
        chart: "control-plane requests",
        title: "GET",
        unit: "per second" as const,
        value: during(() => 10, 31),
      },
      {
        id: "put",
        chart: "control-plane requests",
        title: "PUT",
        unit: "per second" as const,
        value: during(() => 9.8, 14),
      },
      {
        id: "noop",
        chart: "control-plane requests",
        title: "PUT without a change",
        unit: "per second" as const,
        value: during(() => 6, 1),
      },
      {
        id: "throttle",
        chart: "control-plane throttling",
        title: "wait for the client's limit",
        unit: "ms" as const,
        value: during((s) => 2_400 + wave(s) * 10, 0),
      },
      {
        id: "beats",
        chart: "control-plane heartbeats",
        title: "longest heartbeat gap",
        unit: "ms" as const,
        limit: 40_000,
        value: (s: number) => 10_000 + wave(s) * 100,
      },
    ].map((facts) => series(now, facts)),
    missing: ["No chart of the leader record: this control plane runs without leader election."],
  };
}

export function doctorAt(now: number): Doctor {
  return {
    state: "idle",
    detail: null,
    examinedAt: now - 20_000,
    findings: [finding(now)],
    ruledOut: [
      "proxies are late: Lockstep's replicas route within 18 ms",
      "slow API server: p99 of PUT is 9 ms",
      "late heartbeats: no gap above 12 s",
    ],
    notExamined: ["etcd: no metrics were given"],
    markdown: `## Findings\n\n**${cause}**\n`,
  };
}

export function incidentsAt(now: number, phase?: "fault" | "fixed"): Incidents {
  const named = (name: string, summary: string, why: string, fix: string) => ({
    name,
    summary,
    cause: why,
    fix,
    isSimulated: name !== "throttled-controller",
  });
  return {
    incidents: [
      named(
        "resync-storm",
        "Every few hours, all services are written again and changes wait behind them.",
        "A resync puts every service into the queue.",
        "Raise qps and burst, or lengthen the resync.",
      ),
      named(
        "throttled-controller",
        "A release during a throttled controller manager sends requests to dead pods.",
        "The controller manager may send 20 requests a second.",
        "--kube-api-qps=300 --kube-api-burst=325",
      ),
      named(
        "heartbeat-flap",
        "Nodes flap between Ready and Unknown, and their pods leave and join.",
        "Heartbeats come later than the grace period.",
        "--node-monitor-grace-period=60s",
      ),
      named(
        "apiserver-fight",
        "Two API servers write the kubernetes endpoints in turn.",
        "They run different reconcilers.",
        "Use the lease reconciler on all.",
      ),
      named(
        "ghost-leader",
        "No controller works, though a leader lock is renewed.",
        "The holder of the lock is a pod that does not exist.",
        "Delete the lock.",
      ),
    ],
    running:
      phase === undefined
        ? null
        : {
            name: "throttled-controller",
            phase,
            startedAt: now - 42_000,
            isSimulated: false,
            steps: [
              { at: now - 42_000, text: "The controller manager restarts with 20 requests/s." },
              { at: now - 30_000, text: "A release replaces 8 pods of shop/web." },
              { at: now - 9_000, text: "The doctor names the cause." },
            ],
            requests: stateAt(now).requests.sides,
            finding: finding(now),
            namedAfterMs: 21_300,
            charts: seriesAt(now).series.slice(3, 5),
            measures: [
              {
                text: "slowest removal from the proxies",
                stock: "30.6 s",
                lockstep: "11.8 ms",
                goal: "Lockstep below 1 s",
                held: true,
              },
              {
                text: "requests lost",
                stock: "180 of 811",
                lockstep: "0 of 811",
                goal: "Lockstep 0",
                held: true,
              },
            ],
          },
  };
}

export const whatIfInputs: WhatIfInputs = {
  inputs: [
    {
      key: "services",
      text: "services",
      unit: "count",
      min: 10,
      max: 30_000,
      value: 1_600,
      isLogarithmic: true,
    },
    {
      key: "qps",
      text: "requests a second",
      unit: "per second",
      min: 1,
      max: 10_000,
      value: 20,
      isLogarithmic: true,
    },
    {
      key: "burst",
      text: "burst",
      unit: "count",
      min: 1,
      max: 20_000,
      value: 30,
      isLogarithmic: true,
    },
    {
      key: "workers",
      text: "endpoint workers",
      unit: "count",
      min: 1,
      max: 1_000,
      value: 50,
      isLogarithmic: true,
    },
    {
      key: "grace-period",
      text: "node grace period",
      unit: "ms",
      min: 1_000,
      max: 3_600_000,
      value: 40_000,
      isLogarithmic: true,
    },
  ],
  versions: ["1.17.3", "1.33"],
};

/** A rough law, so that another question gets another answer. */
export function whatIfAnswer(values: Readonly<Record<string, number>>): WhatIfAnswer {
  const { services = 1_600, qps = 20 } = values;
  const drainS = services / qps;
  return {
    figures: [
      { id: "drain", text: "queue drained after", value: `${drainS.toPrecision(3)} s`, unit: "" },
      {
        id: "wait",
        text: "a change waits up to",
        value: `${(drainS / 2).toPrecision(3)} s`,
        unit: "",
      },
    ],
    progress: null,
    charts: [
      {
        id: "drain",
        chart: "keys in the queue",
        title: "keys in the queue after a start",
        unit: "count",
        cluster: null,
        side: null,
        hop: null,
        direction: null,
        limit: null,
        points: Array.from({ length: 40 }, (_, place) => [
          (place / 39) * drainS * 1000,
          Math.round(services * (1 - place / 39)),
        ]),
      },
    ],
    notes:
      qps < 50 ? ["Saturated: the controller needs more requests a second than it may send."] : [],
    flags: `--kube-api-qps=${qps} --concurrent-endpoint-syncs=${values["workers"] ?? 50}`,
  };
}

export function recordingAt(now: number): Recording {
  return {
    from: now - 180_000,
    to: now,
    clusters: ["alpha", "access"],
    journeys: journeysAt(now),
    leftOut: 0,
    notes: [],
  };
}
