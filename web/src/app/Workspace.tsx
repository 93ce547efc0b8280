import { useCallback, useMemo, useState } from "react";
import { ChatPanel } from "../chat/ChatPanel";
import type { InspectionSource } from "../inspect/data";
import { Panel, type PanelActions } from "../inspect/Panel";
import { TurnDialog } from "../inspect/TurnDialog";
import { useInspection } from "../inspect/useInspection";
import type { Client, Settings } from "../session/client";
import type { ContextSession } from "../session/useContextSession";
import { keep, recalled } from "./kept";
import type { Choice } from "./Menu";
import { Notice, useNotice } from "./Notice";

interface Props {
  chat: ContextSession;
  title: string;
  client: Client | null;
  /** where the inspection of a report comes from; null asks the server */
  source: InspectionSource | null;
  settings: Settings;
  model: string | null;
  isReadOnly: boolean;
  isListOpen: boolean;
  onList: (() => void) | null;
  choices: Choice[];
  onModel: (model: string) => void;
  onFork: (message: string | null) => void;
}

/** Pixels from which on the panel stands beside the chat. */
const WIDE = 1140;

/** Show a chat, and beside it what the model sees of it. */
export function Workspace({ source: given, isReadOnly, ...props }: Props) {
  const { client, settings } = props;
  const [told, tell] = useNotice();
  const chat = { ...props.chat, onRecall: broughtBack };
  const { session, contextProps } = chat;
  const [isOpen, setOpen] = useState(
    () => innerWidth >= WIDE && (recalled<boolean>("context") ?? true),
  );
  const [at, setAt] = useState<number | null>(null);
  const [turn, setTurn] = useState<string | null>(null);
  const [sought, setSought] = useState<string | null>(null);
  const canInspect = settings.inspect && session !== null && !chat.missing;
  const source = useMemo(
    () => given ?? (client && canInspect && session !== null ? client.inspect(session) : null),
    [given, client, canInspect, session],
  );
  const inspected = useInspection(source, contextProps, isOpen);
  const isChangeable = client !== null && !isReadOnly && !chat.writing;

  function show(open: boolean) {
    setOpen(open);
    if (innerWidth >= WIDE) keep("context", open);
  }

  async function broughtBack(id: string): Promise<boolean> {
    const done = await props.chat.onRecall(id);
    const isMessage = inspected?.now.turns.some((turn) => turn.id === id) ?? true;
    if (done)
      tell({
        text: "Brought back. The next compression may summarise it again.",
        choice: isMessage
          ? { name: "Keep", act: () => void props.chat.onPin(id).then(setKept) }
          : undefined,
      });
    return done;
  }

  function setKept(done: boolean) {
    if (done) tell({ text: "Kept: it is never summarised." });
  }

  async function changed(text: string, method: string, where: string[], body?: unknown) {
    if (await chat.onChange(method, where, body)) tell({ text });
  }

  const actions: PanelActions | null = isChangeable
    ? {
        onUndo: (receipt) =>
          void changed("The compression was undone.", "POST", ["undo"], { receipt_id: receipt }),
        onRevoke: (rule) =>
          void changed("Revoked. The model reads so before your next message.", "POST", [
            "rules",
            rule,
            "revoke",
          ]),
        onRemove: (rule) =>
          void changed("Removed from the rules. The model is not told.", "DELETE", ["rules", rule]),
      }
    : null;
  const seek = useCallback((id: string) => {
    setTurn(null);
    setAt(null);
    setSought(null);
    requestAnimationFrame(() => setSought(id));
  }, []);

  return (
    <div
      className="workspace"
      data-context={isOpen && source !== null}
      onKeyDown={(event) =>
        event.key === "Escape" && turn === null && innerWidth < WIDE && setOpen(false)
      }
    >
      <main>
        <ChatPanel
          {...props}
          chat={chat}
          isReadOnly={isReadOnly}
          inspected={inspected}
          at={at}
          onAt={setAt}
          sought={sought}
          onTurn={setTurn}
          isContextOpen={isOpen}
          onContext={source ? () => show(!isOpen) : null}
        />
      </main>
      {isOpen && source && (
        <>
          <Panel
            inspected={inspected}
            at={at}
            onAt={setAt}
            onTurn={setTurn}
            onClose={() => show(false)}
            actions={actions}
          />
          <div className="scrim" aria-hidden="true" onClick={() => show(false)} />
        </>
      )}
      {turn !== null && inspected && (
        <TurnDialog
          id={turn}
          inspected={inspected}
          onTurn={setTurn}
          onClose={() => setTurn(null)}
          onShow={seek}
          onRecall={
            isChangeable
              ? (id) => {
                  setTurn(null);
                  void chat.onRecall(id);
                }
              : undefined
          }
          onKeep={isChangeable ? (id) => void chat.onPin(id).then(setKept) : undefined}
        />
      )}
      <Notice told={told} onDone={() => tell(null)} />
    </div>
  );
}
