/** How long to wait before the first try, and at most, in milliseconds. */
export const FIRST = 500;
export const MOST = 15_000;

/** Return how many milliseconds to wait before a try: twice as long each time, and never quite the same for two pages that lost one server. */
export function backoff(tries: number, random: () => number = Math.random): number {
  return Math.min(MOST, FIRST * 2 ** Math.min(tries, 30)) * (0.5 + random() / 2);
}

/** Wait, or end at once where nobody waits any more; `true` where the time went by. */
export function waited(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const ended = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", ended);
      resolve(true);
    }, milliseconds);
    signal.addEventListener("abort", ended, { once: true });
  });
}
