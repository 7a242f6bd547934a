#!/bin/sh
# What `holdfast exec` runs: reports how far it is, does the work, and leaves a summary.
# Exit code 0 means that the work succeeded, 78 that there was nothing to do.
set -eu

report() {
  curl -sf -o /dev/null "$HOLDFAST_URL/v1/runs/$HOLDFAST_RUN_ID/status" \
    -H "authorization: Bearer $HOLDFAST_RUN_TOKEN" -H 'content-type: application/json' \
    -d "{\"status\":\"$1\"}"
}

report 'reading the changes'
# Your own tool belongs here. The run, with its commits, is in the file $HOLDFAST_INPUT_FILE.
# The first "head_sha" in it is the run's; another one is that of the run before.
head=$(grep -o '"head_sha":"[0-9a-f]*"' "$HOLDFAST_INPUT_FILE" | head -n 1 | cut -d '"' -f 4)

printf '## Review\n\nNo findings in %.7s.\n' "$head" >"$HOLDFAST_SUMMARY_FILE"
