import remarkMath from "remark-math";
import temml from "temml";

export { remarkMath };

/** Return a formula as MathML; what cannot be read is shown as it was written. */
export function mathml(formula: string, isBlock: boolean): string {
  return temml.renderToString(formula, {
    displayMode: isBlock,
    throwOnError: false,
    trust: false,
    maxExpand: 200,
    maxSize: [10, 10],
  });
}
