/**
 * The reference page of settings, made from their tables. The committed page is compared with this
 * by a test, which also writes it:
 * `npx vitest run --update=all src/settings/options/reference-page.test.ts`.
 */
import { clientVariables, type ClientVariable } from './client-variables.ts'
import { describeDefault, flagOf, hasFile, hasFlag, type Option } from './option.ts'
import { optionGroups } from './options.ts'

export function referencePage(): string {
  const parts = [introduction]
  for (const { name, entries } of optionGroups) {
    parts.push(`## ${name}`, ...entries.map(([key, entry]) => section(key, entry)))
  }
  parts.push(clientIntroduction, ...clientVariables.map(clientSection), configFileSection)
  return `${parts.map((part) => part.trim()).join('\n\n')}\n`
}

function section(key: string, entry: Option): string {
  const unit = entry.unit === null ? '' : ` (${entry.unit})`
  const places = hasFlag(entry)
    ? `- Flag \`${flagOf(key)}\`, config key \`${key}\``
    : '- A secret: only in the environment or a file'
  const file = hasFile(entry) ? [`- As a file: \`${entry.env}_FILE\``] : []
  const plain = entry.defaultText === undefined && entry.default !== null
  const defaultText = describeDefault(entry)
  return [
    `### \`${entry.env}\``,
    '',
    `${entry.summary}. ${entry.advice}`,
    '',
    places,
    ...file,
    `- Allowed: ${entry.kind.allowed}${unit}`,
    `- Default: ${plain ? `\`${defaultText}\`` : defaultText}`,
  ].join('\n')
}

function clientSection({ env, flag, summary, hasFile: mayBeFile }: ClientVariable): string {
  const file = mayBeFile ? [`- As a file: \`${env}_FILE\``] : []
  return [`### \`${env}\``, '', `${summary}.`, '', `- Flag \`${flag}\``, ...file].join('\n')
}

const clientIntroduction = `
## The server that a command talks to

Only commands use these two. [Commands](commands.md) says which ones. A server ignores them.
`

const introduction = `
# Settings

<!-- Made from src/settings/options; a test compares them. -->

Holdfast looks for a setting in four places and takes the first that it finds: the flag, the
environment, \`holdfast.config.ts\`, the default.

- An invalid value is an error, wherever it is. It is never replaced by a default. Spaces around a
  value are ignored.
- An unknown flag, config key or \`HOLDFAST_…\` variable is an error, with a suggestion if a known
  name is near.
- All errors are reported at once.
- An empty \`HOLDFAST_…\` variable is an error.
- Names such as \`GITHUB_TOKEN\` are shared with other programs. So an empty one counts as not
  set, and a misspelt one is **not noticed**. The start shows whether Holdfast uses the real
  GitHub or a sandbox.

Secrets have no flag, because every user of a machine can read command lines, and no config key.
Any secret \`X\` can be given as \`X_FILE\`: the path of a file that contains it. A file that is
missing, unreadable or empty is an error, and so is setting both.

Holdfast uses the real GitHub (mode **live**) if it has credentials (\`GITHUB_TOKEN\`, or
\`GITHUB_APP_ID\` with \`GITHUB_PRIVATE_KEY\`) and \`GITHUB_WEBHOOK_SECRET\`. Otherwise it is a
**sandbox**: GitHub is simulated inside Holdfast, and nothing leaves the machine. A database stays
in the mode of its first start.
`

/** What only a config file can set. */
const configFileSection = `
## The config file

\`holdfast.config.ts\` or \`holdfast.config.mts\` in the working directory, that is, the folder in
which the command is started, or the file named by \`--config\`. Other folders are not searched.
If both are there, that is an error, and so is a \`holdfast.config.js\`, \`.mjs\`, \`.cjs\`,
\`.cts\` or \`.json\` if neither is. A server reads the file at its start, so restart it after a
change. Node runs the file as it is, so its TypeScript
may have types, but no \`enum\` or \`namespace\`. It is always an ES module (\`import\`,
\`export\`), also in a package with \`"type": "commonjs"\`. So are the \`.ts\` files that it
imports by a relative path; write their ending. Its default export may have every config key
above, and these:

### \`runs\`

Run types by name. Without it there is one type, \`review\`, executed by remote workers. If the
file has \`review\`, what it leaves out keeps its default, including \`on\`, \`rerunOn\` and
\`when\` ([Webhooks](../guides/webhooks.md) shows them); \`on: {}\` turns its triggers off. Any
other type has no triggers unless \`on\` sets them: only claims start it. A type that is not in
the file can be claimed too; remote workers execute it, with the defaults.

- \`on\`, \`rerunOn\`: GitHub events with their actions; an empty list means every action. An
  event in \`on\` starts a run if the work on its commits is neither active nor done. An event in
  \`rerunOn\` always starts one; if one is active, the next starts when it ends. An event in both
  counts as \`rerunOn\`. The events are \`pull_request\`, \`pull_request_review\`,
  \`pull_request_review_comment\`, \`pull_request_review_thread\`, \`issue_comment\`,
  \`check_run\`, \`check_suite\` and \`push\`; any other event, and an action that GitHub does not
  have, is an error
- \`when\`: a function of [the event](../guides/webhooks.md#the-event-that-when-gets). An async
  function is an error. \`true\` starts a run; a text is the reason for not starting one
- \`by\`: lowest role that the sender needs in the repository: \`read\`, \`triage\`, \`write\`,
  \`maintain\` or \`admin\`. Holdfast asks GitHub for the role
- \`own\`: whether pull requests of Holdfast's own account start a run (default \`false\`)
- \`run\`: who executes its runs: a function, \`{ command: [...], env: [...] }\`, or \`'remote'\`
  (default), where workers lease them over HTTP. See
  [Let Holdfast execute runs](../guides/executing.md)
- \`concurrency\`: how many of its runs one process executes at a time (default 4). A higher
  number finishes a backlog sooner, but needs more memory
- \`timeoutMs\`: how many milliseconds one worker may work on a run (default 3600000); then the
  run fails
- \`pendingTimeoutMs\`: how many milliseconds a run may wait for a worker (default 3600000); then
  it fails with \`no_worker\`
- \`attempts\`: how many workers may be lost in one round before the run fails (default 3). A
  higher number helps on unreliable machines, but work that crashes its worker is repeated more
  often
- \`onNewer\`: what a newer run does to the active one: \`supersede\` (default for pull requests),
  \`queue\` (default for jobs) or \`skip\`
- \`anchor\`: \`{ per: 'subject' }\` (default) writes one comment for all runs of a pull request,
  \`{ per: 'run' }\` one for each run, \`false\` none. Jobs have none
- \`status\`: \`{ context, check }\`, or \`false\` for no commit status. The default of
  \`context\` is \`holdfast/TYPE\`; every type needs its own, and no type may have that of
  another. \`check\` (default \`true\`) also writes a check run with that name; only a GitHub App
  can do that
- \`publish\`: what else its runs may publish, \`{ channels, contexts, labels, approve }\`.
  Default: comments, and reviews that only comment. \`contexts\` and \`labels\` list the statuses,
  check runs and labels they may set (\`'ci/*'\` allows every name that begins with \`ci/\`) and
  allow the channels for them. \`approve: true\` allows reviews that approve or request changes.
  \`channels\`, if given, is the whole list of allowed channels. No run may publish under the
  context of a run type or under \`holdfast/\`
- \`permissions\`: what [the GitHub token of a run](../guides/workers.md#read-from-github) may do,
  by GitHub's own names and levels, such as \`{ contents: 'read', pull_requests: 'write' }\`.
  Default: \`contents\`, \`issues\` and \`pull_requests\`, each \`read\`. If given, it is the
  whole list. The GitHub App must have these permissions itself; \`holdfast doctor\`
  names those that are missing

### \`channels\`

By channel name (\`github-comment\`, \`github-status\`, \`github-check\`, \`github-label\`,
\`github-review\`): \`retry\`, when a failed delivery is sent again, \`{ maxRetries, initialMs,
factor, maxMs }\`. The first wait is \`initialMs\` (1000). Each wait is \`factor\` (2) times the
one before, but at most \`maxMs\` (900,000). After \`maxRetries\` the delivery is FAILED; without
\`maxRetries\` it is tried until its deadline.

### \`retention\`

After how many days things are removed; more days need more disk: \`finishedDays\` (30),
\`supersededDays\` (7), \`inboxDays\` (7, at least 4, because GitHub can send a webhook again for
3 days), \`auditDays\` (90).

### Example

\`\`\`ts
import { defineConfig } from 'holdfast'

export default defineConfig({
  port: 9000,
  runs: {
    review: {
      on: { pull_request: ['opened', 'reopened', 'ready_for_review', 'synchronize'] },
      when: (event) => event.payload.pull_request.user.type !== 'Bot' || 'bot author',
      timeoutMs: 1_800_000,
      status: { context: 'acme/review' },
    },
    docs: {
      onNewer: 'queue',
      anchor: false,
      status: { context: 'docs/job' },
    },
  },
  retention: { finishedDays: 14 },
})
\`\`\`
`
