import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { applyTheme } from "./app/kept";
import { ReportPage } from "./app/ReportPage";
import { embeddedReport } from "./inspect/data";
import "./page.css";
import "./inspect/inspect.css";

const place = document.getElementById("page");
if (!place)
  throw new Error(
    "the page has no place for itself: index.html must hold an element with the id page",
  );
applyTheme();
void embeddedReport().then((report) =>
  createRoot(place).render(
    <StrictMode>{report ? <ReportPage report={report} /> : <App />}</StrictMode>,
  ),
);
