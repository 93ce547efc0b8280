import { SunMoon } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { attachmentOf } from "../chat/pillText";
import { type Changes, Client, type Lists, Refused, type Settings } from "../session/client";
import { sentenceOf } from "../session/sentences";
import { said } from "../session/state";
import { useContextSession } from "../session/useContextSession";
import { Chats, titleOf } from "./Chats";
import { switchTheme } from "./kept";
import { Mark } from "./Mark";
import { usePlace } from "./place";
import { TokenForm } from "./TokenForm";
import { keepToken, keptToken } from "./token";
import { Workspace } from "./Workspace";

const NO_SETTINGS: Settings = {
  inspect: false,
  models: [],
  editor: false,
  names: false,
  store: null,
};

/** Show the page: the chats of whoever is there, and one of them. */
export function App() {
  const [token, setToken] = useState(keptToken);
  const client = useMemo(() => new Client({ token }), [token]);
  const [session, go] = usePlace();
  const [{ chats, deleted }, setLists] = useState<Lists>({ chats: [], deleted: [] });
  const [settings, setSettings] = useState(NO_SETTINGS);
  const [isOpen, setOpen] = useState(false);
  const [renamed, setRenamed] = useState<string | null>(null);
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
    if (found) setLists(found);
  }, [attempted, client]);

  const { begun, begin, renew, key } = useBegun(session);
  const onBegun = useCallback(
    (made: string) => {
      begin(made);
      go(made);
    },
    [begin, go],
  );
  const chat = useContextSession({ client, session, onBegun });
  const isStill = !chat.writing;
  const { length } = chat.log;

  // The list says what became of a chat once its answer is there.
  useEffect(() => {
    if (isStill) void list();
  }, [list, session, isStill, length]);

  // Another tab may have changed the list; what was deleted can be restored for a while.
  const gone = deleted[0];
  useEffect(() => {
    addEventListener("focus", list);
    const timer = gone && setTimeout(() => void list(), gone.undo * 1_000);
    return () => {
      removeEventListener("focus", list);
      clearTimeout(timer);
    };
  }, [list, gone]);

  useEffect(() => {
    client.settings().then(setSettings, () => setSettings(NO_SETTINGS));
  }, [client]);

  const listed = chats.find(({ id }) => id === session);
  const first = said(chat.contextProps).find(({ content }) => attachmentOf(content) === null);
  const title = listed?.title || shortened(first?.content ?? "") || "New chat";
  useEffect(() => {
    document.title = session === null ? "polycontext" : `${title} – polycontext`;
  }, [session, title]);

  function open(to: string | null) {
    setOpen(false);
    if (to === null) renew();
    go(to);
  }

  async function remove(which: string) {
    if (which === session) open(null);
    await patch(which, { deleted: true });
  }

  async function restore(which: string) {
    await patch(which, { deleted: false });
    go(which);
  }

  async function fork(from: string | null, message: string | null) {
    if (from === null) return;
    const made = await attempted(() => client.fork(from, message));
    if (made) go(made.sessionId);
  }

  async function patch(which: string, changed: Changes) {
    await attempted(() => client.patch(which, changed));
    await list();
  }

  if (isDenied || chat.needsToken)
    return (
      <TokenForm
        isWrong={token !== null}
        onToken={(given) => {
          keepToken(given);
          setDenied(false);
          setToken(given);
        }}
      />
    );

  // A chat in which nothing was said is in nobody's way.
  const shown = chats
    .filter(({ id, title: name }) => name || id === session || id === begun)
    .map((each) =>
      each.id === session && chat.known
        ? { ...each, title, pressure: chat.contextProps.pressure }
        : each,
    );
  return (
    <div
      className="page"
      data-open={isOpen}
      onKeyDown={(event) => event.key === "Escape" && setOpen(false)}
    >
      <a className="skip" href="#message" onClick={skip}>
        Skip to the message box
      </a>
      <nav aria-label="Chats" id="chats">
        <p className="name">
          <Mark /> polycontext
        </p>
        <Chats
          chats={shown}
          current={session}
          renamed={renamed}
          onRenaming={setRenamed}
          onOpen={open}
          onRename={(which, name) => void patch(which, { title: name })}
          onDelete={(which) => void remove(which)}
          onFork={(which) => void fork(which, null)}
        />
        {problem !== null && <p role="alert">{problem}</p>}
        <p className="store">
          <span title={settings.store ?? undefined}>
            {settings.store ? `Kept in ${settings.store.split(/[\\/]/).at(-1)}` : ""}
          </span>
          <button type="button" className="icon" aria-label="Light or dark" onClick={switchTheme}>
            <SunMoon aria-hidden />
          </button>
        </p>
      </nav>
      <Workspace
        key={key}
        chat={chat}
        title={title}
        client={client}
        source={null}
        settings={settings}
        model={listed?.model ?? null}
        isReadOnly={listed?.readOnly ?? false}
        isListOpen={isOpen}
        onList={() => setOpen(!isOpen)}
        choices={
          session !== null && !listed?.readOnly
            ? [
                {
                  name: "Rename",
                  act: () => {
                    setOpen(true);
                    setRenamed(session);
                  },
                },
                { name: "Delete", isBad: true, act: () => void remove(session) },
              ]
            : []
        }
        onModel={(model) => session !== null && void patch(session, { model })}
        onFork={(message) => void fork(session, message)}
      />
      {isOpen && <div className="scrim" aria-hidden="true" onClick={() => setOpen(false)} />}
      <div className="toast-place" role="status">
        {gone && (
          <p className="toast">
            “{titleOf(gone)}” deleted
            <button type="button" onClick={() => void restore(gone.id)}>
              Undo
            </button>
          </p>
        )}
      </div>
    </div>
  );
}

/** Remember which chat the page itself began: its box of messages stays as it is. */
function useBegun(session: string | null) {
  const [fresh, setFresh] = useState(0);
  const own = useRef<{ id: string; key: string } | null>(null);
  const begin = useCallback(
    (id: string) => {
      own.current = { id, key: `new ${fresh}` };
    },
    [fresh],
  );
  const renew = useCallback(() => setFresh((before) => before + 1), []);
  const isOwn = session !== null && own.current?.id === session;
  const key = session === null ? `new ${fresh}` : isOwn ? own.current?.key : session;
  return { begun: own.current?.id ?? null, begin, renew, key };
}

/** Characters of a title. */
const LONGEST = 80;

/** Return the beginning of a text, up to a whole word. */
function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST).replace(/\s+\S*$/, "")}…` : text;
}

/** Move the keyboard to where messages are written; the address names the chat, so it must not change. */
function skip(event: { preventDefault: () => void }) {
  event.preventDefault();
  document.querySelector<HTMLElement>(".composer textarea, .composer [contenteditable]")?.focus();
}
