// Credentials from an exec plugin, as cloud providers issue tokens: a program prints an
// `ExecCredential` with a token or a client certificate and its expiry. Invariant: at most one run
// is in progress, and simultaneous callers share it.
import { assert } from "../../environment/assert.ts";
import { type Clock, elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";
import { ProcessError, type Processes } from "../../environment/processes.ts";
import { CredentialsError } from "./credentials.ts";
import { type ExecSpec, execInfo, parseExecCredential } from "./credentials-exec-spec.ts";
import type { Identity, IdentitySource } from "./credentials-identity.ts";
import type { TextSource } from "./credentials-text.ts";

export interface ExecIdentityOptions {
  readonly processes: Processes;
  readonly clock: Clock;
  readonly spec: ExecSpec;
  /** The cluster's certificate authority, for a plugin that asks for the cluster. */
  readonly authority?: TextSource | undefined;
}

/** Cloud command lines take one to three seconds; beyond this one it hangs, on a prompt perhaps. */
const pluginTimeoutMs = 30_000;

/** A credential is renewed this long before it expires, so that none expires on its way. */
const expirySkewMs = 60_000;

/** A plugin is not run again sooner: refused or failing, it would give the same, at our cost. */
const pluginRestMs = 5_000;

/** The plugin's error output is shown, but not a whole stack trace. */
const longestErrorOutput = 2_000;

type Outcome =
  | { readonly identity: Identity; readonly renewAt: WallMs | undefined }
  | { readonly error: CredentialsError };

export class ExecIdentity implements IdentitySource {
  readonly #processes: Processes;
  readonly #clock: Clock;
  readonly #spec: ExecSpec;
  readonly #authority: TextSource | undefined;
  #running: Promise<Identity> | undefined;
  #outcome: Outcome | undefined;
  #ranAt: MonotonicMs | undefined;

  constructor({ processes, clock, spec, authority }: ExecIdentityOptions) {
    this.#processes = processes;
    this.#clock = clock;
    this.#spec = spec;
    this.#authority = spec.cluster === undefined ? undefined : authority;
  }

  async current(): Promise<Identity> {
    const outcome = this.#outcome;
    if (outcome !== undefined) {
      if ("identity" in outcome && !this.#isDue(outcome.renewAt)) return outcome.identity;
      if ("error" in outcome && this.#isResting()) throw outcome.error;
    }
    this.#running ??= this.#renew().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  invalidate(refused: Identity): void {
    const outcome = this.#outcome;
    if (outcome === undefined || "error" in outcome || this.#isResting()) return;
    // Another caller may have renewed it since the refused request was sent.
    if (outcome.identity.authorization !== refused.authorization) return;
    if (outcome.identity.cert !== refused.cert) return;
    this.#outcome = undefined;
  }

  #isDue(renewAt: WallMs | undefined): boolean {
    return renewAt !== undefined && this.#clock.wallMs() >= renewAt;
  }

  #isResting(): boolean {
    if (this.#ranAt === undefined) return false;
    return elapsedMs(this.#ranAt, this.#clock.monotonicMs()) < pluginRestMs;
  }

  async #renew(): Promise<Identity> {
    assert(this.#running === undefined, "one run of a credentials plugin is under way at a time");
    try {
      const { identity, expiresAt } = await this.#run();
      this.#outcome = { identity, renewAt: this.#renewAt(expiresAt) };
      return identity;
    } catch (error) {
      const failure = asCredentialsError(this.#spec, error);
      this.#outcome = { error: failure };
      throw failure;
    } finally {
      this.#ranAt = this.#clock.monotonicMs();
    }
  }

  /** Short-lived credentials are used for at least half their life. */
  #renewAt(expiresAt: WallMs | undefined): WallMs | undefined {
    if (expiresAt === undefined) return undefined;
    const lifeMs = Math.max(0, expiresAt - this.#clock.wallMs());
    return (expiresAt - Math.min(expirySkewMs, lifeMs / 2)) as WallMs;
  }

  async #run(): Promise<{ identity: Identity; expiresAt: WallMs | undefined }> {
    const { command, args, environment } = this.#spec;
    const info = execInfo(this.#spec, await this.#authority?.read());
    const result = await this.#processes.run(command, args, {
      environment: { ...environment, KUBERNETES_EXEC_INFO: info },
      timeoutMs: pluginTimeoutMs,
    });
    if (result.code === 0) return parseExecCredential(this.#spec, result.output);
    const how = result.code === null ? `signal ${result.signal}` : `exit code ${result.code}`;
    const said = result.errorOutput.trim().slice(0, longestErrorOutput) || "it printed no error";
    throw new CredentialsError("PLUGIN_FAILED", `${named(this.#spec)} failed with ${how}: ${said}`);
  }
}

function named({ user, command }: ExecSpec): string {
  return `the credential plugin ${command} of user "${user}"`;
}

function asCredentialsError(spec: ExecSpec, error: unknown): CredentialsError {
  if (error instanceof CredentialsError) return error;
  const why = error instanceof Error ? error.message : String(error);
  const missing = error instanceof ProcessError && error.code === "NOT_FOUND";
  const hint = missing && spec.installHint !== undefined ? `\n${spec.installHint}` : "";
  return new CredentialsError("PLUGIN_FAILED", `${named(spec)} failed: ${why}${hint}`, {
    cause: error,
  });
}
