/** The part of the reference page that tells what only a config file can say. */

export const configFileSection = `
## The config file

\`holdfast.config.ts\` or \`holdfast.config.mts\` in the working directory, or the file named by
\`--config\`. Two of them side by side are an error. Node runs the file as it is, so its TypeScript
may hold types but no \`enum\` or \`namespace\`. It is an ES module (\`import\`, \`export\`), also
in a package of \`"type": "commonjs"\`, and so are the \`.ts\` files that it imports by a relative
path.
Its default export may hold every config key above, and these:

### \`runs\`

Run types by name. Without it there is one, \`review\`, executed by remote workers. A file that
names \`review\` keeps what it does not give: also \`on\`, \`rerunOn\` and \`when\`, which
[Webhooks](../guides/webhooks.md) shows; \`on: {}\` switches its triggers off. Any other type starts
by claims alone unless \`on\` says more. A type that is not listed is remote and has the defaults.

- \`on\`, \`rerunOn\`: GitHub events with their actions; an empty list counts every action. An event
  of \`on\` starts a run where the work on its commits is neither under way nor done. An event of
  \`rerunOn\` always starts one, for the first time or again; while one is active, the next follows
  its end. An event that both name counts as one of \`rerunOn\`. Known are
  \`pull_request\`, \`pull_request_review\`, \`pull_request_review_comment\`,
  \`pull_request_review_thread\`, \`issue_comment\`, \`check_run\`, \`check_suite\` and
  \`push\`; any other event or action is refused
- \`when\`: a function of
  [the event](../guides/webhooks.md#the-event-that-when-gets) that answers at once; true starts it,
  a text it returns is the reason for not starting
- \`by\`: least role of the sender: \`read\`, \`triage\`, \`write\`, \`maintain\` or \`admin\`;
  GitHub is asked
- \`own\`: whether pull requests of our own account start it (default \`false\`)
- \`run\`: \`'remote'\`, the default: workers lease its runs over HTTP
- \`timeoutMs\`: how long one holder may work (default 3600000). Shorter ends stuck work sooner
- \`pendingTimeoutMs\`: how long a run may wait for a worker (default 3600000); then it fails with
  \`no_worker\`
- \`attempts\`: holders that may be lost in one round (default 3). More survives flaky machines and
  repeats work that kills them
- \`onNewer\`: what a newer run does to the active one: \`supersede\` (default for pull requests),
  \`queue\` (default for jobs) or \`skip\`
- \`anchor\`: \`{ per: 'subject' }\` (default) keeps one comment for all runs of a pull request,
  \`{ per: 'run' }\` one for each, \`false\` none. Jobs have none
- \`status\`: \`{ context, check }\`, or \`false\` for no commit status. \`context\` is by default
  \`holdfast/TYPE\`; no two types may share one. \`check\` (default \`true\`) writes a check run of
  that name as well, which only an App may
- \`publish\`: what its runs may publish beside that, \`{ channels, contexts, labels, approve }\`.
  Left out: comments, and reviews that only comment. \`contexts\` and \`labels\` list the statuses,
  check runs and labels they may set (\`'ci/*'\` allows all that begin so) and allow their channels;
  \`approve: true\` lets reviews approve or request changes. \`channels\`, when given, is the whole
  list of channels. No run publishes under a context of a run type or under \`holdfast/\`

### \`channels\`

By channel name (\`github-comment\`, \`github-status\`, \`github-check\`,
\`github-label\`, \`github-review\`): \`retry\`, when something that failed is
sent again, \`{ maxRetries, initialMs, factor, maxMs }\`. Each wait is \`factor\` (2)
times the one before, from \`initialMs\` (1000) up to \`maxMs\` (900,000). After
\`maxRetries\` it has FAILED; without it, it is tried until the deadline.

### \`retention\`

Days after which things are removed; longer costs disk and remembers more: \`finishedDays\` (30),
\`supersededDays\` (7), \`inboxDays\` (7, at least 4: for 3 days a delivery
can be sent again, by hand or by catch-up), \`auditDays\` (90).

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
