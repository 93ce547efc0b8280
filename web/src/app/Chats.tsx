import { GitBranch, Search, SquarePen } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import type { Listed } from "../session/client";
import { Menu } from "./Menu";

interface Props {
  chats: Listed[];
  current: string | null;
  /** the chat whose name is being written; null where there is none */
  renamed: string | null;
  onRenaming: (session: string | null) => void;
  onOpen: (session: string | null) => void;
  onRename: (session: string, title: string) => void;
  onDelete: (session: string) => void;
  onFork: (session: string) => void;
}

/** List the chats by date, to search, open, rename and delete. */
export function Chats({ chats, current, renamed, onRenaming, ...on }: Props) {
  const { onOpen, onRename, onDelete, onFork } = on;
  const [words, setWords] = useState("");
  const found = chats.filter((chat) => titleOf(chat).toLowerCase().includes(words.toLowerCase()));
  // One chat is reached by Tab, the others from it by arrow keys.
  const entry = found.find(({ id }) => id === current) ?? found[0];
  return (
    <>
      <button type="button" className="row" onClick={() => onOpen(null)}>
        <SquarePen aria-hidden />
        New chat
      </button>
      <label className="row">
        <Search aria-hidden />
        <input
          type="search"
          placeholder="Search titles"
          aria-label="Search the chats"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      </label>
      <div className="chats" onKeyDown={moved}>
        {words && !found.length && <p className="soft">No chat has this in its title.</p>}
        {groupsOf(found).map(([name, group]) => (
          <section key={name} aria-label={name}>
            <h2>{name}</h2>
            <ul>
              {group.map((chat) => (
                <li key={chat.id} data-current={chat.id === current}>
                  {renamed === chat.id ? (
                    <Renaming
                      title={titleOf(chat)}
                      onDone={(title) => {
                        onRenaming(null);
                        if (title) onRename(chat.id, title);
                      }}
                    />
                  ) : (
                    <a
                      href={`#/s/${encodeURIComponent(chat.id)}`}
                      aria-current={chat.id === current ? "page" : undefined}
                      tabIndex={chat === entry ? 0 : -1}
                      onClick={(event) => {
                        event.preventDefault();
                        onOpen(chat.id);
                      }}
                      onKeyDown={(event) => {
                        if (event.key === "F2" && !chat.readOnly) onRenaming(chat.id);
                        if (event.key === "Delete" && !chat.readOnly) onDelete(chat.id);
                      }}
                    >
                      {titleOf(chat).endsWith(BRANCH) && (
                        <GitBranch role="img" aria-label="Branch" aria-hidden={false} />
                      )}
                      <span title={titleOf(chat)}>{titleOf(chat).replace(BRANCH, "")}</span>
                      {chat.pressure !== null && <Pie pressure={chat.pressure} />}
                    </a>
                  )}
                  <Menu
                    name={`More for ${titleOf(chat)}`}
                    tabIndex={-1}
                    choices={[
                      ...(chat.readOnly
                        ? []
                        : [{ name: "Rename", note: "F2", act: () => onRenaming(chat.id) }]),
                      { name: "Branch", act: () => onFork(chat.id) },
                      ...(chat.readOnly
                        ? []
                        : [{ name: "Delete", isBad: true, act: () => onDelete(chat.id) }]),
                    ]}
                  />
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </>
  );
}

/** What the server puts behind the title of a branch. */
const BRANCH = " (branch)";

/** Return what a chat is called. */
export function titleOf({ title, id }: Listed): string {
  return title || (id ? "New chat" : "");
}

function Pie({ pressure }: { pressure: number }) {
  const used = Math.round(pressure * 100);
  return (
    <i
      className="pie"
      role="img"
      aria-label={`${used} % full`}
      title={`${used} % of the context is used`}
      data-full={used >= 80}
      style={{ "--part": `${used}%` } as React.CSSProperties}
    />
  );
}

function Renaming({ title, onDone }: { title: string; onDone: (title: string | null) => void }) {
  const [text, setText] = useState(title);
  return (
    <input
      aria-label="Name of the chat"
      ref={(input) => input?.focus()}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => onDone(text.trim() === title ? null : text.trim())}
      onKeyDown={(event) => {
        if (event.key === "Enter") event.currentTarget.blur();
        if (event.key === "Escape") onDone(null);
      }}
    />
  );
}

/** Move between the chats by arrow keys. */
function moved(event: KeyboardEvent<HTMLElement>) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...event.currentTarget.querySelectorAll("a")];
  const at = links.indexOf(event.target as HTMLAnchorElement);
  if (!step || at < 0) return;
  event.preventDefault();
  links[at + step]?.focus();
}

const DAY = 86_400_000;

/** Return chats by how long ago they were used: today, yesterday, last 7 days, then by month. */
export function groupsOf(chats: Listed[], now: Date = new Date()): [string, Listed[]][] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const groups = new Map<string, Listed[]>();
  for (const chat of chats) {
    const when = chat.at ? new Date(chat.at) : null;
    const age = when ? midnight - when.getTime() : 0;
    const name = chat.readOnly
      ? "Other programs"
      : !when || age <= 0
        ? "Today"
        : age <= DAY
          ? "Yesterday"
          : age <= 6 * DAY
            ? "Last 7 days"
            : when.toLocaleString("en", {
                month: "long",
                ...(when.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }),
              });
    groups.set(name, [...(groups.get(name) ?? []), chat]);
  }
  return [...groups];
}
