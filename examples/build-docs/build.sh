#!/bin/sh
# Makes one page of each file in docs/. Holdfast runs it for every push: see holdfast.config.mts.
# Exit code 0 means that it succeeded, 78 that there was nothing to do, any other that it failed.
# The last lines of its output are shown when it fails.
set -eu

# Shown by `holdfast why`, and in the comment of a pull request. The build goes on if this fails.
report() {
  if command -v curl >/dev/null; then
    curl -sf -o /dev/null "$HOLDFAST_URL/v1/runs/$HOLDFAST_RUN_ID/status" \
      -H "authorization: Bearer $HOLDFAST_RUN_TOKEN" -H 'content-type: application/json' \
      -d "{\"status\":\"$1\"}" || echo "Holdfast did not take the status: $1"
  fi
}

[ -n "$(ls docs/*.md 2>/dev/null)" ] || exit 78
# The run as JSON: its commit, and what the claim gave as "input".
# The first "head_sha" in it is the run's; another one is that of the run before.
commit=$(grep -o '"head_sha":"[0-9a-f]*"' "$HOLDFAST_INPUT_FILE" | head -n 1 | cut -d '"' -f 4)
# Your checkout belongs here: git fetch && git checkout "$commit"

report 'building the pages'
rm -rf site && mkdir site
pages=0
for source in docs/*.md; do
  page="site/$(basename "$source" .md).html"
  {
    echo "<title>${DOCS_TITLE:-Documentation}</title>"
    sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's|^# \(.*\)|<h1>\1</h1>|' "$source"
  } >"$page"
  pages=$((pages + 1))
done
built="$pages page$([ "$pages" -eq 1 ] || echo s)"
report "built $built"

# For people, in Markdown, and for programs, in JSON.
printf 'Built %s of `%.7s`.\n' "$built" "$commit" >"$HOLDFAST_SUMMARY_FILE"
printf '{"pages": %s, "commit": "%s"}\n' "$pages" "$commit" >"$HOLDFAST_RESULT_FILE"
