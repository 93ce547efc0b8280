#!/bin/sh
# Keep a conversation from a shell: say something, print what a model answers, and go on from there the next time.
#
#   OPENAI_API_KEY=... examples/talk.sh "Where is my parcel?"
#
# Every command is a process of its own; what was said is on the disk between them. Needs curl and jq.
set -eu

: "${OPENAI_BASE_URL:=https://api.openai.com/v1}" "${MODEL:=gpt-5}" "${SESSION:=talk}" "${POLYCONTEXT_STORE:=talk.db}"
export POLYCONTEXT_STORE
said=$1

# Said again with its key, a command is done once: so the session is made, and told how to answer, by the first run only.
polycontext session new "$SESSION" --model "$MODEL" --idempotency-key new >&2
polycontext session append "$SESSION" --role system --idempotency-key rules "You answer in one sentence." >&2

polycontext session append "$SESSION" --role user "$said" >&2

# The body of a request goes out, the whole answer comes back in. Where curl fails the script ends here, and an error is no answer: nothing is taken in.
answer=$(polycontext session messages "$SESSION" --format openai --body "{\"model\": \"$MODEL\"}" |
    curl --silent --show-error --header "Authorization: Bearer $OPENAI_API_KEY" --header "Content-Type: application/json" \
        --data-binary @- "$OPENAI_BASE_URL/chat/completions")
printf '%s' "$answer" | polycontext session append "$SESSION" --format openai >&2

printf '%s' "$answer" | jq --raw-output '.choices[0].message.content'
