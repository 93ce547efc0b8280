/** Where a tab keeps its token: it is forgotten with the tab. */
const NAME = "polycontext.token";

/** Return the token of this tab. */
export function keptToken(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    // A browser may be told to keep nothing.
    return null;
  }
}

/** Keep a token for this tab. */
export function keepToken(token: string): void {
  try {
    sessionStorage.setItem(NAME, token);
  } catch {
    // It is asked for again then.
  }
}
