// The page: connects to the server that served it, and draws.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { startClock } from "./now.ts";
import { store } from "./store.ts";
import { startTheme } from "./theme.ts";
import "./style.css";

startTheme();
store.start();
startClock();
const place = document.getElementById("page");
if (place === null) throw new Error("index.html has no element #page");
createRoot(place).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
