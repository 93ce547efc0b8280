import { Ellipsis } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";

export interface Choice {
  name: string;
  act: () => void;
  isDisabled?: boolean;
  isBad?: boolean;
  /** of a choice between several: whether it holds now */
  isChosen?: boolean;
  note?: string | undefined;
}

interface Props {
  /** what the button says to a screen reader */
  name: string;
  choices: Choice[];
  /** what the button shows; three dots unless said */
  children?: ReactNode;
  /** where the menu opens */
  side?: "below" | "above";
  tabIndex?: number;
}

/** Offer choices behind a button: arrow keys move, Escape closes. */
export function Menu({ name, choices, children, side = "below", tabIndex }: Props) {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);

  useEffect(() => {
    if (!isOpen) return;
    items(place.current)[0]?.focus();
    const elsewhere = (event: PointerEvent) => {
      if (!place.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", elsewhere);
    return () => document.removeEventListener("pointerdown", elsewhere);
  }, [isOpen]);

  function close() {
    setOpen(false);
    button.current?.focus();
  }

  function pressed(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    if (event.key === "Tab") setOpen(false);
    if (!step) return;
    event.preventDefault();
    const all = items(place.current);
    const at = all.indexOf(document.activeElement as HTMLElement);
    all.at((at + step + all.length) % all.length)?.focus();
  }

  return (
    <div className="menu-place" ref={place}>
      <button
        ref={button}
        type="button"
        className={children ? "plain" : "icon"}
        aria-label={name}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        tabIndex={tabIndex}
        onClick={() => setOpen(!isOpen)}
      >
        {children ?? <Ellipsis aria-hidden />}
      </button>
      {isOpen && (
        <div className="menu" role="menu" aria-label={name} data-side={side} onKeyDown={pressed}>
          {choices.map((choice) => (
            <button
              key={choice.name}
              type="button"
              role={choice.isChosen === undefined ? "menuitem" : "menuitemradio"}
              aria-checked={choice.isChosen}
              aria-disabled={choice.isDisabled}
              className={choice.isBad ? "bad" : undefined}
              tabIndex={-1}
              onClick={() => {
                if (choice.isDisabled) return;
                close();
                choice.act();
              }}
            >
              {choice.name}
              {choice.note && <small>{choice.note}</small>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function items(place: HTMLElement | null): HTMLElement[] {
  return [...(place?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])];
}
