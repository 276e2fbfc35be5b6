// The request metrics of an API server, under the names and labels its version has. Requests are in
// flight (or long-running) from the moment they are understood, and counted once with their code
// and duration when they are over.
import { Counter, Gauge, Histogram, type LabelValues, type Registry } from "prom-client";
import { GoSummary } from "../../components/go-summary.ts";
import type { Clock } from "../../environment/clock.ts";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";
import type { PlaceLabel, RequestLabel, RequestMetricsForm } from "./request-metrics-forms.ts";
import { isLongRunning } from "./request-record.ts";
import type { ResourceRoute, Route } from "./route.ts";
import type { RequestObserver, RequestOutcome, ServedRequest } from "./served-request.ts";

export interface RequestMetricsOptions {
  readonly registry: Registry;
  readonly form: RequestMetricsForm;
  readonly clock: Clock;
}

/** One for all servers that share a registry. */
export function requestMetrics(options: RequestMetricsOptions): RequestObserver {
  const made = metersOf(options.registry);
  made.meter ??= new RequestMeter(options);
  return made.meter;
}

const metersOf = oncePerRegistry((): { meter: RequestMeter | undefined } => ({ meter: undefined }));

class RequestMeter implements RequestObserver {
  readonly #form: RequestMetricsForm;
  readonly #total: Counter<RequestLabel>;
  readonly #duration: Histogram<PlaceLabel>;
  readonly #summary: GoSummary<PlaceLabel> | undefined;
  readonly #longRunning: Gauge<PlaceLabel> | undefined;
  readonly #inFlight: Gauge | undefined;

  constructor({ registry, form, clock }: RequestMetricsOptions) {
    const registers = [registry];
    const { total, duration, summary, longRunning, inFlight } = form;
    this.#form = form;
    this.#total = new Counter({ ...total, labelNames: [...total.labelNames], registers });
    this.#duration = new Histogram({
      name: duration.name,
      help: duration.help,
      labelNames: [...duration.labelNames],
      buckets: [...duration.buckets],
      registers,
    });
    if (summary !== undefined) this.#summary = new GoSummary({ ...summary, registry, clock });
    if (longRunning !== undefined) {
      const labelNames = [...longRunning.labelNames];
      this.#longRunning = new Gauge({ ...longRunning, labelNames, registers });
    }
    if (inFlight !== undefined) {
      const { name, help, label } = inFlight;
      this.#inFlight = new Gauge({ name, help, labelNames: [label], registers });
    }
  }

  began(served: ServedRequest): void {
    this.#countInFlight(served, 1);
  }

  finished(served: ServedRequest, { code, elapsedMs, contentType }: RequestOutcome): void {
    const { total, duration, summary } = this.#form;
    const labels: Record<RequestLabel, string> = {
      ...this.#place(served),
      code: String(code),
      client: served.request.headers["user-agent"] ?? "",
      contentType,
    };
    this.#total.inc(picked(labels, total.labelNames));
    const time = (elapsedMs / 1000) * duration.unitsPerSecond;
    this.#duration.observe(picked(labels, duration.labelNames), time);
    this.#summary?.record(picked(labels, summary?.labelNames ?? []), time);
    if (served.route !== undefined) this.#countInFlight(served, -1);
  }

  #countInFlight(served: ServedRequest, change: 1 | -1): void {
    const { longRunning, inFlight } = this.#form;
    if (isLongRunning(served.route)) {
      const labels = picked(this.#place(served), longRunning?.labelNames ?? []);
      this.#longRunning?.inc(labels, change);
    } else if (inFlight !== undefined) {
      const { method } = served.request;
      const isReading = method === "GET" || method === "HEAD";
      this.#inFlight?.inc({ [inFlight.label]: isReading ? "readOnly" : "mutating" }, change);
    }
  }

  /** Where the request goes; paths outside the API have no resource. */
  #place({ request, route }: ServedRequest): Record<PlaceLabel, string> {
    const isResource = route?.type === "resource";
    return {
      verb: isResource ? verbLabels[route.verb] : request.method,
      dry_run: isResource ? (route.query.get("dryRun") ?? "") : "",
      group: isResource ? route.kind.group : "",
      version: isResource ? route.kind.version : "",
      resource: isResource ? route.kind.resource : "",
      subresource: isResource ? (route.subresource ?? "") : "",
      scope: scopeOf(route, this.#form.scope),
      component: "apiserver",
    };
  }
}

const verbLabels: Readonly<Record<ResourceRoute["verb"], string>> = {
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETECOLLECTION",
};

function scopeOf(route: Route | undefined, form: RequestMetricsForm["scope"]): string {
  if (route?.type !== "resource") return "";
  if (form === "by-name" && route.name !== undefined) return "resource";
  return route.namespace === undefined ? "cluster" : "namespace";
}

function picked<Label extends string>(
  labels: Readonly<Record<Label, string>>,
  names: readonly Label[],
): LabelValues<Label> {
  const values: LabelValues<Label> = {};
  for (const name of names) values[name] = labels[name];
  return values;
}
