// The frame of the page: head with views and freshness, the state of the connection, and the view that
// the address names.
import { useCallback, useState } from "react";
import { counted } from "../../src/environment/counted.ts";
import type { State } from "../../src/server/api.ts";
import { age } from "./format.ts";
import { KeyHelp, useKeyboard } from "./keyboard.tsx";
import { useWallTime } from "./now.ts";
import { clusterHealth, clusterText, HealthMark } from "./parts/cluster-list.tsx";
import { Notice } from "./parts/notice.tsx";
import {
  go,
  type Route,
  routeHref,
  useRoute,
  type ViewName,
  viewNames,
  viewTitles,
} from "./route.ts";
import { type Connection, type Known, useKnown } from "./store.ts";
import { switchTheme, useTheme } from "./theme.ts";
import { Tour } from "./tour.tsx";
import { ControlPlaneView } from "./views/control-plane.tsx";
import { DoctorView } from "./views/doctor.tsx";
import { IncidentsView } from "./views/incidents.tsx";
import { JourneysView } from "./views/journeys.tsx";
import { NowView } from "./views/now.tsx";
import { RecordingView } from "./views/recording.tsx";
import { ServicesView } from "./views/services.tsx";
import { WhatIfView } from "./views/what-if.tsx";

export function App() {
  const known = useKnown();
  const route = useRoute();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isTouring, setTouring] = useState(false);
  const [recording, setRecording] = useState<File>();
  const openFile = (file: File) => {
    setRecording(file);
    go(routeHref(["recording"]));
  };
  const { isOver, handlers } = useDrop(openFile);
  const openHelp = useCallback(() => setHelpOpen(true), []);
  useKeyboard(openHelp);
  const { state } = known;
  return (
    <div className="page" {...(state?.can.recordings && handlers)}>
      <button
        type="button"
        className="skip"
        onClick={() => document.getElementById("main")?.focus()}
      >
        Skip to the content
      </button>
      <Head known={known} route={route} onHelp={openHelp} />
      <ConnectionBar connection={known.connection} hasState={state !== undefined} />
      <main id="main" tabIndex={-1}>
        {state === undefined ? (
          <FirstState connection={known.connection} />
        ) : (
          <>
            {state.notes.map((note) => (
              <p key={note} className="panel note" role="status">
                {note}
              </p>
            ))}
            <View
              known={known}
              state={state}
              route={route}
              recording={recording}
              onFile={openFile}
              onTour={() => setTouring(true)}
            />
          </>
        )}
      </main>
      <Foot state={state} />
      {isTouring && <Tour known={known} onEnd={() => setTouring(false)} />}
      {isOver && <div className="drop">Drop a recording of lockstep record to replay it</div>}
      <KeyHelp isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </div>
  );
}

interface ViewProps {
  readonly known: Known;
  readonly state: State;
  readonly route: Route;
  readonly recording: File | undefined;
  readonly onFile: (file: File) => void;
  readonly onTour: () => void;
}

function View({ known, state, route, recording, onFile, onTour }: ViewProps) {
  const [name] = route.path;
  switch (name) {
    case "now":
      return <NowView known={known} state={state} />;
    case "journeys":
      return <JourneysView known={known} state={state} route={route} onFile={onFile} />;
    case "services":
      return <ServicesView known={known} state={state} route={route} />;
    case "control-plane":
      return <ControlPlaneView known={known} state={state} />;
    case "doctor":
      return <DoctorView known={known} state={state} route={route} />;
    case "incidents":
      return <IncidentsView known={known} state={state} onTour={onTour} />;
    case "what-if":
      return <WhatIfView state={state} route={route} />;
    case "recording":
      if (recording !== undefined) {
        return <RecordingView file={recording} route={route} slowMs={state.slowMs} />;
      }
      return (
        <Notice kind="empty" title="No recording is open">
          Drop a file that lockstep record wrote onto this page.
        </Notice>
      );
    default:
      return (
        <Notice kind="empty" title="No such view">
          The address names no view of this page. <a href={routeHref(["now"])}>Go to Now</a>
        </Notice>
      );
  }
}

/** Views that this server cannot fill are hidden. */
function shownViews(state: State | undefined): readonly ViewName[] {
  const can = state?.can;
  return viewNames.filter(
    (name) =>
      !(name === "incidents" && can?.incidents === false) &&
      !(name === "what-if" && can?.whatif === false),
  );
}

function Head({
  known,
  route,
  onHelp,
}: {
  readonly known: Known;
  readonly route: Route;
  readonly onHelp: () => void;
}) {
  const { state } = known;
  const theme = useTheme();
  const [current] = route.path;
  return (
    <header className="head">
      <a className="brand" href={routeHref(["now"])}>
        Lockstep
      </a>
      <nav aria-label="Views">
        {shownViews(state).map((name) => (
          <a
            key={name}
            href={routeHref([name])}
            aria-current={name === current ? "page" : undefined}
          >
            {viewTitles[name]}
            {name === "doctor" && state !== undefined && state.findings > 0 && (
              <span className="nav-count">
                {state.findings}
                <span className="hidden"> findings</span>
              </span>
            )}
          </a>
        ))}
      </nav>
      <span className="spring" />
      <span className="freshness">
        {state?.clusters.map((cluster) => (
          <span key={cluster.name} title={cluster.detail ?? cluster.doubts.join(" ")}>
            <HealthMark health={clusterHealth(cluster)} /> {clusterText(cluster)}
          </span>
        ))}
        {state !== undefined && state.replicas.length > 0 && <span>{replicasText(state)}</span>}
      </span>
      <button type="button" className="icon" onClick={switchTheme} title="light or dark (t)">
        <span aria-hidden="true">{theme === "dark" ? "☀" : "☾"}</span>
        <span className="hidden">{theme === "dark" ? "Switch to light" : "Switch to dark"}</span>
      </button>
      <button type="button" className="icon" onClick={onHelp} title="keys (?)">
        <span aria-hidden="true">?</span>
        <span className="hidden">Keys</span>
      </button>
    </header>
  );
}

function replicasText({ replicas }: State): string {
  const down = replicas.filter(({ state }) => state !== "connected").length;
  return `${counted(replicas.length, "replica")}${down > 0 ? `, ▲ ${down} not connected` : ""}`;
}

/** Above the view while figures are old: since when, and what happens next. */
function ConnectionBar({
  connection,
  hasState,
}: {
  readonly connection: Connection;
  readonly hasState: boolean;
}) {
  const now = useWallTime(1_000);
  if (!hasState || connection.type === "live" || connection.type === "connecting") return null;
  return (
    <p className={`connection ${connection.type}`} role="alert">
      <strong>{connectionTitle(connection, now)}</strong> Figures below are the last that arrived.{" "}
      {connection.type === "refused"
        ? connection.detail
        : "The page reconnects by itself. If it does not, check that lockstep still runs."}
    </p>
  );
}

function connectionTitle(connection: Connection, now: number): string {
  switch (connection.type) {
    case "silent":
      return `■ Stale: nothing received for ${age(Math.max(0, now - connection.since))}.`;
    case "disconnected":
      return `■ Disconnected for ${age(Math.max(0, now - connection.since))}.`;
    case "refused":
      return "■ Lockstep refuses this page.";
    case "live":
    case "connecting":
      return "";
  }
}

function FirstState({ connection }: { readonly connection: Connection }) {
  if (connection.type === "refused") {
    const isToken = connection.status === 401 || connection.status === 403;
    return (
      <Notice
        kind="refused"
        title={isToken ? "This page needs a token" : "Lockstep refuses this page"}
      >
        {connection.detail}
        {isToken && " Open the address that lockstep printed: it ends with ?token=…"}
      </Notice>
    );
  }
  if (connection.type === "disconnected") {
    return (
      <Notice kind="error" title="Lockstep does not answer">
        The page tries again by itself. Check that lockstep up or lockstep serve still runs.
      </Notice>
    );
  }
  return <Notice kind="loading" title="Connecting to Lockstep" />;
}

const modes: Readonly<Record<State["mode"], string>> = {
  lab: "lab",
  clusters: "your clusters, read-only",
  recording: "recording",
};

function Foot({ state }: { readonly state: State | undefined }) {
  return (
    <footer className="foot dim">
      {state !== undefined &&
        `Lockstep ${state.version} · ${modes[state.mode]} · every figure is measured in this run`}
      {state?.replicas.some(({ kind }) => kind === "stock") &&
        " · stock is a model of ingress-nginx"}
      {state !== undefined && " · "}keys: ?
    </footer>
  );
}

/** A file over the page; text and links that are dragged are left alone. */
function useDrop(onFile: (file: File) => void) {
  const [isOver, setOver] = useState(false);
  const hasFile = (event: React.DragEvent) => event.dataTransfer.types.includes("Files");
  return {
    isOver,
    handlers: {
      onDragOver: (event: React.DragEvent) => {
        if (!hasFile(event)) return;
        event.preventDefault();
        setOver(true);
      },
      onDragLeave: (event: React.DragEvent) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      },
      onDrop: (event: React.DragEvent) => {
        if (!hasFile(event)) return;
        event.preventDefault();
        setOver(false);
        const file = event.dataTransfer.files[0];
        if (file !== undefined) onFile(file);
      },
    },
  };
}
