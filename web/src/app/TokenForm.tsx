import { useState } from "react";

/** Ask for a token, with which the server knows who is there. */
export function TokenForm({
  isWrong,
  onToken,
}: {
  isWrong: boolean;
  onToken: (token: string) => void;
}) {
  const [token, setToken] = useState("");
  return (
    <main className="token">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim()) onToken(token.trim());
        }}
      >
        <h1>Sign in</h1>
        <p id="token-why">
          {isWrong
            ? "The server did not accept this token."
            : "This server needs a token. It was printed when the server started."}
        </p>
        <label>
          Token
          <input
            type="password"
            autoComplete="off"
            aria-describedby="token-why"
            aria-invalid={isWrong}
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <button type="submit" className="primary">
          Come in
        </button>
      </form>
    </main>
  );
}
