// Debian's Prometheus for tests: on a free port of loopback, in a folder of the test's own, scraping
// and evaluating many times a second, so that what takes minutes elsewhere is seen at once.
import { existsSync } from "node:fs";
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
} from "../src/kube/kinds/fields.ts";
import type { ShopsWorld } from "./shops-world.ts";

const program = "/usr/bin/prometheus";

/** False, or why tests that need it cannot run. */
export const withoutPrometheus: false | string = existsSync(program)
  ? false
  : "prometheus is not installed";

const evaluatedEveryMs = 200;

/** No scrape may take longer than it is apart from the next: time enough on a busy machine. */
const scrapedEveryMs = 1_000;

export interface Sample {
  readonly labels: Readonly<Record<string, unknown>>;
  readonly value: number;
}

export interface Rule {
  readonly name: string;
  readonly health: string;
  readonly error: string;
  /** Of an alert: `inactive`, `pending` or `firing`. */
  readonly state: string | undefined;
  readonly alerts: readonly { readonly summary: string; readonly runbook: string }[];
}

export class PrometheusProcess {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Resolves when it is ready; it ends with the world. */
  static async start(
    world: ShopsWorld,
    { target, rules }: { readonly target: string; readonly rules: string },
  ): Promise<PrometheusProcess> {
    const { environment, folder } = world;
    const listen = `127.0.0.1:${await world.freePort()}`;
    const config = `
      global: { scrape_interval: ${scrapedEveryMs}ms, scrape_timeout: ${scrapedEveryMs}ms, evaluation_interval: ${evaluatedEveryMs}ms }
      rule_files: [${folder}/rules.yaml]
      scrape_configs: [{ job_name: lockstep, static_configs: [{ targets: ["${target}"] }] }]
    `.replaceAll(/^ {6}/gm, "");
    await environment.files.write(`${folder}/prometheus.yml`, config);
    await environment.files.write(`${folder}/rules.yaml`, rules);
    const child = await environment.processes.spawn(program, [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/prometheus`,
      `--web.listen-address=${listen}`,
      "--log.level=error",
    ]);
    world.atStop(async () => {
      child.kill("SIGTERM");
      await child.exited;
    });
    const prometheus = new PrometheusProcess(`http://${listen}`);
    await world.until("prometheus is ready", async () => {
      if (!environment.processes.isAlive(child.pid)) {
        let said = "";
        for await (const chunk of child.errorOutput) said += Buffer.from(chunk).toString("utf8");
        throw new Error(`prometheus ended: ${said}`);
      }
      return await prometheus.#isReady();
    });
    return prometheus;
  }

  /**
   * The present value of an expression; an error of the expression is thrown in Prometheus's words.
   */
  async query(expression: string): Promise<readonly Sample[]> {
    const data = await this.#get(`/api/v1/query?query=${encodeURIComponent(expression)}`);
    return listAt(data, "result")
      .filter(isRecord)
      .map((one) => ({ labels: recordAt(one, "metric"), value: Number(listAt(one, "value")[1]) }));
  }

  /** The rules as it has evaluated them last. */
  async rules(): Promise<readonly Rule[]> {
    const groups = listAt(await this.#get("/api/v1/rules"), "groups").filter(isRecord);
    return groups.flatMap((group) => listAt(group, "rules").filter(isRecord).map(ruleOf));
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await fetch(`${this.#url}/-/ready`)).ok;
    } catch {
      // It does not listen yet.
      return false;
    }
  }

  async #get(path: string): Promise<RawRecord> {
    const answer: unknown = await (await fetch(`${this.#url}${path}`)).json();
    if (!isRecord(answer) || answer["status"] !== "success") {
      throw new Error(`${decodeURIComponent(path)}: ${JSON.stringify(answer)}`);
    }
    return recordAt(answer, "data");
  }
}

function ruleOf(rule: RawRecord): Rule {
  const alerts = Array.isArray(rule["alerts"]) ? rule["alerts"].filter(isRecord) : [];
  return {
    name: String(rule["name"]),
    health: String(rule["health"]),
    error: optionalString(rule, "lastError") ?? "",
    state: rule["type"] === "alerting" ? String(rule["state"]) : undefined,
    alerts: alerts
      .filter((alert) => alert["state"] === "firing")
      .map((alert) => recordAt(alert, "annotations"))
      .map(({ summary, runbook_url }) => ({
        summary: String(summary),
        runbook: String(runbook_url),
      })),
  };
}
