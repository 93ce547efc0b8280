/** What this browser keeps between visits, under names of this page. */

/** Return what was kept; null where there is nothing, or where the browser keeps nothing. */
export function recalled<T>(name: string): T | null {
  try {
    return JSON.parse(localStorage.getItem(`polycontext.${name}`) ?? "null") as T | null;
  } catch {
    return null;
  }
}

/** Keep something; null forgets it. */
export function keep(name: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(`polycontext.${name}`);
    else localStorage.setItem(`polycontext.${name}`, JSON.stringify(value));
  } catch {
    // A browser may be told to keep nothing.
  }
}

/** Show the page light or dark; null follows the system. */
export function applyTheme(theme: string | null = recalled("theme")): void {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

/** Change between light and dark. */
export function switchTheme(): void {
  const { theme } = document.documentElement.dataset;
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  keep("theme", isDark ? "light" : "dark");
  applyTheme();
}
