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
  const { chat, client, settings } = props;
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

  const actions: PanelActions | null = isChangeable
    ? {
        onUndo: (receipt) => void chat.onChange("POST", ["undo"], { receipt_id: receipt }),
        onRevoke: (rule) => void chat.onChange("POST", ["rules", rule, "revoke"]),
        onRemove: (rule) => void chat.onChange("DELETE", ["rules", rule]),
      }
    : null;
  const seek = useCallback((id: string) => {
    setTurn(null);
    setAt(null);
    setSought(null);
    requestAnimationFrame(() => setSought(id));
  }, []);

  return (
    <div className="workspace" data-context={isOpen && source !== null}>
      <main>
        <ChatPanel
          {...props}
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
        />
      )}
    </div>
  );
}
