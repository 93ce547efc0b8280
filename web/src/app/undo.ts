import { useCallback, useEffect, useRef, useState } from "react";

/** What was done and can be taken back. */
export interface Undoable {
  text: string;
  undo: () => void;
  /** makes it final, when it is too late to undo it */
  settle?: () => void;
}

/** Milliseconds in which something can be taken back. */
export const PATIENCE = 8_000;

/** Return what can be undone now, and how to offer something. */
export function useUndo(): [Undoable | null, (undoable: Undoable) => void] {
  const [shown, setShown] = useState<Undoable | null>(null);
  const current = useRef<{ undoable: Undoable; timer: ReturnType<typeof setTimeout> } | null>(null);

  const end = useCallback(() => {
    const ended = current.current;
    current.current = null;
    if (!ended) return;
    clearTimeout(ended.timer);
    setShown(null);
    ended.undoable.settle?.();
  }, []);

  const offer = useCallback(
    (undoable: Undoable) => {
      end();
      current.current = { undoable, timer: setTimeout(end, PATIENCE) };
      setShown({
        ...undoable,
        undo: () => {
          clearTimeout(current.current?.timer);
          current.current = null;
          setShown(null);
          undoable.undo();
        },
      });
    },
    [end],
  );

  // A page that is closed does not undo anything any more.
  useEffect(() => {
    addEventListener("pagehide", end);
    return () => removeEventListener("pagehide", end);
  }, [end]);
  return [shown, offer];
}
