import { useCallback, useSyncExternalStore } from "react";

/** Return the chat that an address names, `#/s/ID`; null for a new one. */
export function sessionOf(hash: string): string | null {
  const found = /^#\/s\/([^/]+)$/.exec(hash);
  try {
    return found?.[1] ? decodeURIComponent(found[1]) : null;
  } catch {
    return null;
  }
}

/** Return which chat the page's address names, and how to go to another. */
export function usePlace(): [string | null, (session: string | null) => void] {
  const session = useSyncExternalStore(followed, () => sessionOf(location.hash));
  const go = useCallback((to: string | null) => {
    location.hash = to === null ? "#/" : `#/s/${encodeURIComponent(to)}`;
    // The browser tells of it later, and what is written at once must not go to the chat before.
    dispatchEvent(new Event("hashchange"));
  }, []);
  return [session, go];
}

function followed(told: () => void): () => void {
  addEventListener("hashchange", told);
  return () => removeEventListener("hashchange", told);
}
