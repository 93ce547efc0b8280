"""Guesses of people who know other libraries: each error names what to write here."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from polycontext import ContextMachine, ContextSession
from polycontext.base import InvalidOptionError, guesses
from polycontext.testing import FAST

CALLS = [
    ("compress_file('a','b',max_tokens=4000)", "RowCompressor(max_tokens=4000))"),
    ("ContextSession(max_cost=1)", "Meter(session).limit(money=...)"),
    ("session.add_user_turn('x', images=[])", "session.add_message(message)"),
    ("session.compress(max_tokens=5)", "session.compress(target)"),
    ("session.add_ai_message('x')", "Use session.add_assistant_turn(text,"),
    ("session.add_messages(messages)", "Use session.extend(messages)."),
    ("session.get_messages()", "Use session.messages()."),
    ("session.get_context()", "Use session.messages()."),
    ("session.run('x')", "Use your client with session.messages(), or"),
    ("session.get_history()", "Use session.log(), or"),
    ("session.history.add('x')", "Use session.add_message(message)."),
    ("session.history.clear()", "Use session.clear()."),
    ("session.tokens_used", "Use session.window.total_tokens."),
    ("session.usage.total_tokens", "Use session.window.total_tokens."),
    ("session.usage.prompt_tokens", "Use session.window.total_tokens."),
    ("session.usage.cost", "Use session.usage.spent."),
    ("session.token_count", "Use session.window.total_tokens."),
    ("session.remaining_tokens", "Use session.window.max_tokens -"),
    ("session.budget", "Use session.window.max_tokens."),
    ("session.truncate()", "Use session.compress()."),
    ("session.trim()", "Use session.compress()."),
    ("session.prune()", "Use session.compress()."),
    ("session.is_full", "Use session.pressure."),
    ("session.status", "Use session.state."),
    ("session.current_state", "Use session.state."),
    ("session.events", "Use session.history.events()."),
    ("session.transitions", "Use session.history.timeline()."),
    ("session.delete('t1')", "Use ContextSession.history.delete(path,"),
    ("session.remove('t1')", "Use session.history.forget(resource_id)."),
    ("session.edit('t1','x')", "Use session.history.edit(resource_id, text)."),
    ("session.update('t1', 'x')", "Use session.history.edit(resource_id, text)."),
    ("session.pop()", "Use session.history.rewind(revision)."),
    ("session.last", "Use session.log(), or"),
    ("session.system_prompt", "Use session.add_system(text)."),
    ("session.set_system('x')", "Use session.add_system(text)."),
    ("session.listeners", "Use ContextSession(listeners=[watcher]);"),
    ("session.stream('x')", "Use your client with session.messages(), or"),
    ("session.get('t1')", "Use session.log(), whose turns have a"),
    ("session['t1']", "Use session.log() or session.messages()."),
    ("session.copy()", "Use session.history.fork(new_id)."),
    ("session.snapshot()", "Use ContextSession.open(path, session_id),"),
    ("session.restore('x')", "Use ContextSession.open(path, session_id)."),
    ("session.to_dict()", "Use session.history.export()."),
    ("session.to_json()", "Use session.history.export()."),
    ("session.dict()", "Use session.history.export()."),
    ("session.metadata", "Use session.documents."),
    ("session.on('compress', print)", "Use ContextSession(listeners=[watcher]);"),
    ("session.subscribe(print)", "Use ContextSession(listeners=[watcher]);"),
    ("session.name", "Use session.session_id."),
    ("session.store", "Use ContextSession.open(path, session_id),"),
    ("session.commit()", "Use ContextSession.open(path, session_id),"),
    ("session.flush()", "Use ContextSession.open(path, session_id),"),
    ("session.rules.append('x')", "Use add(text)."),
    ("session.rules[0]", "Use session.rules.list()."),
    ("len(session.rules)", "Use session.rules.list()."),
    ("session.rules()", "Use session.rules.list()."),
    ("session.rules.delete('t1:1')", "Use remove(rule_id)."),
    ("session.documents['x']", "Use get(name) and patch(name, change)."),
    ("session.documents.add('x', {})", 'Use patch(name, lambda _: [{"op": "add",'),
    ("session.background.status", "Use after, cancel, commit, fulfil, last,"),
    ("session.background.start()", "Use ContextSession(auto='background'), or"),
    ("session.background.is_running", "Did you mean 'running'?"),
    ("session.usage()", "Use model, provider, reported, request,"),
    ("session.usage.record(5)", "Use session.add_message(response), which"),
    ("session.usage.report()", "Use session.add_message(response), which"),
    ("output.text", "Use session.log()[-1]."),
    ("output.content", "Use session.log()[-1]."),
    ("output.tokens", "Use output.window.total_tokens."),
    ("output.id", "Use session.log()[-1]."),
    ("output.summary", "Use output.compressed."),
    ("output['state']", "Use .state."),
    ("output.is_compressed", "Use output.compressed."),
    ("output.window.messages", "Use session.messages()."),
    ("output.window[0]", "Use window.all_turns()."),
    ("output.window.turns[0].content_text", "Use window.all_turns()."),
    ("session.log()[0].message", "Use session.messages()."),
    ("session.log()[0].id", "Use turn.resource_id."),
    ("session.log()[0]['content']", "Use .content."),
    ("session.log()[0].is_summary", "Use turn.is_gist."),
    ("session.log()[0].type", "Use turn.role."),
    ("project(messages, 100).summary", "Use .messages, in which the summary is one."),
    ("project(messages, 100).tokens", "Use .tokens_after."),
    ("project(messages, 100).text", "Use .messages."),
    ("len(project(messages, 100))", "Use .messages."),
    ("session.add_user_turn(content='x', role='user')", "Use content, name, expected_revision,"),
    ("session.add_user_turn()", "Use ContextSession.add_user_turn(content,"),
    ("session.add_user_turn('x', id='t9')", "Use content, name, expected_revision,"),
    ("session.add_user_turn('x', pinned=True)", "Use content, name, expected_revision,"),
    ("session.add_tool_turn('x')", "Use ContextSession.add_tool_turn(content,"),
    ("session.add_tool_turn('x', call_id='c1')", "Did you mean 'tool_call_id'?"),
    ("session.compress(to=0.2)", "Did you mean 'target'?"),
    ("session.compress(ratio=0.2)", "Did you mean 'target'?"),
    ("session.messages(max_tokens=100)", "Use provider, allow_open."),
    ("session.messages(limit=3)", "Use provider, allow_open."),
    ("session.messages('openai', system=False)", "Use provider, allow_open."),
    ("session.request('openai').tools", "Use the list of tools that you passed to"),
    ("session.request('openai')['messages']", "Use .messages."),
    ("session.send('user_turn')", "Use ContextSession.add_user_turn(content,"),
    ("session.history.fork()", "Use History.fork(new_id, moment)."),
    ("session.history.search(query='x')", "Did you mean 'text'?"),
    ("session.history.forget('t1','t2')", "Use History.forget(resource_id)."),
    ("session.history.retain(days=7, hours=1)", "Use days, max_bytes."),
    ("session.history.export('output.jsonl')", "Use History.export()."),
    ("session.history.export(format='json')", "Use History.export()."),
    ("session.history.timeline('t1')", "Use History.timeline()."),
    ("session.child('x', session_id='a')", "Use task, child_id, max_tokens, tells,"),
    ("session.child()", "Use ContextSession.child(task, child_id, *,"),
    ("session.answer('text')", "Use ContextSession.answer()."),
    ("ContextSession(model='gpt-5', temperature=1)", "Use your client for it; the session only"),
    ("ContextSession(system='x')", "Use session.add_system(text)."),
    ("ContextSession(system_prompt='x')", "Use session.add_system(text)."),
    ("ContextSession(messages=messages)", "Use ContextSession.from_messages(messages)."),
    ("ContextSession(4000, token_counter=len)", "Did you mean 'counter'?"),
    ("ContextSession(4000, memory=True)", "Did you mean 'store'?"),
    ("ContextSession(4000, callbacks=[print])", "Did you mean 'listeners'?"),
    ("ContextSession.open()", "Use ContextSession.open(url, session_id,"),
    ("ContextSession.from_dict({})", "Use ContextSession.history.load(lines),"),
    ("ContextSession.create()", "Use ContextSession.open(path, session_id)."),
    ("ContextSession.new('x')", "Use ContextSession.open(path, session_id)."),
    ("ContextSession.list('x.db')", "Use ContextSession.history.list_sessions(pat"),
    ("ContextSession.history.list('x.db')", "Use list_sessions(path)."),
    ("ContextSession.history.delete('x')", "Use Archive.delete(url, session_id, *,"),
    ("ContextSession.history.export('x.db', 's')", "Use ContextSession.open(path, id).history."),
    ("ContextSession.history.forget('x.db','s')", "Use ContextSession.open(path, id).history."),
    ("ContextSession.history.sessions('x.db')", "Use list_sessions(path)."),
    ("Turn('x')", "Use Turn(role, content, *, tool_calls,"),
    ("Turn(role='user', text='x')", "Did you mean 'content'?"),
    ("Turn('user','x').pin()", "Use session.pin(turn.resource_id)."),
    ("ToolCall(id='c1', name='search', args='{}')", "Use id, name, arguments."),
    ("ToolCall('c1','search','{}').args", "Use arguments, id, name."),
    ("ContextProjector(summarizer=len)", "Did you mean 'summariser'?"),
    ("ContextProjector(keep_recent=3)", "Use ContextProjector(reach=Reach(keep_recent"),
    ("ExtractiveSummariser(max_tokens=100)", "Use ContextSession(max_tokens=...)."),
    ("ExtractiveSummariser().summarize([],100)", "Did you mean 'summarise'?"),
    ("Reach(keep_last=3)", "Did you mean 'keep_recent'?"),
    ("FixedThreshold(high=0.8)", "Did you mean 'base'?"),
    ("keep_last(tool='read')", "Did you mean 'tools'?"),
    ("Meter().add(5)", "Use Meter(session, prices)."),
    ("Meter(limit=5)", "Use meter.limit(money=...)."),
    ("Meter(budget=5)", "Use meter.limit(money=...)."),
    ("Meter(limit=5).total", "Use meter.limit(money=...)."),
    ("prices_of()", "Use prices_of(model)."),
    ("project()", "Use project(messages, model, *, max_tokens,"),
    ("project(messages, max_token=100)", "Did you mean 'max_tokens'?"),
    ("project(messages, 100, strategy='last')", "Use messages, model, max_tokens, provider,"),
    ("project(messages, 100, system='x')", 'Use a first message with "role": "system".'),
    ("Agent()", "Use Agent(session, model, tools, *,"),
    ("Tool('find')", "Use Tool(name, run, description, entities,"),
    ("Tool(function=print)", "Did you mean 'run'?"),
    ("Tool('find', lambda q: q, schema={})", "Use a function with annotated arguments."),
    ("SQLiteStore()", "Use SQLiteStore(path, *, timeout, create)."),
    ("SQLiteStore(path).get('a')", "Use ContextSession.open(store, id), or"),
    ("SQLiteStore(path).list()", "Use ContextSession.open(store, id), or"),
    ("SQLiteStore(path).save(session)", "Use alone, append, close, committed,"),
    ("InMemoryStore().sessions", "Did you mean 'list_sessions'?"),
    ("InMemoryStore().load()", "Use InMemoryStore.load(session_id, after)."),
    ("find_model('gpt-5').max_tokens", "Use .window."),
    ("find_model('gpt-5').context_window", "Use .window."),
    ("find_model('gpt-5').price", "Use polycontext.cost.prices_of(name)."),
    ("RowCompressor(max_tokens=400).compress({'messages':messages})", "Did you mean 'compressed'?"),
    ("create_app(token='x'*20)", "Use create_app(store, answering, access, *,"),
    ("Access(token='x'*20)", "Did you mean 'tokens'?"),
    ("StrictChat(lambda r: 'x').create(model='x', messages=messages)", "Use request, headers."),
    ("StrictChat(lambda r: 'x').chat", "Use answer, check, clock, counter, create,"),
    ("ScriptedModel(['x']).create()", "Use complete, replies, requests, rules,"),
    ("session.add_human_message('x')", "Use session.add_user_turn(text)."),
    ("len(session)", "Use session.log() or session.messages()."),
    ("session.unpin('t1')", "Use session.history.rewind(revision) to"),
    ("session.history.load(session.log())", "Use session.extend(messages), or"),
    ("session.history.load('x.db')", "Use session.extend(messages), or"),
    ("session.history.list()", "Use session.log(), or"),
    ("session.history.list('x.db')", "Use session.log(), or"),
    ("ContextSession.load('x.db')", "Use ContextSession.open(path, session_id)."),
    ("ContextSession.history.search('x')", "Use ContextSession.open(path, id).history."),
    ("session.history.search()", "Use History.search(text, limit)."),
    ("session.history.search('x', k=3)", "Did you mean 'limit'?"),
    ("session.history.search('x', top_k=3)", "Did you mean 'limit'?"),
    ("session.history.forget()", "Use History.forget(resource_id)."),
    ("session.history.forget(id='t1')", "Did you mean 'resource_id'?"),
    ("session.explain()", "Use ContextSession.explain(resource_id)."),
    ("session.explain(id='t1')", "Did you mean 'resource_id'?"),
    ("session.history.retain(7)", "Use History.retain(*, days, max_bytes)."),
    ("session.history.retain(hours=7)", "Use days, max_bytes."),
    ("session.history.retain(max_turns=7)", "Use days, max_bytes."),
    ("model_of('gpt-5')", "Use model_of(client, name, *, provider,"),
    ("session.add_turn('user','x')", "Did you mean 'add_user_turn'?"),
    ("session.add_context('x')", "Use session.attach(item), or"),
    ("session.push('x')", "Use session.add_message(message)."),
    ("session.say('x')", "Use session.add_user_turn(text)."),
    ("session.user('x')", "Use session.add_user_turn(text)."),
    ("session.assistant('x')", "Use session.add_assistant_turn(text,"),
    ("session.add_tool_call('find',{})", "Use session.add_assistant_turn(text,"),
    ("session.respond('x')", "Use session.add_assistant_turn(text,"),
    ("session.set_max_tokens(100)", "Use ContextSession.open(path, session_id,"),
    ("session.set_model('gpt-5')", "Use ContextSession.open(path, session_id,"),
    ("session.resize(2000)", "Use ContextSession.open(path, session_id,"),
    ("session.get_state()", "Did you mean 'state'?"),
    ("session.get_tokens()", "Use session.window.total_tokens."),
    ("session.length", "Use session.window.total_tokens."),
    ("session.size", "Use session.window.total_tokens."),
    ("session.usage.input_tokens", "Use session.usage.spent."),
    ("session.usage.total", "Use session.usage.spent."),
    ("session.cost_usd", "Use session.usage.spent."),
    ("session.history.all()", "Use session.log(), or"),
    ("session.history.get('t1')", "Use session.log(), or"),
    ("session.history.last()", "Use session.log(), or"),
    ("session.history.save('x')", "Use session.history.export(), or"),
    ("session.history.diff()", "Use session.history.receipts()."),
    ("session.window.text", "Use window.all_turns()."),
    ("session.window.render()", "Use window.all_turns()."),
    ("session.window.count", "Did you mean 'counter'?"),
    ("session.window.add('x')", "Use the methods of the session, such as"),
    ("session.window.free", "Use window.max_tokens - window.total_tokens."),
    ("session.rules.get('x')", "Use add, list, remove, revoke."),
    ("session.rules.clear()", "Use remove(rule_id) and add(text)."),
    ("session.rules.update('t1:1','x')", "Use remove(rule_id) and add(text)."),
    ("session.rules.enable()", "Use add, list, remove, revoke."),
    ("session.documents.list()", "Use accompany, get, patch, save."),
    ("session.documents.delete('x')", "Use accompany, get, patch, save."),
    ("session.documents.put('x', {})", "Use accompany, get, patch, save."),
    ("session.compress(keep=3)", "Use target, query, expected_revision,"),
    ("session.compress(summariser=len)", "Use target, query, expected_revision,"),
    ("session.add_user_turn('x', metadata={'a':1})", "Use content, name, expected_revision,"),
    ("session.add_user_turn('x', 'ann')", "Use ContextSession.add_user_turn(content,"),
    ("session.add_user_turn('x', timestamp=3)", "Use content, name, expected_revision,"),
    ("session.add_assistant_turn(text='x')", "Did you mean 'content'?"),
    ("session.add_tool_turn('c1', 'x')", "Use ContextSession.add_tool_turn(content,"),
    ("session.add_tool_turn(tool_call_id='c1', result='x')", "Did you mean 'content'?"),
    ("session.pin()", "Use ContextSession.pin(resource_id, why,"),
    ("session.pin('t1', reason='x')", "Did you mean 'why'?"),
    ("session.messages[-1]", "Use a call: session.log() or session.messages()."),
]
"""An expression, and what its error says to write."""

IMPORTS = [
    ("from polycontext import Conversation", "Use ContextSession from polycontext."),
    ("from polycontext import SQLiteStore", "Import it from polycontext.polynomial.stores"),
    ("from polycontext import StrictChat", "Import it from polycontext.testing.strict."),
    ("from polycontext import Message", "Use Turn from polycontext."),
    ("from polycontext import ModelSummariser", "Did you mean 'ExtractiveSummariser'?"),
    ("from polycontext import count_tokens", "Use default_counter from polycontext.window."),
    ("from polycontext import compress", "Use project from polycontext, or"),
    ("from polycontext import session", "Use ContextSession from polycontext."),
    ("from polycontext import Client", "Use ContextSession from polycontext."),
    ("from polycontext import State", "Use ContextState from polycontext."),
    ("from polycontext import wrap_openai", "Use wrap from polycontext.adapters.openai,"),
    ("from polycontext import Meter", "Import it from polycontext.cost."),
    ("from polycontext import keep_last", "Import it from polycontext.linearity."),
    ("from polycontext import Rule", "Use session.rules, or keep_last from"),
    ("from polycontext.stores import SQLiteStore", "Use polycontext.polynomial.stores."),
    ("from polycontext.models import LiteLLMSummariser", "Did you mean 'OpenAISummariser'?"),
    ("from polycontext.models import OpenAISummarizer", "Did you mean 'OpenAISummariser'?"),
    ("from polycontext.machine import ContextMachine", "Use polycontext.polynomial.machine."),
    ("from polycontext.session import ContextSession", "Use ContextSession from polycontext."),
    ("from polycontext.agents import ContextSession", "Import it from polycontext."),
    ("from polycontext.agents import tool", "Use Tool from polycontext.agents."),
    ("from polycontext.agents import AgentExecutor", "Use Agent from polycontext.agents."),
    ("from polycontext.adapters import autogen", "Use polycontext.adapters.Bridge with a"),
    ("from polycontext.adapters.google import wrap", "Use polycontext.adapters.gemini or"),
    ("from polycontext.adapters.mistral import wrap", "Use polycontext.adapters.openai with the"),
    ("from polycontext.testing import StrictServer", "Import it from polycontext.testing.strict."),
    ("from polycontext.testing import FakeModel", "Use ScriptedModel from polycontext.testing."),
    ("from polycontext.cost import CostTracker", "Use Meter from polycontext.cost."),
    ("from polycontext.bulk import compress", "Use project from polycontext, or"),
    ("from polycontext.polynomial.stores import PostgresStore", "Use SQLiteStore from"),
    ("from polycontext.polynomial.stores import RedisStore", "Use SQLiteStore from"),
    ("from polycontext.postgresql import PostgresStore", "Use SQLiteStore from"),
    ("from polycontext.telemetry import Telemetry", "Did you mean 'CompressionTelemetry'?"),
    ("from polycontext.telemetry import instrument", "Use CompressionTelemetry."),
    ("from polycontext.window import Message", "Use Turn from polycontext."),
    ("from polycontext.pressure import Summarizer", "Did you mean 'Summariser'?"),
    ("from polycontext.linearity import Rule", "Use session.rules, or keep_last from"),
    ("from polycontext.pressure import LLMSummariser", "Did you mean 'Summariser'?"),
    ("import polycontext.langchain", "Use polycontext.adapters.langchain."),
    ("from polycontext import Memory", "Use ContextSession from polycontext."),
    ("import polycontext.openai", "Use polycontext.adapters.openai."),
    ("from polycontext.openai import wrap", "Use polycontext.adapters.openai."),
    ("from polycontext import openai", "Use polycontext.adapters.openai."),
    ("from polycontext.adapters import openai_wrap", "Use polycontext.adapters.openai."),
    ("from polycontext.adapters import crewai", "Use polycontext.adapters.Bridge with a"),
    ("from polycontext.adapters.crewai import wrap", "Use polycontext.adapters.Bridge with a"),
    ("from polycontext import Summariser", "Import it from polycontext.pressure."),
    ("from polycontext import Compressor", "Did you mean 'RowCompressor' of"),
    ("from polycontext import ContextManager", "Import it from polycontext.window."),
    ("from polycontext import Store", "Use SQLiteStore from"),
    ("from polycontext import Tokenizer", "Use TiktokenCounter or default_counter from"),
    ("from polycontext import Tool", "Import it from polycontext.agents."),
    ("from polycontext import tokens", "Use TiktokenCounter or default_counter from"),
    ("from polycontext import exceptions", "Use "),
    ("from polycontext import ContextWindowExceededError", "Did you mean 'ContextOverflowError'?"),
    ("from polycontext import truncate", "Use project from polycontext, or"),
    ("from polycontext import summarize", "Use project from polycontext, or"),
    ("from polycontext import create_session", "Use ContextSession from polycontext."),
    ("from polycontext import load_session", "Use ContextSession from polycontext."),
    ("from polycontext import wrap_anthropic", "Use wrap from polycontext.adapters.openai,"),
    ("from polycontext import OpenAISummariser", "Import it from polycontext.models."),
    ("from polycontext.utils import count_tokens", "Use default_counter from polycontext.window."),
    ("from polycontext.types import Message", "Use Turn from polycontext."),
    ("from polycontext.tokens import count", "Use TiktokenCounter or default_counter from"),
    ("from polycontext.exceptions import PolycontextError", "Use "),
    ("from polycontext.adapters import LangChainAdapter", "Use ContextMiddleware from"),
    ("from polycontext.agents import run_agent", "Use Agent from polycontext.agents."),
    ("from polycontext.agents import BaseTool", "Did you mean 'Tool'?"),
    ("from polycontext.agents import Runner", "Use Agent from polycontext.agents."),
    ("from polycontext.models import Model", "Import it from polycontext.agents."),
    ("from polycontext.cost import Usage", "Use Meter from polycontext.cost."),
]
"""An import, and what its error says."""


class Names(dict[str, Any]):
    """The public names of all packages, each loaded when it is used."""

    def __missing__(self, name: str) -> Any:
        return getattr(import_module(guesses.public_names()[name]), name)


@pytest.fixture
def names(tmp_path: Path) -> Names:
    """Return the names that the expressions use."""
    session = ContextSession(4000, counter=FAST)
    session.add_user_turn("Book me a train.")
    output = session.add_assistant_turn("Where to?")
    messages = [{"role": "user", "content": "Hello"}]
    return Names(session=session, output=output, messages=messages, path=tmp_path / "a.db")


@pytest.mark.parametrize(("expression", "words"), CALLS)
def test_a_wrong_name_or_call_says_what_to_write(names: Names, expression: str, words: str) -> None:
    """Of an attribute, a keyword, an argument or a subscript."""
    with pytest.raises((AttributeError, TypeError)) as wrong:
        eval(expression, {}, names)  # noqa: S307 - the table above
    assert words in str(wrong.value)
    assert getattr(wrong.value, "name", None) is None  # or Python adds a guess of its own


@pytest.mark.parametrize(("statement", "words"), IMPORTS)
def test_a_wrong_import_says_where_it_is(statement: str, words: str) -> None:
    """Of a name, a module or an adapter."""
    with pytest.raises(ImportError) as wrong:
        exec(statement, {})  # noqa: S102 - the table above
    assert words in str(wrong.value)


def test_no_guess_is_a_name_that_exists() -> None:
    """The table would never be read for it."""
    for kind, table in guesses.TABLES["attributes"].items():
        if kind[0].isupper() and kind not in ("SessionPart", "Rules", "Documents"):
            owner: Any = Names()[kind] if kind in guesses.public_names() else None
            for each in " ".join(table).split() if owner else ():
                assert each == "[]" or each.endswith("=") or each not in dir(owner), (kind, each)


def test_a_probe_finds_nothing() -> None:
    """A missing attribute is still missing to `hasattr`, and a property's own error is raised."""
    session = ContextSession(4000, counter=FAST)
    assert not hasattr(session, "chat")
    assert getattr(session.log, "chat", None) is None
    assert bool(session)
    with pytest.raises(AttributeError, match="FLYING"):
        _ = Flying(4000, counter=FAST).wings


class Flying(ContextSession):
    """A session with a property that fails."""

    @property
    def wings(self) -> str:
        """Fail."""
        raise AttributeError("FLYING")


def test_a_machine_is_made_with_a_window() -> None:
    """A number of tokens is refused at once, not by the first event."""
    size: Any = 8000
    with pytest.raises(InvalidOptionError, match="Use a ContextWindow, such as ContextWindow"):
        ContextMachine(size)
