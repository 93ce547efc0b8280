import { useEffect, useState } from "react";

/** Show a formula; until its reader is loaded, as it was written. */
export function Formula({ formula, isBlock }: { formula: string; isBlock: boolean }) {
  const [shown, setShown] = useState<string | null>(null);
  useEffect(() => {
    let wanted = true;
    import("./maths").then(
      ({ mathml }) => wanted && setShown(mathml(formula, isBlock)),
      () => undefined,
    );
    return () => {
      wanted = false;
    };
  }, [formula, isBlock]);
  const written =
    shown === null ? { children: formula } : { dangerouslySetInnerHTML: { __html: shown } };
  return isBlock ? (
    <div className="formula" tabIndex={0} role="region" aria-label="Formula" {...written} />
  ) : (
    <span {...written} />
  );
}
