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

# Count the files, lines, errors and names of the house against what was agreed.
house:
    uv run python .ci/house.py

# Run the tests; arguments go to pytest.
test *arguments:
    uv run --all-extras pytest {{ arguments }}

# Run the laws alone, with many examples.
laws:
    HYPOTHESIS_PROFILE=deep uv run pytest tests/laws

# Drive scripted tool loops through strict providers: [--seeds A-B] [--jobs N] [--results FILE] [--http] [--unbound].
strict *arguments:
    uv run --all-extras python -m tests.strict.loops {{ arguments }}

# Kill writers, fill disks, damage files, and print what became of the sessions in them: [--rounds SHARE] [--seed N].
faults *arguments:
    uv run --all-extras python -m tests.faults {{ arguments }}

# Break the code on purpose and count what the tests notice: [ROOM ...] [--sample N] [--again].
mutants *arguments:
    uv run --all-extras --group mutation python .ci/mutants.py {{ arguments }}

# Print the benchmarks.
bench *arguments:
    uv run python -m benchmarks {{ arguments }}

# Print what was promised of speed and size beside what is measured now: [ROW ...] [--turns N]; --help tells more.
budget *arguments:
    uv run python -m benchmarks.budget {{ arguments }}

# Measure what is left of recorded conversations where it is needed; --help tells the options.
retention *arguments:
    uv run python -m benchmarks.retention {{ arguments }}

# Measure another library over the same probes, in an environment of its own: NAME of its distribution.
retention-peer name *arguments:
    uv run --isolated --no-dev --with {{ name }} python -m benchmarks.retention peers --peer {{ name }} {{ arguments }}

# Write the contract of the props anew: a TypeScript declaration and a JSON Schema.
props:
    uv run python .ci/props_contract.py

# Write the JSON Schema of the AgentContext anew.
agent-schema:
    uv run python .ci/agent_schema.py

# Write the tables of docs/paths.md anew.
paths:
    uv run python .ci/paths_page.py

# Feed 100,000 mutated documents to the decoder of the AgentContext.
fuzz *arguments:
    uv run python -m benchmarks.fuzz_agent_context {{ arguments }}

# Run every example in the README, the docs and the docstrings.
docs:
    uv run pytest tests/test_docs.py

# Build the site with its API reference under build/site/html; a warning or a link that leads nowhere fails it.
docs-site:
    uv run --all-extras --group docs python .ci/docs_site.py

# Build the wheel, install it into an empty environment and look at it.
wheel:
    uv run pytest -m wheel tests/test_packaging.py

# Run the tests on the lowest direct versions, with few examples: the versions are asked here, not the laws.
lowest:
    HYPOTHESIS_PROFILE=mutation uv run --isolated --resolution lowest-direct --all-extras pytest -q -p no:cacheprovider --numprocesses auto -m "not wheel"

# Run everything that CI runs.
check:
    .ci/run
