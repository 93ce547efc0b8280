import type { EndingProps } from "@props";
import { CircleAlert, CircleStop } from "lucide-react";
import { useEffect, useState } from "react";

interface Props {
  ending: EndingProps;
  onAgain: (() => void) | null;
}

/** Endings that leave an answer to read; of the others there is none. */
const ANSWERED = new Set<string>(["stopped", "cut_off"]);

/** Say how an answer ended, and offer another one. */
export function EndingRow({ ending, onAgain }: Props) {
  const wait = useSecondsUntil(ending.retryAt);
  const isAnswered = ANSWERED.has(ending.kind);
  return (
    <div className="ending" data-kind={ending.kind} role={isAnswered ? "status" : "alert"}>
      {isAnswered ? <CircleStop aria-hidden /> : <CircleAlert aria-hidden />}
      <p>{ending.text}</p>
      {onAgain && (
        <button type="button" disabled={wait > 0} onClick={onAgain}>
          {isAnswered ? "Answer again" : wait > 0 ? `Try again in ${wait} s` : "Try again"}
        </button>
      )}
    </div>
  );
}

/** Return how many seconds are left until a time; 0 if it is past or there is none. */
function useSecondsUntil(time: string | null): number {
  const left = () => (time ? Math.max(0, Math.ceil((Date.parse(time) - Date.now()) / 1000)) : 0);
  const [seconds, setSeconds] = useState(left);
  useEffect(() => {
    setSeconds(left());
    const timer = setInterval(() => setSeconds(left()), 500);
    return () => clearInterval(timer);
  }, [time]);
  return seconds;
}
