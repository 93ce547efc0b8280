/** Show the mark of the project: a window of which part is summarised. */
export function Mark() {
  const faint = new Set([2, 5, 7, 8]);
  return (
    <svg className="brand" viewBox="0 0 18 18" aria-hidden="true">
      {Array.from({ length: 9 }, (_, index) => (
        <rect
          key={index}
          x={(index % 3) * 6.5}
          y={Math.floor(index / 3) * 6.5}
          width={5}
          height={5}
          rx={1.2}
          fill={index === 4 ? "var(--summarised)" : "currentColor"}
          opacity={faint.has(index) ? 0.22 : 1}
        />
      ))}
    </svg>
  );
}
