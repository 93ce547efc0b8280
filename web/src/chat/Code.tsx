import { Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";

/** Longer code is shown in one colour. */
const MOST_CHARACTERS = 50_000;

/** Show a block of code with its language, coloured once the colours are loaded, to copy. */
export function Code({ code, language }: { code: string; language: string }) {
  const [coloured, setColoured] = useState<{ code: string; shown: ReactNode } | null>(null);
  useEffect(() => {
    if (!language || code.length > MOST_CHARACTERS) return;
    let wanted = true;
    import("./highlight").then(
      ({ highlighted }) => wanted && setColoured({ code, shown: highlighted(code, language) }),
      // Without its colours, code is as it was written.
      () => undefined,
    );
    return () => {
      wanted = false;
    };
  }, [code, language]);
  return (
    <div className="code">
      <header>
        <span>{language || "text"}</span>
        <CopyButton text={code} name="Copy code" />
      </header>
      <pre tabIndex={0} role="region" aria-label="Code">
        <code>{(coloured?.code === code && coloured.shown) || code}</code>
      </pre>
    </div>
  );
}

/** Copy a text. */
export function CopyButton({ text, name }: { text: string; name: string }) {
  const [isDone, setDone] = useState(false);
  // Not there where a page comes over plain HTTP.
  if (!globalThis.navigator?.clipboard) return null;
  return (
    <button
      type="button"
      className="icon"
      aria-label={isDone ? "Copied" : name}
      onClick={() => void navigator.clipboard.writeText(text).then(() => setDone(true))}
      onBlur={() => setDone(false)}
    >
      {isDone ? "Copied" : <Copy aria-hidden />}
    </button>
  );
}
