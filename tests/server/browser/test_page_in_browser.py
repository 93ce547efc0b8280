"""The page in a real browser, before a real server: what a user sees and does."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from polycontext.polynomial import ContextSession
from polycontext.server.chats import key_of
from tests.server.browser.chat_server import Served, served
from tests.server.browser.chromium import Tab

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # the server is in another process

LONG = "What stands on the shelves? I can see " + "plums, pears, quinces, cider and honey, " * 8

Open = Callable[..., Tab]

WIDE = {"width": 1280, "height": 800}


ANN, BOB = "the-token-for-ann", "the-token-for-bob"


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Return a function that opens a page, as a new user or beside a tab; pages have no errors."""
    tabs: list[Tab] = []

    def open_page(url: str, beside: Tab | None = None, **options: Any) -> Tab:
        tabs.append(Tab(beside.page.context if beside else browser.new_context(**options), url))
        return tabs[-1]

    yield open_page
    faults = [fault for tab in tabs for fault in tab.faults]
    for tab in tabs:
        tab.page.context.close()
    assert faults == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return a server with a small window and automatic compression, shared by the tests."""
    with served(tmp_path_factory.mktemp("server") / "chats.db", "--max-tokens", "900") as running:
        yield running


def fill(tab: Tab, percent: int) -> None:
    """Say long things until the context is at least so full."""
    for number in range(12):
        if int(tab.meter.get_attribute("aria-valuenow")) >= percent:
            return
        tab.send(f"{number}: {LONG}", f"So you say: {number}")
    raise AssertionError("the context does not fill")


def press(tab: Tab) -> None:
    """Make an answer exceed the threshold, so that the chat is pressured."""
    fill(tab, 50)
    tab.send("Tell it at length.", "and then")
    tab.page.locator('.gauge[data-phase="pressured"]').wait_for()


def test_a_chat_is_answered_word_by_word(server: Served, opened: Open) -> None:
    """The first message creates a chat with its own address, which a reload restores."""
    tab = opened(server.url)
    tab.send("What is in the cellar?", "three shelves")
    tab.wait_for(".message", 2)
    assert tab.says("three shelves").locator("table td").first.inner_text() == "top"
    assert tab.says("three shelves").locator("pre code").count() == 1
    assert tab.session in httpx.get(f"{server.url}/api/sessions").json()["sessions"]
    tab.page.reload()
    tab.says("three shelves")
    tab.wait_for(".message", 2)


def test_words_are_shown_while_they_are_written(server: Served, opened: Open) -> None:
    """A streaming answer is shown; nothing can be sent meanwhile, and the page says why."""
    tab = opened(server.url)
    tab.send("Count for ever")
    tab.says("plum plum plum")
    assert "writing" in tab.page.locator(".reason").inner_text()
    tab.button("More for this chat").click()
    compress = tab.page.get_by_role("menuitem", name="Compress")
    assert compress.get_attribute("aria-disabled") == "true"
    tab.page.keyboard.press("Escape")
    tab.button("Stop").click()
    tab.button("Answer again").wait_for()


def test_what_a_model_says_is_data(server: Served, opened: Open) -> None:
    """HTML is shown as it was written, nothing is loaded from elsewhere, and no script runs."""
    tab = opened(server.url)
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.send("Say something hostile", "bold")
    assert tab.page.locator("#bold").count() == 0
    assert "<b id=" in tab.says("bold").inner_text()
    assert tab.page.locator(".conversation img").count() == 0
    tab.says("bold").get_by_text("click", exact=True).click()
    assert tab.page.evaluate("window.hurt") is None
    assert all(url.startswith(server.url) for url in asked)


def test_compressing_sums_up_and_shows_what_was_said(server: Served, opened: Open) -> None:
    """A summary is one line; its messages stay visible, marked, and can be hidden or recalled."""
    tab = opened(server.url)
    fill(tab, 60)
    before = int(tab.meter.get_attribute("aria-valuenow"))
    tab.choose("Compress")
    tab.page.get_by_text("Summarised for the model:").last.wait_for()
    assert int(tab.meter.get_attribute("aria-valuenow")) < before
    assert "Compressed" in tab.meter.get_attribute("aria-valuetext")
    gone = tab.page.locator('.message[data-sent="false"]')
    gone.first.wait_for()
    tab.page.get_by_role("button", name="Show what the model sees").first.click()
    gone.first.wait_for(state="detached")
    tab.page.get_by_role("button", name="Show all messages").first.click()
    gone.last.scroll_into_view_if_needed()
    text = gone.last.locator(".markdown").inner_text()
    gone.last.hover()
    gone.last.get_by_role("button", name="Restore").click()
    tab.page.locator('.message[data-sent="true"]').filter(has_text=text).first.wait_for()


def test_pressured_says_why_sending_waits(tmp_path: Path, opened: Open) -> None:
    """Without automatic compression, a full context accepts a message only after a manual one."""
    with served(tmp_path / "chats.db", "--max-tokens", "900", "--by-hand") as server:
        tab = opened(server.url)
        press(tab)
        tab.page.get_by_text("The context is full").wait_for()
        assert tab.page.locator(".gauge").get_attribute("data-phase") == "pressured"
        tab.input.fill("one more")
        tab.page.keyboard.press("Enter")
        assert tab.button("Send").get_attribute("aria-disabled") == "true"
        tab.choose("Compress")
        tab.page.locator('.gauge[data-status="compressed"]').wait_for()
        tab.input.press("Enter")
        tab.says("So you say: one more")


def test_clearing_begins_anew_and_keeps_what_was_said(server: Served, opened: Open) -> None:
    """The model knows nothing any more; the reader is shown what was said when it is asked for."""
    tab = opened(server.url)
    tab.send("plums", "So you say: plums")
    tab.choose("Clear")
    tab.page.get_by_text("The conversation was cleared").wait_for()
    tab.wait_for(".message", 0)
    tab.page.reload()
    tab.button("Undo").click()
    tab.says("So you say: plums")
    tab.choose("Clear")
    tab.wait_for(".message", 0)
    tab.button("Show it").click()
    tab.says("So you say: plums")
    tab.send("pears", "So you say: pears")
    assert tab.meter.get_attribute("aria-valuenow") != "0"


def test_an_edit_takes_back_what_came_behind_it(server: Served, opened: Open) -> None:
    """One's own message is said otherwise; Escape leaves it as it was."""
    tab = opened(server.url)
    tab.send("plums", "So you say: plums")
    tab.send("pears", "So you say: pears")
    for key in ("Escape", "Enter"):
        own = tab.page.locator('.message[data-role="user"]').first
        own.hover()
        own.get_by_role("button", name="Edit").click()
        field = tab.page.get_by_label("Your message, edited")
        assert field.input_value() == "plums"
        field.fill("quinces")
        field.press(key)
        field.wait_for(state="detached")
    tab.says("So you say: quinces")
    tab.messages.filter(has_text="So you say: pears").wait_for(state="detached")
    tab.wait_for(".message", 2)


def test_a_failed_answer_is_told_and_tried_again(server: Served, opened: Open) -> None:
    """A failed answer shows its cause and a retry button, after a reload too."""
    tab = opened(server.url)
    tab.send("Do it badly")
    alert = tab.page.locator('.ending[role="alert"]')
    for _ in range(2):
        alert.get_by_text("No answer:").wait_for()
        assert not tab.page.get_by_role("button", name="Stop").is_visible()
        tab.page.locator('.gauge[data-status="ready"]').wait_for()
        tab.page.reload()
    alert.get_by_role("button", name="Try again").click()
    alert.get_by_text("No answer:").wait_for()
    tab.send("plums", "So you say: plums")
    tab.page.reload()
    tab.says("So you say: plums")
    assert not alert.is_visible()


def test_a_killed_server_is_found_again(tmp_path: Path, opened: Open) -> None:
    """The page reports a lost connection, and sends the waiting message once after a restart."""
    with served(tmp_path / "chats.db") as server:
        tab = opened(server.url)
        tab.send("plums", "So you say: plums")
        server.kill()
        tab.page.get_by_text("Connection lost").wait_for()
        tab.send("pears")
        tab.page.get_by_text("sending…", exact=True).wait_for()
        server.restart()
        tab.page.get_by_text("Connection lost").wait_for(state="detached")
        tab.says("So you say: pears")
        page = httpx.get(f"{server.url}/api/sessions/{tab.session}/history").json()
        assert [
            message["content"].strip() for message in page["messages"] if message["role"] == "user"
        ] == ["plums", "pears"]


def test_two_tabs_show_one_chat(server: Served, opened: Open) -> None:
    """Both tabs show the same stream, and a cancellation in one ends it in both."""
    one = opened(server.url)
    one.send("plums", "So you say: plums")
    other = opened(f"{server.url}/#/s/{one.session}", beside=one)
    other.says("So you say: plums")
    other.send("Count for ever")
    one.says("plum plum plum")
    one.button("Stop").click()
    for tab in (one, other):
        tab.page.locator('.message[data-role="assistant"]:not([aria-busy])').filter(
            has_text="plum plum"
        ).wait_for()
    one.send("pears", "So you say: pears")
    other.says("So you say: pears")
    one.wait_for(".message", 6)
    other.wait_for(".message", 6)


def test_two_users_see_nothing_of_each_other(tmp_path: Path, opened: Open) -> None:
    """A page asks for a token if the server does, and other users' chats are hidden."""
    with served(tmp_path / "chats.db", "--token", ANN, "--token", BOB) as server:

        def come_in(tab: Tab, token: str) -> None:
            tab.page.get_by_label("Token").fill(token)
            tab.button("Come in").click()

        ann, bob = opened(server.url), opened(server.url)
        come_in(ann, "for-nobody")
        ann.page.get_by_text("did not accept this token").wait_for()
        come_in(ann, ANN)
        ann.send("plums", "So you say: plums")
        come_in(bob, BOB)
        bob.input.wait_for()
        assert bob.page.locator("nav li").count() == 0
        bob.page.goto(f"{server.url}/#/s/{ann.session}")
        bob.page.get_by_text("This chat does not exist").wait_for()
        assert "plums" not in bob.page.content()
        ann.page.reload()
        ann.says("So you say: plums")  # a tab keeps its token


def test_chats_are_listed_branched_and_deleted(tmp_path: Path, opened: Open) -> None:
    """A chat is named by its first words, can be branched from a message, and can be deleted."""
    with served(tmp_path / "chats.db") as server:
        tab = opened(server.url)
        tab.send("plums", "So you say: plums")
        tab.send("pears", "So you say: pears")
        first = tab.session
        answer = tab.messages.filter(has_text="So you say: plums")
        answer.hover()
        answer.get_by_role("button", name="Branch").click()
        tab.page.wait_for_url(lambda url: first not in url)
        tab.says("So you say: plums")
        tab.messages.filter(has_text="So you say: pears").wait_for(state="detached")
        tab.wait_for("nav li", 2)
        tab.page.locator("nav li").get_by_text("plums").first.wait_for()
        branch = tab.session
        for _ in range(2):
            tab.choose("Delete")
            tab.page.get_by_role("heading", name="Start a conversation").wait_for()
            tab.wait_for("nav li", 1)
            tab.button("Undo").click()
            tab.page.wait_for_url(f"**/#/s/{branch}")
            tab.wait_for("nav li", 2)
        tab.choose("Delete")
        tab.page.get_by_text("deleted").wait_for()
        tab.page.reload()
        other = opened(server.url)
        other.button("Undo").click()
        other.page.wait_for_url(f"**/#/s/{branch}")
        other.page.close()
        tab.page.reload()
        tab.wait_for("nav li", 2)
        tab.page.goto(f"{server.url}/#/s/{branch}")
        tab.says("So you say: plums")
        tab.choose("Delete")
        tab.page.get_by_text("deleted").wait_for()
        tab.button("Undo").wait_for(state="detached")
        while branch in httpx.get(f"{server.url}/api/sessions").json()["sessions"]:
            tab.page.wait_for_timeout(100)
        assert httpx.get(f"{server.url}/api/sessions").json()["sessions"] == [first]


def test_the_keyboard_is_enough(server: Served, opened: Open) -> None:
    """Enter sends, Shift+Enter breaks the line, and Tab reaches every control visibly."""
    tab = opened(server.url)
    tab.input.wait_for()
    tab.page.get_by_role("link", name="Skip to the message box").focus()
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.type("plums")
    tab.page.keyboard.press("Shift+Enter")
    tab.page.keyboard.type("pears")
    tab.page.keyboard.press("Enter")
    tab.says("So you say: plums pears")
    tab.button("Answer again").wait_for()
    # While the answer grows, its end may be out of sight for a moment.
    tab.page.locator("button.newest").wait_for(state="detached")
    reached: list[str] = []
    tab.page.get_by_role("link", name="Skip to the message box").focus()
    for _ in range(40):
        said = tab.page.evaluate(
            "(() => { const at = document.activeElement; const style = getComputedStyle(at);"
            " return [at.getAttribute('aria-label') || at.textContent, style.outlineStyle !== "
            "'none' || style.boxShadow !== 'none' || at.closest('.box') !== null "
            "|| at.type === 'search'] })()"
        )
        reached.append(said[0].strip())
        assert said[1] or at_body(tab), f"no visible focus on {said[0]!r}"
        tab.page.keyboard.press("Tab")
    for name in ("New chat", "More for this chat", "Conversation", "Keep", "Answer again"):
        assert name in reached, reached
    assert reached.index("Message") <= 12, reached
    tab.button("Keep").last.focus()
    tab.page.keyboard.press("ArrowUp")
    assert tab.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Edit"


def at_body(tab: Tab) -> bool:
    """Tell whether nothing of the page has the keyboard."""
    return bool(tab.page.evaluate("document.activeElement === document.body"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(tmp_path: Path, opened: Open, scheme: str) -> None:
    """Axe reports no violation in any state of the page, in either colour scheme and width."""
    look = {"color_scheme": scheme, "reduced_motion": "reduce"}
    with served(
        tmp_path / "chats.db", "--max-tokens", "900", "--by-hand", "--token", ANN
    ) as server:
        tab = opened(server.url, **look)
        tab.page.get_by_label("Token").wait_for()
        tab.check("token")
        tab.page.get_by_label("Token").fill(ANN)
        tab.button("Come in").click()
        tab.input.wait_for()
        tab.check("empty")
        tab.send("What is in the cellar?", "three shelves")
        tab.messages.last.hover()
        tab.check("conversation")
        press(tab)
        tab.check("pressured")
        tab.choose("Compress")
        tab.page.get_by_text("Summarised for the model:").last.wait_for()
        tab.check("compressed")
        tab.page.set_viewport_size({"width": 320, "height": 640})
        tab.check("narrow")
        tab.button("Chats").click()
        tab.page.get_by_role("button", name="New chat").wait_for()
        tab.check("chats")


def long_session(path: Path, turns: int, name: str = "long", **options: Any) -> None:
    """Write a session of many turns into a store, owned by the user without a token."""
    messages: list[dict[str, Any]] = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"line {number}"}
        for number in range(turns)
    ]
    with ContextSession.open(path, key_of("local", name), **options) as session:
        session.extend(messages)


def test_a_long_history_comes_page_by_page(tmp_path: Path, opened: Open) -> None:
    """Only visible messages are in the page; scrolling up loads the rest without jumps."""
    long_session(tmp_path / "chats.db", 400, max_tokens=900)
    with served(tmp_path / "chats.db", "--max-tokens", "900") as server:
        tab = opened(f"{server.url}/#/s/long")
        tab.says("line 399")
        place = tab.page.locator(".conversation")
        place.hover()
        seen: set[int] = set()
        numbers = (
            "[...document.querySelectorAll('.message .markdown')].map(each => "
            "Number(each.textContent.trim().split(' ')[1]))"
        )
        for _ in range(400):
            shown = tab.page.evaluate(numbers)
            assert len(shown) < 60
            assert shown == sorted(shown)
            seen |= set(shown)
            if 0 in seen:
                break
            tab.page.mouse.wheel(0, -700)
            # Until it is drawn: the next frame, and the one behind it.
            tab.page.evaluate(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => "
                "requestAnimationFrame(done))))"
            )
        assert seen == set(range(400))


def test_a_rule_is_revoked_without_an_answer(server: Served, opened: Open) -> None:
    """The page waits for nothing, shows a notice, and the panel strikes the rule through."""
    tab = opened(server.url, viewport=WIDE)
    tab.send("From now on, always answer in French.", "So you say: From")
    panel = tab.page.get_by_role("complementary", name="Context")
    panel.get_by_role("button", name="Revoke From now on").click()
    tab.page.get_by_text("Revoked.").wait_for()
    tab.page.locator(".notice").get_by_text("This no longer applies: From now on").wait_for()
    panel.locator("del", has_text="always answer in French").wait_for()
    panel.get_by_text("Revoked at step").wait_for()
    assert tab.page.get_by_text("writing…").count() == 0
    assert tab.button("Answer again").count() == 0
    tab.send("plums", "So you say: plums")


DROP = """name => {
  const data = new DataTransfer();
  data.items.add(new File(["jars of pears"], name, { type: "text/plain" }));
  const target = document.querySelector(name === "box.txt" ? ".cm-content" : ".conversation");
  const heard = kind => target.dispatchEvent(
    new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  heard("dragover");
  const isOffered = document.querySelector(".drop-here") !== null;
  return [isOffered, heard("drop")];
}"""


@pytest.mark.parametrize("name", ["box.txt", "chat.txt"])
def test_a_file_is_dropped_anywhere_and_only_attached(
    server: Served, opened: Open, name: str
) -> None:
    """The browser does not open it, the editor does not insert it, and its text can be read."""
    tab = opened(server.url)
    tab.send("plums", "So you say: plums")
    tab.input.fill("pears")
    _, is_left_to_the_browser = tab.page.evaluate(DROP, name)
    assert not is_left_to_the_browser
    chip = tab.says(name)
    assert tab.input.inner_text() == "pears"
    chip.get_by_text("tokens").wait_for()
    chip.get_by_role("button", name=name).click()
    dialog = tab.page.get_by_role("dialog")
    dialog.get_by_role("heading", name=name).wait_for()
    text = dialog.get_by_role("region", name="Text of the message").inner_text()
    assert text == "jars of pears"


def test_what_was_brought_back_can_be_kept(tmp_path: Path, opened: Open) -> None:
    """A notice offers it; the dialog tells what became of the message, step by step."""
    with served(tmp_path / "chats.db", "--max-tokens", "900") as server:
        tab = opened(server.url, viewport=WIDE)
        fill(tab, 60)
        tab.choose("Compress")
        tab.page.get_by_text("Summarised for the model:").last.wait_for()
        gone = tab.page.locator('.message[data-sent="false"]').last
        gone.hover()
        gone.get_by_role("button", name="Restore").click()
        tab.page.get_by_text("Brought back.").wait_for()
        tab.page.locator(".toast").get_by_role("button", name="Keep").click()
        tab.page.get_by_text("Kept: it is never summarised.").wait_for()
        kept = tab.page.locator('.message[data-pinned="true"]').last
        kept.hover()
        kept.get_by_role("button", name="What became of it").click()
        path = tab.page.get_by_role("dialog").get_by_text("brought back at step")
        assert "summarised at step" in path.inner_text()
        tab.button("Close").click()
        tab.button("Show what the model sees").first.click()
        tab.page.locator(".banner").get_by_role("button", name="Show all messages").click()


def test_titles_are_searched_renamed_and_marked(tmp_path: Path, opened: Open) -> None:
    """A search without a match says so, the title's menu renames, and a branch has a mark."""
    with served(tmp_path / "chats.db") as server:
        tab = opened(server.url)
        tab.send("plums", "So you say: plums")
        tab.choose("Rename")
        tab.page.get_by_label("Name of the chat").fill("Orchard")
        tab.page.keyboard.press("Enter")
        tab.page.get_by_role("heading", name="Orchard").wait_for()
        tab.choose("Branch")
        tab.page.get_by_role("img", name="Branch").wait_for()
        assert tab.button("Name a file or symbol").count() == 0  # no folder is served
        tab.page.get_by_label("Search the chats").fill("zebra")
        tab.page.get_by_text("No chat has this in its title.").wait_for()
