// The page of a `lockstep up`, read as a browser reads it: every answer is checked by its schema. Each wait
// is for the thing itself.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import type {
  IncidentAction,
  Incidents,
  Series,
  SeriesAnswer,
  State,
  WhatIfAnswer,
} from "../src/server/api.ts";
import { PageClient } from "../tests/page/page-client.ts";

type Running = NonNullable<Incidents["running"]>;

const pollMs = 100;

export class UpPageClient {
  readonly #client: PageClient;

  /** Without a slash at the end. */
  constructor(url: string) {
    const { network } = nodeEnvironment({ log: { level: () => "error" } });
    this.#client = new PageClient(network, url, { origin: url });
  }

  async state(): Promise<State> {
    return await this.#client.get<State>("/api/v1/state");
  }

  async series(): Promise<readonly Series[]> {
    return (await this.#client.get<SeriesAnswer>("/api/v1/series")).series;
  }

  async untilState(fits: (state: State) => boolean): Promise<State> {
    for (;;) {
      const state = await this.state();
      if (fits(state)) return state;
      await pause();
    }
  }

  async startIncident(name: string): Promise<void> {
    await this.#act({ action: "start", name });
  }

  async fixIncident(name: string): Promise<void> {
    await this.#act({ action: "fix", name });
  }

  async stopIncident(name: string): Promise<void> {
    await this.#act({ action: "stop", name });
  }

  /** Rejects when the incident fails. */
  async untilRunning(fits: (running: Running) => boolean): Promise<Running> {
    for (;;) {
      const { running } = await this.#client.get<Incidents>("/api/v1/incidents");
      if (running !== null && fits(running)) return running;
      if (running?.phase === "failed") throw new Error(JSON.stringify(running.steps));
      await pause();
    }
  }

  async untilPhase(phase: Running["phase"]): Promise<Running> {
    return await this.untilRunning((running) => running.phase === phase);
  }

  async untilNamed(name: string): Promise<Running> {
    return await this.untilRunning((running) => running.name === name && running.finding !== null);
  }

  async prediction(values: Readonly<Record<string, number>>): Promise<WhatIfAnswer> {
    for (;;) {
      const question = { version: "1.33", values, page: "e2e" };
      const answer = await this.#client.post<WhatIfAnswer>("/api/v1/whatif", question);
      if (answer.figures !== null) return answer;
      await pause();
    }
  }

  async #act(action: IncidentAction): Promise<void> {
    await this.#client.post<Incidents>("/api/v1/incidents", action);
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pollMs));
}
