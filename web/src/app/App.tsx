import { useCallback, useEffect, useMemo, useState } from "react";
import { ChatPanel } from "../chat/ChatPanel";
import { Client, Refused } from "../session/client";
import { sentenceOf } from "../session/sentences";
import { said } from "../session/state";
import { useContextSession } from "../session/useContextSession";
import { Chats } from "./Chats";
import { usePlace } from "./place";
import { TokenForm } from "./TokenForm";
import { keepToken, keptToken } from "./token";

/** Show the page: the chats of whoever is there, and one of them. */
export function App() {
  const [token, setToken] = useState(keptToken);
  const client = useMemo(() => new Client({ token }), [token]);
  const [session, go] = usePlace();
  const [chats, setChats] = useState<string[]>([]);
  const [isOpen, setOpen] = useState(false);
  const [isDenied, setDenied] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  const attempted = useCallback(async <T,>(act: () => Promise<T>): Promise<T | undefined> => {
    try {
      const done = await act();
      setProblem(null);
      return done;
    } catch (error) {
      if (error instanceof Refused && error.status === 401) setDenied(true);
      else setProblem(sentenceOf(error));
      return undefined;
    }
  }, []);

  const list = useCallback(async () => {
    const found = await attempted(() => client.list());
    if (found) setChats(found);
  }, [attempted, client]);

  useEffect(() => {
    void list();
  }, [list, session]);

  const chat = useContextSession({ client, session, onBegun: go });

  function open(to: string | null) {
    setOpen(false);
    go(to);
  }

  async function remove(which: string) {
    if (!confirm("Delete this chat? You cannot undo this.")) return;
    await attempted(() => client.delete(which));
    if (which === session) go(null);
    await list();
  }

  async function fork(message: string | null) {
    if (session === null) return;
    const made = await attempted(() => client.fork(session, message));
    if (made) go(made.sessionId);
  }

  if (isDenied || chat.needsToken)
    return (
      <TokenForm
        isWrong={token !== null}
        onToken={(said) => {
          keepToken(said);
          setDenied(false);
          setToken(said);
        }}
      />
    );

  return (
    <div className="page" data-open={isOpen}>
      <a className="skip" href="#message" onClick={skip}>
        Skip to the message box
      </a>
      <nav aria-label="Chats" id="chats">
        <p className="name">polycontext</p>
        <Chats client={client} chats={chats} current={session} first={said(chat.contextProps)[0]?.content} onOpen={open} onDelete={(which) => void remove(which)} />
        {problem !== null && <p role="alert">{problem}</p>}
      </nav>
      <main>
        <h1 className="unseen">Chat</h1>
        <button type="button" className="menu" aria-expanded={isOpen} aria-controls="chats" onClick={() => setOpen(!isOpen)}>
          Chats
        </button>
        <ChatPanel chat={chat} onFork={(message) => void fork(message)} />
      </main>
    </div>
  );
}

/** Move the keyboard to where messages are written; the address names the chat, so it must not change. */
function skip(event: { preventDefault: () => void }) {
  event.preventDefault();
  document.querySelector<HTMLElement>(".composer textarea, .composer [contenteditable]")?.focus();
}
