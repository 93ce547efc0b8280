import { ArrowUp, AtSign, ChevronDown, Paperclip, Square } from "lucide-react";
import { type ComponentType, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { keep, recalled } from "../app/kept";
import { type Choice, Menu } from "../app/Menu";
import type { Forecast } from "../inspect/data";
import { count, number } from "../inspect/words";
import type { DocumentData } from "../pills/document";
import type { ComposerProps, EditorHandle } from "./Composer";

interface Props extends ComposerProps {
  /** under which the draft is kept */
  place: string;
  isWriting: boolean;
  onStop: () => void;
  onUpload: (file: File) => Promise<boolean>;
  /** says what sending would do; null where nobody may know */
  forecast: ((draft: DocumentData) => Promise<Forecast>) | null;
  pressure: number;
  /** whether a message can name files or symbols */
  hasNames: boolean;
  models: string[];
  model: string | null;
  onModel: (model: string) => void;
}

const EMPTY: DocumentData = { text: "", pills: [] };

/** Let the user write, attach files and choose a model; what is written is kept for each chat. */
export function MessageBox(props: Props) {
  const { place, isWriting, onStop, onUpload, forecast, pressure, models, model } = props;
  const name = `draft.${place}`;
  const [draft, setDraft] = useState<DocumentData>(() => recalled(name) ?? EMPTY);
  const [Editor, setEditor] = useState<ComponentType<ComposerProps> | null>(null);
  const isWanted = useRef(false);
  const [uploads, setUploads] = useState<string[]>([]);
  const isOver = useDrop((files) => void attach(files));
  const kept = useRef(name);
  const editor = useRef<EditorHandle | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const expected = useForecast(draft, forecast);
  const isTooLong = expected !== null && !expected.fits;
  const isEmpty = !draft.text.trim();

  useEffect(() => {
    // A chat that has begun with this draft keeps it under its own name.
    if (kept.current !== name) keep(kept.current, null);
    kept.current = name;
    if (draft.pills.length) load();
  }, [name]);

  // The editor is more than a third of the page: it is loaded when somebody begins to write.
  function load() {
    if (isWanted.current) return;
    isWanted.current = true;
    import("./Composer").then(
      ({ Composer }) => setEditor(() => Composer),
      () => {
        isWanted.current = false;
      },
    );
  }

  function written(document: DocumentData) {
    setDraft(document);
    keep(name, document.text ? document : null);
  }

  /** Put a refused message back, where by now the editor may be. */
  function refused(text: string) {
    if (editor.current) editor.current.insert(text);
    else written({ text, pills: [] });
  }

  async function attach(files: Iterable<File>) {
    for (const file of files) {
      setUploads((before) => [...before, file.name]);
      await onUpload(file);
      setUploads((before) => before.filter((each) => each !== file.name));
    }
  }

  async function attachDraft() {
    if (await onUpload(new File([draft.text], `message-${Date.now().toString(36)}.txt`)))
      editor.current?.clear();
  }

  const choices: Choice[] = models.map((each) => ({
    name: each,
    isChosen: each === (model ?? models[0]),
    act: () => props.onModel(each),
  }));

  const tools = (
    <>
      {isTooLong && (
        <p className="too-long" role="alert">
          <span>
            This message needs {number(expected.tokens)} tokens; at most {number(expected.most)}{" "}
            fit.
          </span>
          <button type="button" onClick={() => void attachDraft()}>
            Attach as a file
          </button>
        </p>
      )}
      <div className="box-tools">
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={(event) => {
            void attach([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <button
          type="button"
          className="icon"
          aria-label="Attach files"
          onClick={() => input.current?.click()}
        >
          <Paperclip aria-hidden />
        </button>
        {props.hasNames && (
          <button
            type="button"
            className="icon"
            aria-label="Name a file or symbol"
            onClick={() => {
              load();
              editor.current?.insert("@");
            }}
          >
            <AtSign aria-hidden />
          </button>
        )}
        <span className="space" />
        <Expected expected={isEmpty ? null : expected} pressure={pressure} />
        {models.length > 1 ? (
          <Menu name="Model" choices={choices} side="above">
            {model ?? models[0]} <ChevronDown aria-hidden />
          </Menu>
        ) : (
          models[0] && <span className="soft">{models[0]}</span>
        )}
        {isWriting ? (
          <button type="button" className="send stop" aria-label="Stop" onClick={onStop}>
            <Square aria-hidden />
          </button>
        ) : (
          <button
            type="submit"
            className="send"
            aria-label="Send"
            aria-disabled={props.disabled || isEmpty || isTooLong}
          >
            <ArrowUp aria-hidden />
          </button>
        )}
      </div>
    </>
  );

  return (
    <div
      className="box"
      data-over={isOver}
      onPasteCapture={(event) => {
        if (!event.clipboardData.files.length) return;
        event.preventDefault();
        event.stopPropagation();
        void attach([...event.clipboardData.files]);
      }}
    >
      {isOver && <p className="drop-here">Drop files to attach them</p>}
      {uploads.length > 0 && (
        <ul className="uploads" aria-label="Files on their way">
          {uploads.map((file) => (
            <li key={file}>
              {file} <small>uploading…</small>
            </li>
          ))}
        </ul>
      )}
      {Editor ? (
        <Editor
          disabled={props.disabled || isTooLong}
          reason={props.reason}
          onSend={props.onSend}
          sources={props.sources}
          draft={draft}
          handle={editor}
          isFocused={hasFocus()}
          onWritten={written}
        >
          {tools}
        </Editor>
      ) : (
        <Plain
          text={draft.text}
          disabled={props.disabled || isTooLong}
          reason={props.reason}
          onLoad={load}
          onText={(text) => written({ text, pills: [] })}
          onRefused={refused}
          onSend={props.onSend}
        >
          {tools}
        </Plain>
      )}
    </div>
  );
}

/** Tell whether the keyboard is where messages are written. */
function hasFocus(): boolean {
  return document.activeElement?.getAttribute("aria-label") === "Message";
}

interface PlainProps {
  text: string;
  disabled: boolean;
  reason: string;
  onLoad: () => void;
  onText: (text: string) => void;
  onRefused: (text: string) => void;
  onSend: ComposerProps["onSend"];
  children: ReactNode;
}

/** Take a message before the editor is loaded, which the first key or click begins. */
function Plain({ text, disabled, reason, children, ...props }: PlainProps) {
  const { onLoad, onText, onRefused, onSend } = props;
  const why = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);

  async function send() {
    if (disabled || !text.trim()) return;
    onText("");
    if (!(await onSend(text, []))) onRefused(text);
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
        ref={field}
        aria-label="Message"
        aria-describedby={why}
        placeholder="Write a message"
        rows={2}
        value={text}
        onChange={(event) => {
          onLoad();
          onText(event.target.value);
        }}
        onPointerDown={onLoad}
        onKeyDown={(event) => {
          if (event.key !== "Tab" && !event.ctrlKey && !event.metaKey) onLoad();
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      {children}
      <p id={why} className="reason">
        {reason}
      </p>
    </form>
  );
}

/** Take files that are dropped anywhere on the page, which a browser would open and an editor insert; say whether some are held over it. */
function useDrop(take: (files: File[]) => void): boolean {
  const [isOver, setOver] = useState(false);
  const taken = useRef(take);
  taken.current = take;
  useEffect(() => {
    const ended = new AbortController();
    const hear = (kind: "dragover" | "dragleave" | "drop", heard: (event: DragEvent) => void) =>
      document.addEventListener(
        kind,
        (event) => event.dataTransfer?.types.includes("Files") && heard(event),
        { capture: true, signal: ended.signal },
      );
    hear("dragover", (event) => {
      event.preventDefault();
      setOver(true);
    });
    hear("dragleave", (event) => event.relatedTarget ?? setOver(false));
    hear("drop", (event) => {
      event.preventDefault();
      event.stopPropagation();
      setOver(false);
      taken.current([...(event.dataTransfer?.files ?? [])]);
    });
    return () => ended.abort();
  }, []);
  return isOver;
}

/** Milliseconds without a key before it is asked what sending would do. */
const PAUSE = 500;

/** Return what sending a draft would do, once it is known. */
function useForecast(draft: DocumentData, ask: Props["forecast"]): Forecast | null {
  const [known, setKnown] = useState<{ draft: DocumentData; forecast: Forecast } | null>(null);
  useEffect(() => {
    if (!ask || !draft.text.trim()) return;
    let isWanted = true;
    const timer = setTimeout(() => {
      ask(draft).then(
        (forecast) => isWanted && setKnown({ draft, forecast }),
        () => undefined,
      );
    }, PAUSE);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [draft, ask]);
  return known?.draft === draft ? known.forecast : null;
}

/** Say how full the context is, and how full it is once the draft is sent. */
function Expected({ expected, pressure }: { expected: Forecast | null; pressure: number }) {
  const before = Math.round(pressure * 100);
  if (!expected) return <span className="expected">{before} %</span>;
  return (
    <span className="expected" role="status">
      <span className="long">this message {number(expected.tokens)} tokens · </span>
      {before} → {Math.round(expected.pressure * 100)} %
      {expected.summarised.length > 0 && (
        <span> · {count(expected.summarised.length, "message")} will be summarised</span>
      )}
    </span>
  );
}
