import type { ChatProps } from "@props";
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";
import type { PillData } from "../pills/document";
import type { PillSources } from "../pills/sources";
import { Client, Refused } from "./client";
import { type Connection, listen } from "./listen";
import { sentenceOf } from "./sentences";
import { NOTHING, reduce, type SessionState } from "./state";

/** Messages of a page of the history. */
const PAGE = 60;

export interface ContextSessionOptions {
  /** whom to ask; the page's own server, without a token, unless said */
  client?: Client;
  /** the chat; null begins one with the first message; left out, the hook keeps the one that it began */
  session?: string | null;
  /** is told of a chat that was begun */
  onBegun?: (session: string) => void;
}

/** What a component of a chat is given: seed props, and what it may do. Each action says whether it was taken. */
export interface ContextSession extends SessionState {
  session: string | null;
  contextProps: ChatProps;
  connection: Connection;
  /** the server asks who is there, and lets nobody in without a token */
  needsToken: boolean;
  /** there is no such chat, or it is another user's */
  missing: boolean;
  onSend: (content: string, pills?: PillData[]) => Promise<boolean>;
  /** who knows what a message may name; asking begins a chat where there is none */
  sources: PillSources;
  onCompress: () => Promise<boolean>;
  onClear: () => Promise<boolean>;
  onCancel: () => Promise<boolean>;
  onRegenerate: () => Promise<boolean>;
  onEdit: (message: string, content: string) => Promise<boolean>;
  onPin: (message: string) => Promise<boolean>;
  onRecall: (message: string) => Promise<boolean>;
  /** change something else by its route; the answer comes as events */
  onChange: (method: string, where: string[], body?: unknown) => Promise<boolean>;
  onUpload: (file: File) => Promise<boolean>;
  /** bring the page of the log before what is here */
  onOlder: () => Promise<boolean>;
  /** try to connect at once */
  onReconnect: () => void;
  /** the problem was read */
  onDismiss: () => void;
}

/** Keep one conversation on a server in step with a component: what it may show comes in as events, what the user does goes out as requests. */
export function useContextSession({
  client: given,
  session: asked,
  onBegun,
}: ContextSessionOptions = {}): ContextSession {
  const own = useMemo(() => new Client(), []);
  const client = given ?? own;
  const [begun, setBegun] = useState<string | null>(null);
  const session = asked === undefined ? begun : asked;
  const [state, change] = useReducer(reduce, NOTHING);
  const [denied, setDenied] = useState<number | null>(null);
  const [attempt, setAttempt] = useState(0);
  // What was not known to have arrived goes out again under its key, so that it is taken in once.
  const unsent = useRef({ place: "", body: "", key: "" });
  const beginning = useRef<Promise<string> | null>(null);

  useEffect(() => {
    change({ type: "opened" });
    setDenied(null);
    beginning.current = null;
  }, [client, session]);

  useEffect(() => {
    if (session === null) {
      change({ type: "connection", connection: "open" });
      return;
    }
    const ending = new AbortController();
    void listen(
      client,
      session,
      {
        event: ({ kind, data }) => {
          if (kind === "props") change({ type: "props", props: JSON.parse(data) as ChatProps });
          if (kind === "delta")
            change({ type: "delta", text: (JSON.parse(data) as { text: string }).text });
          if (kind === "problem")
            change({ type: "problem", what: (JSON.parse(data) as { what: string }).what });
        },
        connection: (connection) => change({ type: "connection", connection }),
        refused: (error) => setDenied(error.status),
      },
      ending.signal,
    );
    return () => ending.abort();
  }, [client, session, attempt]);

  const attempted = useCallback(
    async (act: () => Promise<unknown>, asked?: string): Promise<boolean> => {
      try {
        await act();
        return true;
      } catch (error) {
        if (error instanceof Refused && error.status === 401) setDenied(401);
        change({ type: "problem", what: sentenceOf(error, asked) });
        return false;
      }
    },
    [],
  );

  useEffect(() => {
    if (session === null || state.behind === 0) return;
    let current = true;
    void attempted(async () => {
      const page = await client.history(session, null, PAGE);
      if (current) change({ type: "newest", page });
    });
    return () => {
      current = false;
    };
  }, [client, session, state.behind, attempted]);

  // Whoever asks at once gets one chat.
  const begin = useCallback((): Promise<string> => {
    if (session !== null) return Promise.resolve(session);
    beginning.current ??= client.create().then(
      ({ sessionId }) => {
        setBegun(sessionId);
        onBegun?.(sessionId);
        return sessionId;
      },
      (error: unknown) => {
        beginning.current = null;
        throw error;
      },
    );
    return beginning.current;
  }, [client, session, onBegun]);

  const onSend = useCallback(
    async (content: string, pills: PillData[] = []) => {
      change({ type: "pending", content });
      const done = await attempted(async () => {
        const place = await begin();
        const body = JSON.stringify([content, pills]);
        const known = unsent.current.place === place && unsent.current.body === body;
        const { key } = known ? unsent.current : (unsent.current = { place, body, key: newKey() });
        // Its props come with the events, in their order; an answer to a request may come behind newer ones.
        await client.send(place, content, key, pills);
        unsent.current = { place: "", body: "", key: "" };
      });
      change({ type: "pending", content: null });
      return done;
    },
    [attempted, begin, client],
  );

  const act = useCallback(
    (what: string, message?: string) =>
      attempted(async () => session !== null && (await client.act(session, what, message)), what),
    [attempted, client, session],
  );

  const older = useRef<string | null>(null);
  const onOlder = useCallback(async () => {
    const { before } = state;
    if (session === null || before === null || older.current === before) return false;
    older.current = before;
    const done = await attempted(async () =>
      change({ type: "older", before, page: await client.history(session, before, PAGE) }),
    );
    older.current = null;
    return done;
  }, [attempted, client, session, state.before]);

  return {
    ...state,
    session,
    needsToken: denied === 401,
    missing: denied === 404,
    onSend,
    sources: useMemo(() => client.sources(begin), [client, begin]),
    onCompress: useCallback(() => act("compress"), [act]),
    onClear: useCallback(() => act("clear"), [act]),
    onCancel: useCallback(async () => {
      const done = await act("cancel");
      if (done) change({ type: "cancelled" });
      return done;
    }, [act]),
    onRegenerate: useCallback(async () => {
      change({ type: "asked" });
      const done = await act("regenerate");
      if (!done) change({ type: "cancelled" });
      return done;
    }, [act]),
    onEdit: useCallback(
      (message, content) =>
        attempted(async () => session !== null && (await client.edit(session, message, content))),
      [attempted, client, session],
    ),
    onPin: useCallback((message) => act("pin", message), [act]),
    onRecall: useCallback((message) => act("recall", message), [act]),
    onChange: useCallback(
      (method, where, body) =>
        attempted(
          async () => session !== null && (await client.change(session, method, where, body)),
          where[0],
        ),
      [attempted, client, session],
    ),
    onUpload: useCallback(
      (file) => attempted(async () => client.upload(await begin(), file)),
      [attempted, begin, client],
    ),
    onOlder,
    onReconnect: useCallback(() => setAttempt((before) => before + 1), []),
    onDismiss: useCallback(() => change({ type: "problem", what: null }), []),
  };
}

/** Return a key that no other message has; `randomUUID` is not there where a page comes over plain HTTP. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
