// Clusters with the freshness of their watches, and proxy replicas: who reports, and how recently.

import { counted } from "../../../src/environment/counted.ts";
import type { Cluster, Replica, State } from "../../../src/server/api.ts";
import { count } from "../format.ts";
import { Ago } from "./time.tsx";

export type Health = "good" | "doubtful" | "bad";

const glyphs: Readonly<Record<Health, string>> = { good: "●", doubtful: "▲", bad: "■" };

export function HealthMark({ health }: { readonly health: Health }) {
  return (
    <span className={`health ${health}`} aria-hidden="true">
      {glyphs[health]}
    </span>
  );
}

export function clusterHealth({ state, watches, apiServers, doubts }: Cluster): Health {
  if (state === "unreachable" || state === "refused") return "bad";
  const isFresh = watches.every((watch) => watch.state === "fresh");
  const isUp = apiServers.every((server) => server.state === "up" || server.state === "unknown");
  return state === "watching" && isFresh && isUp && doubts.length === 0 ? "good" : "doubtful";
}

/** The short form for the head of the page. */
export function clusterText(cluster: Cluster): string {
  if (cluster.state !== "watching") return `${cluster.name}: ${cluster.state}`;
  const refused = cluster.watches.filter(({ state }) => state === "refused").length;
  if (refused > 0) return `${cluster.name}: no permission`;
  const isStale = cluster.watches.some(({ state }) => state === "stale");
  return isStale ? `${cluster.name}: stale` : cluster.name;
}

export function ClusterPanel({ state: { clusters, mode } }: { readonly state: State }) {
  return (
    <section className="panel" aria-label="Clusters">
      <h2>
        Clusters <em>{counted(clusters.length, "cluster")}</em>
      </h2>
      {clusters.length === 0 && (
        <p className="dim">
          {mode === "lab"
            ? "The clusters of the lab appear when they have started."
            : "No cluster is watched. Start lockstep serve with --context NAME."}
        </p>
      )}
      <ul className="plain">
        {clusters.map((cluster) => (
          <OneCluster key={cluster.name} cluster={cluster} />
        ))}
      </ul>
    </section>
  );
}

function OneCluster({ cluster }: { readonly cluster: Cluster }) {
  const { name, state, roles, version, detail, doubts, watches, apiServers } = cluster;
  const parts = [...(state === "watching" ? [] : [state]), ...roles, version ?? ""];
  return (
    <li data-cluster={name}>
      <p className="line-head">
        <HealthMark health={clusterHealth(cluster)} /> <strong>{name}</strong>
        <span className="dim"> {parts.filter((part) => part !== "").join(" · ")}</span>
      </p>
      {detail !== null && <p className="label late">{detail}</p>}
      <Watches watches={watches} />
      {apiServers.map((server) => (
        <p key={server.address} className="cluster-line">
          {server.state === "up" ? (
            <span className="dim">API server {shortAddress(server.address)}</span>
          ) : (
            <span className={`chip ${server.state}`} title={server.detail ?? ""}>
              API server {shortAddress(server.address)} {server.state}
            </span>
          )}
        </p>
      ))}
      {doubts.map((doubt) => (
        <p key={doubt} className="doubt">
          {doubt}
        </p>
      ))}
    </li>
  );
}

function shortAddress(address: string): string {
  return address.replace(/^https:\/\//, "").replace(/\/$/, "");
}

/** Those that are up to date are counted; each other one is named with its state. */
function Watches({ watches }: Pick<Cluster, "watches">) {
  if (watches.length === 0) return null;
  const fresh = watches.filter(({ state }) => state === "fresh");
  const others = watches.filter(({ state }) => state !== "fresh");
  const names = fresh.map(({ resource, objects }) => `${resource}: ${counted(objects, "object")}`);
  return (
    <>
      {fresh.length > 0 && (
        <p className="cluster-line dim" title={names.join("\n")}>
          {counted(fresh.length, "watch", "watches")} up to date
        </p>
      )}
      {others.length > 0 && (
        <p className="chips">
          {others.map((watch) => (
            <span
              key={watch.resource}
              className={`chip ${watch.state}`}
              title={watch.detail ?? `${count(watch.objects)} objects`}
            >
              {watch.resource} {watch.state}
              {watch.state === "stale" && watch.aliveAt !== null && (
                <>
                  {", last alive "}
                  <Ago at={watch.aliveAt} />
                </>
              )}
            </span>
          ))}
        </p>
      )}
    </>
  );
}

const stateHealth: Readonly<Record<Replica["state"], Health>> = {
  connected: "good",
  connecting: "doubtful",
  down: "bad",
};

/** The proxies of the lab report each change at once, and have no time of a last report. */
const isTimed = ({ reportedAt }: Replica): boolean => reportedAt !== null;

export function ReplicaPanel({ state: { replicas, mode } }: { readonly state: State }) {
  return (
    <section className="panel" aria-label="Proxy replicas">
      <h2>
        Proxy replicas <em>{counted(replicas.length, "replica")}</em>
      </h2>
      {replicas.length === 0 && (
        <p className="dim">
          {mode === "lab"
            ? "The proxies of the lab start after its clusters. Without nginx it has none."
            : "No proxy is followed, so lags end before the proxies. Add --proxy auto, or the address " +
              "of a replica."}
        </p>
      )}
      <ul className={`plain replicas ${replicas.some(isTimed) ? "timed" : ""}`}>
        {replicas.map(({ name, kind, state, reportedAt, problem }) => (
          <li key={name} data-replica={name}>
            <p className="line-head">
              <HealthMark health={stateHealth[state]} /> <strong>{name}</strong>
              <span className="dim">
                {" "}
                {[
                  kind === "stock" ? "model" : name.startsWith(kind) ? "" : kind,
                  ...(state === "connected" ? [] : [state]),
                ]
                  .filter((part) => part !== "")
                  .join(" · ")}
                {reportedAt !== null && (
                  <>
                    {" · "}
                    <Ago at={reportedAt} />
                  </>
                )}
              </span>
            </p>
            {problem !== null && <p className="label late">{problem}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}
