// Connections kept alive for reuse, one pool for plain HTTP and one for each TLS identity, so that a
// connection made with one client certificate never carries another's request.
// Invariant: `#byIdentity` holds at most `mostIdentities` pools, the least recently used first.

import { type AgentOptions, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { assert } from "../assert.ts";
import { type ClientTls, deadPeerMs } from "../network.ts";

/** More clusters and certificate rotations than one process talks to at a time. */
const mostIdentities = 64;

/** Idle connections kept for each host; a burst beyond it opens and closes more. */
const mostIdleSockets = 32;

/**
 * libuv then probes ten times, a second apart, and the kernel's timers round up by half a second in
 * all: a dead peer is an error within `deadPeerMs`. While bytes of ours are unacknowledged the
 * kernel repeats those instead of probing, for minutes; such a request ends by its caller's signal.
 */
export const keepAliveDelayMs = deadPeerMs - 11_000;

/**
 * With several addresses for a name, how long each gets before the next is tried too. Node's 250 ms
 * give up on any cluster that is an ocean away.
 */
const addressAttemptMs = 2_000;

export class NodeAgents {
  readonly #plain = new HttpAgent(poolOptions);
  readonly #byIdentity = new Map<string, HttpsAgent>();
  /** Callers pass the same `tls` object again and again; its identity is worked out once. */
  readonly #identities = new WeakMap<ClientTls, string>();

  /** The pool for a URL's protocol and this identity. */
  pooled(protocol: string, tls: ClientTls = systemTls): HttpAgent {
    return protocol === "https:" ? this.#secure(tls) : this.#plain;
  }

  /** For one exchange on a connection that is certainly new. */
  single(protocol: string, tls: ClientTls = systemTls): HttpAgent {
    const options = { ...poolOptions, keepAlive: false };
    if (protocol !== "https:") return new HttpAgent(options);
    return new HttpsAgent({ ...options, ...tlsOptions(tls) });
  }

  #secure(tls: ClientTls): HttpsAgent {
    const identity = this.#identityOf(tls);
    const known = this.#byIdentity.get(identity);
    const agent = known ?? new HttpsAgent({ ...poolOptions, ...tlsOptions(tls) });
    this.#byIdentity.delete(identity);
    this.#byIdentity.set(identity, agent);
    if (known === undefined) this.#evict();
    assert(this.#byIdentity.size <= mostIdentities, "pools of connections are bounded");
    return agent;
  }

  #identityOf(tls: ClientTls): string {
    const known = this.#identities.get(tls);
    if (known !== undefined) return known;
    const { ca, cert, key, serverName, insecureSkipVerify } = tls;
    const identity = JSON.stringify([ca, cert, key, serverName, insecureSkipVerify === true]);
    this.#identities.set(tls, identity);
    return identity;
  }

  #evict(): void {
    for (const [identity, agent] of this.#byIdentity) {
      if (this.#byIdentity.size <= mostIdentities) return;
      this.#byIdentity.delete(identity);
      retire(agent);
    }
  }
}

const systemTls: ClientTls = {};

/** Without a limit on open connections: requests would queue behind watches that never end. */
const poolOptions: AgentOptions & { autoSelectFamilyAttemptTimeout: number } = {
  keepAlive: true,
  keepAliveMsecs: keepAliveDelayMs,
  maxFreeSockets: mostIdleSockets,
  noDelay: true,
  autoSelectFamilyAttemptTimeout: addressAttemptMs,
};

function tlsOptions(tls: ClientTls): object {
  return {
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(tls.serverName === undefined ? {} : verifiedAs(tls.serverName)),
    ...(tls.insecureSkipVerify === true ? { rejectUnauthorized: false } : {}),
    minVersion: "TLSv1.2",
    // The protocol is negotiated here: a later HTTP/2 client offers "h2" first.
    ALPNProtocols: ["http/1.1"],
  };
}

/** A server is asked for by name only; one that is known by its address is verified by it as well. */
function verifiedAs(serverName: string): object {
  if (isIP(serverName) === 0) return { servername: serverName };
  const check = (_host: string, certificate: PeerCertificate) =>
    checkServerIdentity(serverName, certificate);
  return { servername: "", checkServerIdentity: check };
}

/** Exchanges under way go on; idle connections end now, the others when they become idle. */
function retire(agent: HttpsAgent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}
