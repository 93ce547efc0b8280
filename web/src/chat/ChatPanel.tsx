import { Menu as MenuIcon, PanelRight } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Choice, Menu } from "../app/Menu";
import { MessageBox } from "../composer/MessageBox";
import { viewAt } from "../inspect/data";
import type { Inspected } from "../inspect/useInspection";
import { number } from "../inspect/words";
import type { DocumentData } from "../pills/document";
import { SourcePane } from "../pills/SourcePane";
import type { Source } from "../pills/sources";
import type { Client, Settings } from "../session/client";
import { said } from "../session/state";
import type { ContextSession } from "../session/useContextSession";
import { Conversation } from "./Conversation";
import { isRevocation } from "./pillText";
import { Gauge } from "./Gauge";
import { endingOf, pastRows, rowsOf, type View } from "./rows";
import { Welcome } from "./Welcome";
import { reasonOf, soonOf } from "./words";

interface Props {
  chat: ContextSession;
  title: string;
  /** null in a report, which asks nobody */
  client: Client | null;
  settings: Settings;
  model: string | null;
  isReadOnly: boolean;
  inspected: Inspected | null;
  /** the step that is looked back at; null for now */
  at: number | null;
  onAt: (at: number | null) => void;
  /** the message to bring into sight */
  sought: string | null;
  onTurn: (id: string) => void;
  isContextOpen: boolean;
  onContext: (() => void) | null;
  isListOpen: boolean;
  onList: (() => void) | null;
  /** further choices of the chat's menu */
  choices: Choice[];
  onModel: (model: string) => void;
  /** goes on elsewhere from right behind a message, or from here */
  onFork: (message: string | null) => void;
}

/** Show one conversation: what was said, how full its context is, and what can be done. */
export function ChatPanel(props: Props) {
  const { chat, client, settings, inspected, at, isReadOnly, onTurn, onFork } = props;
  const { contextProps, log, writing, streaming, pending, connection, problem, session } = chat;
  const [view, setView] = useState<View>("log");
  const [earlier, setEarlier] = useState(false);
  const [source, setSource] = useState<Source | null>(null);
  // What the user says or attaches is shown, wherever they were reading.
  const [jumps, setJumps] = useState(0);
  const jump = () => {
    props.onAt(null);
    setJumps((before) => before + 1);
  };
  // A chat begins with a view of its own, not with that of the one before.
  useEffect(() => {
    setView("log");
    setEarlier(false);
    setSource(null);
  }, [session]);
  const timeline = inspected?.timeline;
  const rows = useMemo(() => {
    if (at !== null && timeline) return pastRows(viewAt(timeline, at), timeline.length - 1 - at);
    const turns = inspected?.now.turns;
    return rowsOf({ contextProps, log, pending, writing, streaming, turns }, view, earlier);
  }, [contextProps, log, pending, writing, streaming, view, earlier, at, inspected, timeline]);
  const isIdle = !writing && pending === null;
  const last = said(contextProps).at(-1);
  const isUnanswered = isIdle && last?.role === "user";
  const isRevoked = isUnanswered && isRevocation(last.content);
  const isSaid = said(contextProps).length > 0;
  const isEnding = problem !== null && endingOf(chat)?.text === problem;
  const forecast = useMemo(
    () =>
      client && settings.inspect && session !== null && !isReadOnly
        ? (draft: DocumentData) => client.forecast(session, draft.text, draft.pills)
        : null,
    [client, settings.inspect, session, isReadOnly],
  );
  const { sources } = chat;
  const openSource = useCallback(
    (name: string, instead: () => void) => {
      if (settings.editor && client && session !== null)
        void client.open(session, name).catch(instead);
      else void sources.source({ name, type: "file" }).then(setSource, instead);
    },
    [client, settings.editor, session, sources],
  );
  const menu: Choice[] = [
    {
      name: "Compress",
      isDisabled: isReadOnly || !isIdle || !contextProps.actions.compress,
      act: () => void chat.onCompress(),
    },
    { name: "Branch", isDisabled: !isSaid, act: () => onFork(null) },
    {
      name: "Clear",
      isDisabled: isReadOnly || !isIdle || !contextProps.actions.clear,
      act: () => void chat.onClear(),
    },
    ...props.choices,
  ];

  return (
    <section className="chat" aria-label="Chat">
      <header className="bar">
        {props.onList && (
          <button
            type="button"
            className="icon list-toggle"
            aria-label="Chats"
            aria-expanded={props.isListOpen}
            aria-controls="chats"
            onClick={props.onList}
          >
            <MenuIcon aria-hidden />
          </button>
        )}
        <h1>{props.title}</h1>
        {client && session !== null && <Menu name="More for this chat" choices={menu} />}
        <span className="space" />
        <Gauge
          pressure={contextProps.pressure}
          status={contextProps.status}
          phase={contextProps.phase}
          room={inspected?.now.window ?? null}
        />
        {props.onContext && (
          <button
            type="button"
            className="icon"
            aria-label="Context"
            aria-expanded={props.isContextOpen}
            aria-controls="context"
            onClick={props.onContext}
          >
            <PanelRight aria-hidden />
          </button>
        )}
      </header>
      {connection === "lost" && !chat.needsToken && !chat.missing && (
        <div className="banner" role="status">
          <span>Connection lost. Reconnecting…</span>
          <button type="button" onClick={chat.onReconnect}>
            Try now
          </button>
        </div>
      )}
      {problem !== null && !isEnding && (
        <div className="banner problem" role="alert">
          <span>{problem}</span>
          {isUnanswered && (
            <button type="button" onClick={() => void chat.onRegenerate()}>
              Try again
            </button>
          )}
          <button type="button" onClick={chat.onDismiss}>
            Dismiss
          </button>
        </div>
      )}
      {at !== null && timeline && (
        <div className="banner past" role="status">
          <span>
            What the model saw at step {number(at)} of {number(timeline.length - 1)}
          </span>
          <button type="button" onClick={() => props.onAt(null)}>
            Back to now
          </button>
        </div>
      )}
      {at === null && view === "window" && (
        <div className="banner past" role="status">
          <span>What the model sees now</span>
          <button type="button" onClick={() => setView("log")}>
            Show all messages
          </button>
        </div>
      )}
      {rows.length === 0 ? (
        <Welcome
          isKnown={chat.known || session === null}
          isMissing={chat.missing}
          hasNames={settings.names}
        />
      ) : (
        <Conversation
          rows={rows}
          view={view}
          isIdle={isIdle}
          isReadOnly={isReadOnly}
          isWhole={chat.before === null}
          isEarlierShown={earlier}
          inspected={inspected}
          sought={props.sought}
          jumps={jumps}
          onAgain={() => void chat.onRegenerate()}
          onOlder={chat.onOlder}
          onView={setView}
          onEarlier={setEarlier}
          onUnclear={(last) => void chat.onChange("POST", ["rewind"], { to: last })}
          onEdit={chat.onEdit}
          onPin={chat.onPin}
          onRecall={chat.onRecall}
          onFork={onFork}
          onWhy={inspected ? onTurn : undefined}
          onSource={client ? openSource : undefined}
        />
      )}
      <Announced chat={chat} />
      {client && !isReadOnly && (
        <footer id="message">
          {source && <SourcePane source={source} onClose={() => setSource(null)} />}
          <div className="answering">
            {isIdle && isSaid && !chat.missing && at === null && !endingOf(chat) && !isRevoked && (
              <button type="button" className="plain" onClick={() => void chat.onRegenerate()}>
                {last?.role === "user" ? "Answer" : "Answer again"}
              </button>
            )}
          </div>
          <MessageBox
            place={session ?? "new"}
            disabled={!isIdle || !contextProps.actions.send || chat.missing}
            reason={reasonOf(chat) || soonOf(inspected?.now.window)}
            onSend={(...said) => {
              jump();
              return chat.onSend(...said);
            }}
            sources={sources}
            isWriting={writing}
            onStop={() => void chat.onCancel()}
            onUpload={(file) => {
              jump();
              return chat.onUpload(file);
            }}
            forecast={forecast}
            pressure={contextProps.pressure}
            hasNames={settings.names}
            models={settings.models}
            model={props.model}
            onModel={props.onModel}
          />
        </footer>
      )}
      {client && isReadOnly && (
        <footer className="read-only">
          <span>Another program writes this session, so you can only read it here.</span>
          <button type="button" className="primary" onClick={() => onFork(null)}>
            Continue as a branch
          </button>
        </footer>
      )}
    </section>
  );
}

/** Tell a screen reader what is new, once and whole: rows come and go with scrolling, and an answer comes word by word. */
function Announced({ chat }: { chat: ContextSession }) {
  const last = said(chat.contextProps).at(-1);
  const heard = useRef<string | null>(null);
  const [text, setText] = useState("");
  const { known } = chat;
  useEffect(() => {
    // What was there when the page was opened is not new.
    if (
      known &&
      heard.current !== null &&
      last &&
      last.id !== heard.current &&
      last.role === "assistant"
    )
      setText(`Assistant: ${last.content}`);
    if (known) heard.current = last?.id ?? "";
  }, [known, last]);
  return (
    <div className="unseen" role="log" aria-live="polite" aria-label="New messages">
      {text}
    </div>
  );
}
