// The first lines of a controller manager's log, and the metric that says when it started.
import { Gauge, type Registry } from "prom-client";
import { type Klog, structured } from "../../components/klog.ts";
import type { Clock } from "../../environment/clock.ts";
import { type ProfileName, profileNamed } from "../versions/profiles.ts";

export interface StartedControllers {
  readonly klog: Klog;
  readonly profile: ProfileName;
}

export function noteStart({ klog, profile }: StartedControllers): void {
  const { gitVersion, logs } = profileNamed(profile);
  const { lines } = profileNamed(profile).formats;
  const text =
    logs === "sentences"
      ? `Version: ${gitVersion}`
      : structured("Starting", { version: gitVersion });
  klog.write("I", lines.managerVersion, text);
}

/** One line for each controller, when it leads. */
export function noteControllers({ klog, profile }: StartedControllers): void {
  const { controllerStarted, controllers } = profileNamed(profile).formats.lines;
  const isStructured = profileNamed(profile).logs === "structured";
  for (const controller of controllers) {
    const text = isStructured
      ? structured("Started controller", { controller })
      : `Started ${JSON.stringify(controller)}`;
    klog.write("I", controllerStarted, text);
  }
}

export function countStart(registry: Registry, clock: Clock): void {
  const started = new Gauge({
    name: "process_start_time_seconds",
    help: "Start time of the process since unix epoch in seconds.",
    registers: [registry],
  });
  started.set(Math.floor(clock.wallMs() / 1000));
}
