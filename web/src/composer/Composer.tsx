import type { EditorState, TransactionSpec } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { AttachedList } from "../pills/AttachedList";
import { type DocumentData, type Pill, type PillData, PillDocument } from "../pills/document";
import { type Heard, messageInput, stateOf } from "../pills/editor";
import { PillError } from "../pills/errors";
import {
  documentOf,
  pillField,
  problemField,
  removing,
  setProblem,
  updating,
} from "../pills/field";
import { SourcePane } from "../pills/SourcePane";
import { type PillSources, type Source, SourceRefused } from "../pills/sources";
import "../pills/pills.css";

/** What the input of a message is given, whatever it is made of. */
export interface ComposerProps {
  /** whether nothing can be sent now */
  disabled: boolean;
  /** why not, in words; an empty text where there is nothing to say */
  reason: string;
  /** takes what was written, and the pills in it as a server is told of them; where it is refused, all stays */
  onSend: (content: string, pills: PillData[]) => Promise<boolean>;
  /** who knows what can be attached; without one, nothing is offered */
  sources?: PillSources | undefined;
  /** what stands in it at first */
  draft?: DocumentData;
  /** is told what stands in it after each change */
  onWritten?: (document: DocumentData) => void;
  /** takes what can be done with it from outside */
  handle?: RefObject<EditorHandle | null>;
  /** whether it takes the keyboard when it appears */
  isFocused?: boolean;
  /** what stands below the text, in the same form */
  children?: ReactNode;
}

/** What can be done with an editor from outside. */
export interface EditorHandle {
  insert: (text: string) => void;
  clear: () => void;
}

interface Shown {
  pills: readonly Pill[];
  problems: ReadonlyMap<string, string>;
}

const NOTHING: Shown = { pills: [], problems: new Map() };

/** Let the user write a message and attach context by `@`: Enter sends, Shift+Enter begins a line. What was written while nothing could be sent is kept. */
export function Composer({
  disabled,
  reason,
  onSend,
  sources,
  draft,
  onWritten,
  handle,
  isFocused = false,
  children,
}: ComposerProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const [{ pills, problems }, setShown] = useState(NOTHING);
  const [told, setTold] = useState("");
  const [source, setSource] = useState<Source | null>(null);
  const why = useId();

  const visit = useCallback(
    async ({ name, type }: Pill) => {
      if (!sources) return;
      try {
        const found = await sources.source({ name, type });
        editor.current?.dispatch({ effects: setProblem.of({ name, problem: null }) });
        setSource(found);
      } catch (error) {
        marked(editor.current, name, error);
        setTold(wordsOf(error));
      }
    },
    [sources],
  );

  const send = useCallback(async () => {
    const view = editor.current;
    const said = view && documentOf(view.state);
    if (!view || !said || disabled || !said.text.trim()) return;
    const problemsBefore = view.state.field(problemField);
    begin(view, PillDocument.EMPTY);
    setTold("");
    const data = said.toData();
    if (await onSend(data.text, data.pills)) return setSource(null);
    // What was written since must not be lost either.
    const since = documentOf(view.state);
    const both = since.text
      ? said.insertText(said.text.length, "\n").insertDocument(said.text.length + 1, since)
      : said;
    begin(view, both);
    for (const [name, problem] of problemsBefore)
      view.dispatch({ effects: setProblem.of({ name, problem }) });
    // Whoever refused says so in words; which pills are to blame is asked of the sources.
    for (const pill of both.pills) {
      sources?.source(pill).then(
        () => view.dispatch({ effects: setProblem.of({ name: pill.name, problem: null }) }),
        (error: unknown) => marked(view, pill.name, error),
      );
    }
  }, [disabled, onSend, sources]);

  // The editor is made once, and calls whatever is current.
  const heard = useRef<Heard>(null as never);
  heard.current = {
    send: () => void send(),
    visit: (pill) => void visit(pill),
    tell: setTold,
    changed: (state, written) => {
      onWritten?.(documentOf(state).toData());
      // What was refused is past when something else is written.
      if (written) setTold("");
      const next = {
        pills: state.field(pillField),
        problems: state.field(problemField),
      };
      setShown((now) => (now.pills === next.pills && now.problems === next.problems ? now : next));
    },
    sources: () => sources,
  };

  const first = useRef(draft ? PillDocument.fromData(draft) : PillDocument.EMPTY);
  const focused = useRef(isFocused);
  // Keys that are pressed between the commit and a later effect would be lost.
  useLayoutEffect(() => {
    if (!place.current) return;
    const view = new EditorView({ parent: place.current });
    const input = messageInput(
      {
        send: () => heard.current.send(),
        visit: (pill) => heard.current.visit(pill),
        tell: (words) => heard.current.tell(words),
        changed: (...given) => heard.current.changed(...given),
        sources: () => heard.current.sources(),
      },
      {
        "aria-label": "Message",
        "aria-describedby": why,
        spellcheck: "true",
        autocapitalize: "sentences",
      },
    );
    INPUTS.set(view, input);
    view.setState(stateOf(first.current, input));
    // What was typed before the editor was loaded goes on at its end.
    view.dispatch({ selection: { anchor: view.state.doc.length } });
    editor.current = view;
    if (focused.current) view.focus();
    return () => {
      // It may be made anew at once, as it stood.
      first.current = documentOf(view.state);
      editor.current = null;
      view.destroy();
    };
  }, [why]);

  const focus = () => editor.current?.focus();
  const edit = (make: (state: EditorState) => TransactionSpec) => {
    try {
      if (editor.current) editor.current.dispatch(make(editor.current.state));
      focus();
    } catch (error) {
      setTold(wordsOf(error));
    }
  };

  useEffect(() => {
    if (!handle) return;
    handle.current = {
      insert: (text) => {
        const view = editor.current;
        view?.focus();
        view?.dispatch({ ...view.state.replaceSelection(text), userEvent: "input.type" });
      },
      clear: () => editor.current && begin(editor.current, PillDocument.EMPTY),
    };
  }, [handle]);

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {source && (
        <SourcePane
          source={source}
          onClose={() => {
            setSource(null);
            focus();
          }}
        />
      )}
      <div ref={place} className="message-input" />
      <AttachedList
        pills={pills}
        problems={problems}
        sources={sources}
        onVisit={(pill) => void visit(pill)}
        onRemove={(pill) => edit((state) => removing(state, pill.name))}
        onUpdate={(pill, to) => edit((state) => updating(state, pill.name, to.name, to.type))}
      />
      <p className="told" role="status">
        {told}
      </p>
      {children}
      <p id={why} className="reason">
        {reason}
      </p>
    </form>
  );
}

/** What each editor is made of, so that it can begin anew. */
const INPUTS = new WeakMap<EditorView, ReturnType<typeof messageInput>>();

function begin(view: EditorView, document: PillDocument): void {
  const input = INPUTS.get(view);
  if (!input) return;
  view.setState(stateOf(document, input));
  // No transaction was made that a listener would hear of.
  view.dispatch({});
}

function marked(view: EditorView | null, name: string, error: unknown): void {
  // A server that is not there says nothing of a pill.
  if (error instanceof SourceRefused)
    view?.dispatch({ effects: setProblem.of({ name, problem: error.message }) });
}

function wordsOf(error: unknown): string {
  return error instanceof SourceRefused || error instanceof PillError
    ? error.message
    : "The server cannot be reached.";
}
