import { type KeyboardEvent, useId, useState } from "react";

/** What the input of a message is given, whatever it is made of. */
export interface ComposerProps {
  /** whether nothing can be sent now */
  disabled: boolean;
  /** why not, in words; an empty text where there is nothing to say */
  reason: string;
  /** takes what was written; where it is refused, the text stays */
  onSend: (content: string) => Promise<boolean>;
}

/** Let the user write a message: Enter sends, Shift+Enter begins a line. What was written while nothing could be sent is kept. */
export function Composer({ disabled, reason, onSend }: ComposerProps) {
  const [text, setText] = useState("");
  const told = useId();

  async function send() {
    if (disabled || !text.trim()) return;
    const said = text;
    setText("");
    // What was written since must not be lost either.
    if (!(await onSend(said))) setText((since) => (since ? `${said}\n${since}` : said));
  }

  function pressed(event: KeyboardEvent) {
    // While an input method composes, Enter takes its word and sends nothing.
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void send();
    }
  }

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        aria-label="Message"
        aria-describedby={told}
        rows={1}
        placeholder="Write a message"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={pressed}
      />
      <button type="submit" className="primary" aria-disabled={disabled || !text.trim()} aria-describedby={told}>
        Send
      </button>
      <p id={told} className="reason">
        {reason}
      </p>
    </form>
  );
}
