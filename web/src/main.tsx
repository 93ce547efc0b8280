import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import "./page.css";

const place = document.getElementById("page");
if (!place) throw new Error("the page has no place for itself: index.html must hold an element with the id page");
createRoot(place).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
