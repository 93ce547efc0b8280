import { useEffect, useState } from "react";

/** What was done, and what can be done about it. */
export interface Told {
  text: string;
  choice?: { name: string; act: () => void } | undefined;
}

/** Seconds that a notice stands. */
const STANDS = 8;

/** Return the notice that stands, and how to give another one. */
export function useNotice() {
  const [told, tell] = useState<Told | null>(null);
  useEffect(() => {
    const timer = told && setTimeout(() => tell(null), STANDS * 1_000);
    return () => {
      if (timer) clearTimeout(timer);
    };
  }, [told]);
  return [told, tell] as const;
}

/** Say what was done. */
export function Notice({ told, onDone }: { told: Told | null; onDone: () => void }) {
  return (
    <div className="toast-place" role="status">
      {told && (
        <p className="toast">
          {told.text}
          {told.choice && (
            <button
              type="button"
              onClick={() => {
                onDone();
                told.choice?.act();
              }}
            >
              {told.choice.name}
            </button>
          )}
        </p>
      )}
    </div>
  );
}
