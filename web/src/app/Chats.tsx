import { useEffect, useState } from "react";
import type { Client } from "../session/client";
import { said } from "../session/state";

interface Props {
  client: Client;
  chats: string[];
  current: string | null;
  /** the first words of the current one, which may be newer than the list */
  first: string | undefined;
  onOpen: (session: string | null) => void;
  onDelete: (session: string) => void;
}

/** Chats whose first words are asked for; of others the list shows the id. */
const NAMED = 20;

/** List one's own chats by their first words. */
export function Chats({ client, chats, current, first, onOpen, onDelete }: Props) {
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map());

  useEffect(() => {
    let wanted = true;
    async function name() {
      // One after another: a list must not keep a server busy.
      for (const chat of chats.slice(0, NAMED).filter((each) => !names.has(each))) {
        const first = await client.show(chat).then(
          ({ contextProps }) => said(contextProps)[0]?.content,
          () => undefined,
        );
        if (!wanted) return;
        if (first) setNames((before) => new Map(before).set(chat, first.slice(0, 80)));
      }
    }
    void name();
    return () => {
      wanted = false;
    };
    // Names are looked at, not followed: each is asked for once.
  }, [client, chats]);

  return (
    <>
      <button type="button" className="primary" onClick={() => onOpen(null)}>
        New chat
      </button>
      <ul>
        {chats.map((chat) => {
          const name = (chat === current && first?.slice(0, 80)) || names.get(chat) || `Chat ${chat.slice(0, 8)}`;
          return (
            <li key={chat} data-current={chat === current}>
              <a
                href={`#/s/${encodeURIComponent(chat)}`}
                aria-current={chat === current ? "page" : undefined}
                onClick={(event) => {
                  event.preventDefault();
                  onOpen(chat);
                }}
              >
                {name}
              </a>
              <button type="button" aria-label={`Delete ${name}`} onClick={() => onDelete(chat)}>
                ×
              </button>
            </li>
          );
        })}
      </ul>
    </>
  );
}
