/** Runs in the API: the requests to claim, lease and complete, and how a run is shown. */
import { z } from 'zod'
import { claimReasons } from '../domain/claim.ts'
import { outcomes, runStates, verdicts } from '../domain/run.ts'
import { listOf, paging, time } from './answers.ts'
import {
  anyJson,
  errorCode,
  fromQuery,
  httpUrl,
  id,
  instant,
  leaseMs,
  leaseToken,
  line,
  positive,
  repo,
  runType,
  sha,
  summary,
  text,
  waitMs,
} from './fields.ts'
import { noForm, pickedBy } from './forms.ts'
import { knownStep } from './step-fields.ts'

const claimCommon = {
  webhook_id: line(200)
    .optional()
    .describe("GitHub's delivery GUID. An event that was decided before is not a new event."),
  delivery_id: line(200).optional().describe('Another name for `webhook_id`.'),
  repo_id: positive.optional().describe("GitHub's numeric id of the repository."),
  event: line(100).optional().describe('Name of the event, such as `pull_request`.'),
  action: line(100).optional().describe('Action of the event, such as `synchronize`.'),
  sender: line(100).optional().describe('Login of the account that caused the event.'),
  event_at: instant
    .optional()
    .describe(
      "GitHub's time of the event, cut to whole seconds. It decides which of two heads is " +
        'newer. Without it, or if it is more than two seconds ahead of our clock, the order of ' +
        'arrival decides.',
    ),
  rerun: z.boolean().optional().describe('A person asked for a rerun.'),
  queue: z
    .boolean()
    .optional()
    .describe(
      'False: if it would be queued behind another run of its subject, it is stored as skipped, ' +
        'with the reason `busy`. Default: it is queued.',
    ),
  input: anyJson.optional().describe('Any JSON for the worker, at most 256 KB.'),
  lease: z
    .boolean()
    .optional()
    .describe('False leaves the run pending for a worker. Default: the claimer holds the lease.'),
  lease_ms: leaseMs
    .optional()
    .describe(
      "Length of the lease in milliseconds. Default: the server's setting. With `lease: " +
        'false` it is the length for a worker that names none.',
    ),
}

const otherSha = 'c2f41a7e0d9b8c3e5f6a1b2d4c7e8f90a1b2c3d4'

export const pullRequestClaim = z
  .strictObject({
    repo,
    pr: positive.describe('Number of the pull request.'),
    base_sha: sha.meta({
      examples: [otherSha],
      description: 'Commit the pull request is based on: 40 or 64 hex digits.',
    }),
    head_sha: sha.describe("Commit at the pull request's head: 40 or 64 hex digits."),
    before_sha: sha.optional().describe('What the head replaced: `before` of a synchronize event.'),
    type: runType.default('review').describe('The type of run.'),
    ...claimCommon,
  })
  .register(z.globalRegistry, { id: 'PullRequestClaim', title: 'Pull request' })

export const jobClaim = z
  .strictObject({
    key: line(500).meta({
      examples: ['nightly:2026-01-31'],
      description: 'What makes two claims the same work.',
    }),
    subject: line(500)
      .optional()
      .describe(
        'What the job is about. One run of a subject is active at a time. Default: ' + 'the key.',
      ),
    type: runType,
    repo: repo.optional(),
    sha: sha.optional().describe('Commit the job is about: 40 or 64 hex digits.'),
    ...claimCommon,
  })
  .register(z.globalRegistry, { id: 'JobClaim', title: 'Job' })

export const claimBody = pickedBy(z.union([pullRequestClaim, jobClaim]), (body) =>
  isJob(body) ? jobClaim : namesNothing(body) ? neither : pullRequestClaim,
)

const neither = noForm(
  'key',
  'is required for a job; a pull request needs repo, pr, base_sha and head_sha',
)

/** It has only what both forms have. A misspelt field is answered with the nearest right one. */
function namesNothing(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  return Object.keys(body).every((field) => field === 'type' || field in claimCommon)
}

/** Only a job has a key. Without one, a number names a pull request, whatever else is there. */
function isJob(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  return 'key' in body || (!('pr' in body) && ('subject' in body || 'sha' in body))
}

export const leaseBody = z.strictObject({
  worker: line(200).meta({
    examples: ['builder-1'],
    description: 'Name of the worker; shown to people.',
  }),
  types: z
    .array(runType)
    .min(1, 'must name at least one type')
    .max(100, 'must name at most 100 types')
    .optional()
    .describe(
      'Only runs of these types, 1 to 100 of them. Default: all that have no function and no ' +
        'command in the configuration.',
    ),
  run_id: id.optional().describe('Only this run.'),
  wait_ms: waitMs.optional(),
  lease_ms: leaseMs
    .optional()
    .describe('Length of the lease in milliseconds. Default: that of its claim or last holder.'),
  as_caller: z
    .boolean()
    .optional()
    .describe(
      'True: if the lease is lost, the run stays as it is for the next claim of its key, as if ' +
        'you had claimed it. Default: it goes back to `pending`.',
    ),
})

export const holderFields = {
  lease_token: leaseToken
    .optional()
    .describe('`lease.token` of the claim or lease. Required unless the bearer is a run token.'),
}

export const heartbeatBody = z
  .strictObject({
    ...holderFields,
    lease_ms: leaseMs
      .optional()
      .describe('New length of the lease in milliseconds. Default: as before.'),
    wait_ms: waitMs.optional(),
  })
  .optional()

export const releaseBody = z.strictObject(holderFields).optional()

/** What went wrong, as a holder reports it. */
export const workError = z.union([
  text(20_000),
  z.strictObject({
    code: errorCode,
    text: text(20_000).describe('For people.'),
  }),
])

export const completeBody = z.strictObject({
  ...holderFields,
  outcome: z.enum(outcomes).describe('How the work ended.'),
  verdict: z
    .enum(verdicts)
    .optional()
    .describe('What the work found, whatever its outcome. Default: none.'),
  summary: summary.optional(),
  description: text(2000).optional().describe('One sentence for a status.'),
  target_url: httpUrl.optional().describe('Where people read more: an http or https URL.'),
  result: anyJson.optional().describe('Any JSON for programs, at most 256 KB.'),
  error: workError.optional().describe('What went wrong. A plain text gets the code `failed`.'),
})

export const noFields = z.strictObject({}).optional()

export const runParams = z.strictObject({ id: id.describe('Id of the run.') })

export const runsQuery = z.strictObject({
  repo: repo.optional().describe('Only runs of this repository, `owner/name`.'),
  pr: fromQuery(positive).optional().describe('Only runs of this pull request.'),
  issue: fromQuery(positive).optional().describe('Only runs of this issue; there are none yet.'),
  task: id.optional().describe('Only runs of this task; there are none yet.'),
  state: z.enum(runStates).optional().describe('Only runs in this state.'),
  type: runType.optional().describe('Only runs of this type.'),
  key: line(500).optional().describe('Only runs with this key.'),
  head_sha: sha.optional().describe('Only runs on this head: 40 or 64 hex digits.'),
  ...paging,
})

const optionalText = z.string().nullable()

export const run = z
  .strictObject({
    id: z.string().describe('Id of the run; the same in every round.'),
    key: z.string().describe('What makes two claims the same work.'),
    type: z.string().describe('The type of run.'),
    subject: z.string().describe('What it is about: `pr-5`, or what the claim named.'),
    repo: optionalText.describe('The repository as `owner/name`, in lower case.'),
    pr: z.int().nullable().describe('Number of the pull request; null for a job.'),
    issue: z.int().nullable().describe('Always null so far.'),
    task_id: optionalText.describe('Always null so far.'),
    phase: optionalText.describe('Always null so far.'),
    base_sha: optionalText.describe('Commit the pull request is based on.'),
    head_sha: optionalText.describe("Commit at the pull request's head, or of the job."),
    state: z.enum(runStates).describe('Its state. The first three are active.'),
    attempt: z.int().describe('Counts the holders of this round, from 1.'),
    round: z.int().describe('Counts the decisions to do the work, from 1.'),
    fence: z.int().describe('Grows with every holder. A lower fence is older.'),
    superseded_by: optionalText.describe('Key of the run that took its place.'),
    created_at: time.describe('When it was claimed first.'),
    started_at: time.nullable().describe('When its current holder started.'),
    finished_at: time.nullable().describe('When this round ended.'),
    deadline_at: time.nullable().describe('When its holder has to finish.'),
    lease_expires_at: time
      .nullable()
      .describe('When the lease of its holder expires without a heartbeat; null without a holder.'),
    outcome: z.enum(outcomes).nullable().describe('How the work ended, as its holder reported.'),
    verdict: z.enum(verdicts).nullable().describe('What the work found.'),
    summary: optionalText.describe('Markdown for people.'),
    description: optionalText.describe('One sentence for a status.'),
    target_url: optionalText.describe('Where people read more.'),
    input: z.unknown().describe('What the claim gave.'),
    feedback: optionalText.describe('Always null so far.'),
    trigger: z
      .strictObject({
        event: optionalText.describe('Name of the event.'),
        action: optionalText.describe('Action of the event.'),
        sender: optionalText.describe('Login of the account that caused it.'),
      })
      .nullable()
      .describe('The event that led to this round.'),
    previous: z
      .strictObject({
        run_id: z.string().describe('Its id.'),
        head_sha: optionalText.describe('Its head.'),
        verdict: z.enum(verdicts).nullable().describe('What it found.'),
      })
      .nullable()
      .describe('The last finished run of the subject before this one.'),
    result: z.unknown().describe('Data from its holder, for programs.'),
    error: z
      .strictObject({
        code: z.string().describe('For programs.'),
        text: optionalText.describe('For people.'),
      })
      .nullable()
      .describe('Why it failed.'),
    anchor: z
      .strictObject({
        comment_id: z.int().describe("GitHub's id of the comment."),
        url: optionalText.describe('Where people see it.'),
      })
      .nullable()
      .describe('Its comment on GitHub; null until there is one.'),
    status_context: optionalText.describe('The context of its commit status; null if it has none.'),
  })
  .register(z.globalRegistry, { id: 'Run' })

export const lease = z
  .strictObject({
    token: z.string().describe('Send it as `lease_token`.'),
    expires_at: time.describe('When it expires without a heartbeat.'),
  })
  .register(z.globalRegistry, { id: 'Lease' })

export const claimed = z
  .strictObject({
    should_process: z
      .boolean()
      .describe('True: there is work; do it if you got a lease. False: do nothing.'),
    reason: z.enum(claimReasons).describe('Why, or why not.'),
    run_key: z.string().describe('What makes two claims the same work.'),
    superseded_run_keys: z.array(z.string()).describe('Keys of the runs that this one superseded.'),
    run: run.nullable().describe('The run; null when it is past its retention.'),
    lease: lease.nullable().describe('Your lease; null when you hold none.'),
    run_token: optionalText.describe(
      'A bearer token for this run only, for the program that does the work.',
    ),
  })
  .register(z.globalRegistry, { id: 'Claimed' })

export const leased = z
  .strictObject({
    run: run.describe('The run you hold now.'),
    lease: lease.describe('Your lease on it.'),
    run_token: z.string().describe('A bearer token for this run only.'),
    steps: z
      .array(knownStep)
      .describe(
        'The steps of this round so far: at most 1000, and fewer if their results are large. ' +
          '`PUT /v1/runs/{id}/steps/{name}` has the result of one.',
      ),
  })
  .register(z.globalRegistry, { id: 'Leased' })

export const renewed = z.strictObject({
  expires_at: time.describe('When the lease expires now.'),
})
export const runList = listOf(run)

export type RunView = z.infer<typeof run>
export type WorkError = z.infer<typeof workError>
export type ClaimBody = z.infer<typeof claimBody>
export type CompleteBody = z.infer<typeof completeBody>
export type RunsQuery = z.infer<typeof runsQuery>
export type RunList = z.infer<typeof runList>
export type ClaimedView = z.infer<typeof claimed>
export type LeaseBody = z.infer<typeof leaseBody>
export type LeasedView = z.infer<typeof leased>
export type HeartbeatBody = NonNullable<z.infer<typeof heartbeatBody>>
export type RenewedView = z.infer<typeof renewed>
export type ReleaseBody = NonNullable<z.infer<typeof releaseBody>>
