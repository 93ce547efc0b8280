import { describe, expect, it } from "vitest";
import { serverSources, SourceRefused } from "../../src/pills/sources";
import { json, server } from "../fakes";

const AT_ONCE = new AbortController().signal;

describe("what a server knows", () => {
  it("is asked of its chat's routes, with the token", async () => {
    const { fetch, asked } = server((one) =>
      json(
        one.path.includes("/source")
          ? { name: "a b" }
          : { completions: [{ name: "a", type: "file", detail: "" }] },
      ),
    );
    const sources = serverSources({ session: async () => "s/1", token: "ann", fetch });
    expect(await sources.complete("@a&b", AT_ONCE)).toEqual([
      { name: "a", type: "file", detail: "" },
    ]);
    expect(await sources.source({ name: "a b", type: "symbol" })).toEqual({ name: "a b" });
    expect(asked.map((one) => one.path)).toEqual([
      "/api/sessions/s%2F1/completions?prefix=%40a%26b&limit=10",
      "/api/sessions/s%2F1/source?name=a+b&type=symbol",
    ]);
    expect(asked.map((one) => one.headers.get("authorization"))).toEqual([
      "Bearer ann",
      "Bearer ann",
    ]);
  });

  it.each([
    [
      {
        detail: "[@a]: Cannot attach context: file not found",
        pills: [{ problem: "Cannot attach context: file not found" }],
      },
      "Cannot attach context: file not found",
    ],
    [{ detail: "no such chat" }, "no such chat"],
    [{ detail: [{ msg: "x" }] }, "The server answered 422."],
  ])("is refused in its words: %j", async (body, words) => {
    const { fetch } = server(() => json(body, 422));
    const refused = serverSources({ session: async () => "s", fetch }).source({
      name: "a",
      type: "file",
    });
    await expect(refused).rejects.toThrow(SourceRefused);
    await expect(refused).rejects.toThrow(words);
  });
});
