// What-if: sliders for the size and the settings of a control plane; the server predicts waits with the
// simulation of the lab. The question is in the address, so a link shares it.
import { useEffect, useState } from "react";
import type { State, WhatIfAnswer, WhatIfInputs, WhatIfQuestion } from "../../../src/server/api.ts";
import { type ApiError, post, useAnswer } from "../api.ts";
import { duration } from "../format.ts";
import { Chart } from "../parts/chart.tsx";
import { CopyBox } from "../parts/copy-button.tsx";
import { Notice, Waiting } from "../parts/notice.tsx";
import { go, type Route, routeHref } from "../route.ts";
import { chartsOf } from "./control-plane.tsx";

type Input = WhatIfInputs["inputs"][number];

export function WhatIfView({ state, route }: { readonly state: State; readonly route: Route }) {
  const { value, error, reload } = useAnswer<WhatIfInputs>(state.can.whatif ? "whatif" : undefined);
  if (!state.can.whatif) {
    return (
      <Notice kind="empty" title="Predictions run with the lab only">
        Run lockstep up and open its page, or ask in a terminal: lockstep whatif --help.
      </Notice>
    );
  }
  if (value === undefined) return <Waiting what="the inputs" error={error} onRetry={reload} />;
  return <Question inputs={value} route={route} />;
}

/** The newest question of a page replaces its older ones on the server. */
const page = String(Math.random());

/** While a slider moves, nothing is asked. */
const settleMs = 300;
/** Between two questions for the same answer while it is computed. */
const askAgainMs = 500;

function questionOf({ inputs, versions }: WhatIfInputs, query: URLSearchParams): WhatIfQuestion {
  const asked = query.get("version") ?? "";
  const values = inputs.map(({ key, value, min, max }) => {
    const given = Number(query.get(key) ?? Number.NaN);
    return [key, Number.isFinite(given) ? Math.min(max, Math.max(min, given)) : value];
  });
  return {
    version: versions.includes(asked) ? asked : (versions[0] ?? ""),
    values: Object.fromEntries(values) as Record<string, number>,
  };
}

interface Prediction {
  readonly answer?: WhatIfAnswer;
  readonly error?: ApiError;
  readonly isComputing: boolean;
}

function usePrediction(asked: string): Prediction {
  const [prediction, setPrediction] = useState<Prediction>({ isComputing: true });
  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = () => {
      const question = { ...(JSON.parse(asked) as WhatIfQuestion), page };
      post<WhatIfAnswer>("whatif", question, ending.signal).then(
        (answer) => {
          const isComputing = answer.figures === null;
          setPrediction((before) =>
            isComputing && before.answer?.figures
              ? { answer: { ...before.answer, progress: answer.progress }, isComputing }
              : { answer, isComputing },
          );
          if (isComputing) timer = setTimeout(ask, askAgainMs);
        },
        (error: ApiError) => {
          if (!ending.signal.aborted) setPrediction({ error, isComputing: false });
        },
      );
    };
    setPrediction((before) => ({
      ...(before.answer && { answer: before.answer }),
      isComputing: true,
    }));
    timer = setTimeout(ask, settleMs);
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [asked]);
  return prediction;
}

function Question({ inputs, route }: { readonly inputs: WhatIfInputs; readonly route: Route }) {
  const question = questionOf(inputs, route.query);
  const { answer, error, isComputing } = usePrediction(JSON.stringify(question));
  const set = (key: string, value: string) => {
    const query = new URLSearchParams(route.query);
    query.set(key, value);
    go(routeHref(["what-if"], query), { replace: true });
  };
  return (
    <div className="what-if">
      <section className="panel inputs" aria-label="Inputs">
        <h2>
          What if <em>a control plane of this size and with these flags</em>
        </h2>
        {inputs.versions.length > 0 && (
          <label className="input-row">
            <span>Kubernetes version</span>
            <select
              value={question.version}
              onChange={({ target }) => set("version", target.value)}
            >
              {inputs.versions.map((version) => (
                <option key={version}>{version}</option>
              ))}
            </select>
          </label>
        )}
        {inputs.inputs.map((input) => (
          <Slider
            key={input.key}
            input={input}
            value={question.values[input.key] ?? input.value}
            onChange={(value) => set(input.key, String(value))}
          />
        ))}
        <a className="small-button" href={routeHref(["what-if"])}>
          back to the defaults
        </a>
      </section>
      <div className="stack" aria-busy={isComputing}>
        {error !== undefined && (
          <Notice kind="error" title="Cannot predict this">
            {error.message}
          </Notice>
        )}
        {error === undefined && (
          <section className={`panel ${isComputing ? "old" : ""}`} aria-label="Prediction">
            <h2>
              Prediction{" "}
              <em role="status">
                {isComputing ? (answer?.progress ?? "simulating …") : "by simulation"}
              </em>
            </h2>
            {answer?.figures ? (
              <dl className="prediction">
                {answer.figures.map(({ id, text, value, unit }) => (
                  <div key={id} data-figure={id}>
                    <dt>{text}</dt>
                    <dd>
                      {value} <small className="dim">{unit}</small>
                    </dd>
                  </div>
                ))}
              </dl>
            ) : (
              <p className="dim">The first simulation takes a few seconds.</p>
            )}
            {answer?.notes.map((note) => (
              <p key={note} className="remark">
                {note}
              </p>
            ))}
            {answer !== undefined && answer.flags !== "" && <CopyBox text={answer.flags} />}
          </section>
        )}
        {chartsOf(answer?.charts ?? []).map(({ id, title, series }) => (
          <section key={id} className="panel">
            <Chart title={title} series={series} group="what-if" height={190} />
          </section>
        ))}
      </div>
    </div>
  );
}

const sliderSteps = 200;

/** A logarithmic scale cannot start at 0: its first step is 0, the next is this part of the range. */
function toSlider({ min, max, isLogarithmic }: Input, value: number): number {
  if (!isLogarithmic) return ((value - min) / (max - min)) * sliderSteps;
  const low = Math.max(min, max / 1e5);
  if (value < low) return 0;
  return (Math.log(value / low) / Math.log(max / low)) * sliderSteps;
}

function fromSlider({ min, max, isLogarithmic, unit }: Input, place: number): number {
  const share = place / sliderSteps;
  const low = Math.max(min, max / 1e5);
  const exact = !isLogarithmic
    ? min + share * (max - min)
    : place === 0
      ? min
      : low * (max / low) ** share;
  const rounded = unit === "share" ? Number(exact.toFixed(2)) : Number(exact.toPrecision(2));
  const whole = unit === "share" || max <= 10 ? rounded : Math.round(rounded);
  return Math.min(max, Math.max(min, whole));
}

function inputText(value: number, unit: string): string {
  if (unit === "ms" || unit === "duration") return duration(value);
  if (unit === "share") return `${Math.round(value * 100)} %`;
  const text = value.toLocaleString("en-US");
  if (unit === "per second") return `${text}/s`;
  return unit === "count" || unit === "" ? text : `${text} ${unit}`;
}

function Slider({
  input,
  value,
  onChange,
}: {
  readonly input: Input;
  readonly value: number;
  readonly onChange: (value: number) => void;
}) {
  const text = inputText(value, input.unit);
  const place = Math.round(toSlider(input, value));
  const change = (next: number) => {
    const found = fromSlider(input, next);
    // Among small whole numbers one step of the slider may round to the same number.
    const nudged =
      found === value && input.unit !== "share" ? value + Math.sign(next - place) : found;
    onChange(Math.min(input.max, Math.max(input.min, nudged)));
  };
  return (
    <label className="input-row" data-input={input.key}>
      <span>
        {input.text} <output>{text}</output>
      </span>
      <input
        type="range"
        min={0}
        max={sliderSteps}
        value={place}
        aria-valuetext={text}
        onChange={({ target }) => change(Number(target.value))}
      />
    </label>
  );
}
