import type { ChatProps, MessageProps } from "@props";
import { useMemo } from "react";
import { type Report, reportSource, viewAt } from "../inspect/data";
import { INITIAL, NOTHING } from "../session/state";
import type { ContextSession } from "../session/useContextSession";
import { Workspace } from "./Workspace";

const SETTINGS = { inspect: true, models: [], editor: false, names: false, store: null };
const no = async () => false;
const nothing = () => undefined;

/** Show a session from the data of a report: all there is to read, and nothing to change. */
export function ReportPage({ report }: { report: Report }) {
  const source = useMemo(() => reportSource(report), [report]);
  const chat = useMemo(() => chatOf(report), [report]);
  return (
    <div className="page report">
      <Workspace
        chat={chat}
        title={report.title}
        client={null}
        source={source}
        settings={SETTINGS}
        model={report.inspection.model}
        isReadOnly
        isListOpen={false}
        onList={null}
        choices={[]}
        onModel={nothing}
        onFork={nothing}
      />
    </div>
  );
}

/** Return a report's session as a chat that takes nothing. */
export function chatOf({ inspection, timeline, turns: { turns } }: Report): ContextSession {
  const details = new Map(turns.map((turn) => [turn.id, turn]));
  const log: MessageProps[] = inspection.turns.flatMap(({ id, role, at, kind }) => {
    const text = details.get(id)?.text ?? "";
    const isSaid = (role === "user" || role === "assistant") && text !== "";
    const isPreserved = kind === "pinned";
    return isSaid ? [{ id, role, content: text, timestamp: at ?? "", isPreserved }] : [];
  });
  const summaries: MessageProps[] = inspection.summaries.map(({ id, sources }) => ({
    id,
    role: "summary",
    content: `${sources.length} earlier messages`,
    timestamp: "",
    isPreserved: false,
  }));
  const known = new Map([...log, ...summaries].map((message) => [message.id, message]));
  const view = viewAt(timeline.entries, timeline.entries.length - 1);
  const messages = view.flatMap((id) => known.get(id) ?? []);
  const { tokens, maxTokens } = inspection.window;
  const contextProps: ChatProps = {
    ...INITIAL,
    messages,
    pressure: tokens / maxTokens,
    status: inspection.summaries.length ? "compressed" : "ready",
    phase: inspection.summaries.length ? "compressed" : "ready",
    actions: { send: false, compress: false, clear: false },
  };
  return {
    ...NOTHING,
    contextProps,
    log,
    known: true,
    connection: "open",
    session: "report",
    needsToken: false,
    missing: false,
    sources: { complete: async () => [], source: () => Promise.reject(new Error("report")) },
    onSend: no,
    onCompress: no,
    onClear: no,
    onCancel: no,
    onRegenerate: no,
    onEdit: no,
    onPin: no,
    onRecall: no,
    onChange: no,
    onUpload: no,
    onOlder: no,
    onReconnect: nothing,
    onDismiss: nothing,
  };
}
