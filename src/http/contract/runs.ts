/** Runs on the wire: what claims, leases and completions say, and how a run is shown. */
import { z } from 'zod'
import { claimReasons } from '../../domain/claim.ts'
import { outcomes, runStates, verdicts } from '../../domain/run.ts'
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
  text,
  waitMs,
} from './fields.ts'
import { pickedBy } from './forms.ts'

const claimCommon = {
  webhook_id: line(200).optional().describe('The delivery that led to this claim.'),
  delivery_id: line(200).optional().describe('Another name for `webhook_id`.'),
  repo_id: positive.optional().describe("GitHub's numeric id of the repository."),
  event: line(100).optional().describe('Name of the event, such as `pull_request`.'),
  action: line(100).optional().describe('Action of the event, such as `synchronize`.'),
  sender: line(100).optional().describe('Login of who caused the event.'),
  event_at: instant.optional().describe("GitHub's time of the event."),
  rerun: z.boolean().optional().describe('A person asks for it to be done again.'),
  input: anyJson.optional().describe('Any JSON for the one who does the work.'),
  lease: z.boolean().optional().describe('False leaves the run pending for a worker.'),
  lease_ms: leaseMs.optional(),
}

export const pullRequestClaim = z
  .strictObject({
    repo,
    pr: positive,
    base_sha: sha,
    head_sha: sha,
    before_sha: sha.optional().describe('What the head replaced: `before` of a synchronize event.'),
    type: runType.default('review'),
    ...claimCommon,
  })
  .register(z.globalRegistry, { id: 'PullRequestClaim' })

export const jobClaim = z
  .strictObject({
    key: line(500).describe('What makes two claims the same work.'),
    subject: line(500).optional().describe('What the job is about; its key when not given.'),
    type: runType,
    repo: repo.optional(),
    sha: sha.optional(),
    ...claimCommon,
  })
  .register(z.globalRegistry, { id: 'JobClaim' })

export const claimBody = pickedBy(z.union([pullRequestClaim, jobClaim]), (body) =>
  isJob(body) ? jobClaim : pullRequestClaim,
)

function isJob(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  return 'key' in body || 'subject' in body || 'sha' in body
}

export const leaseBody = z.strictObject({
  worker: line(200).describe('Who asks; shown to people.'),
  types: z
    .array(runType)
    .min(1, 'must name at least one type')
    .max(100, 'must name at most 100 types')
    .optional(),
  run_id: id.optional().describe('Only this run.'),
  wait_ms: waitMs.optional(),
  lease_ms: leaseMs.optional(),
})

const holder = {
  lease_token: leaseToken.optional().describe('Required unless the bearer is a run token.'),
}

export const heartbeatBody = z
  .strictObject({ ...holder, lease_ms: leaseMs.optional(), wait_ms: waitMs.optional() })
  .optional()

export const releaseBody = z.strictObject(holder).optional()

export const completeBody = z.strictObject({
  ...holder,
  outcome: z.enum(outcomes),
  verdict: z.enum(verdicts).optional(),
  summary: text(200_000).optional().describe('Markdown for people.'),
  description: text(2000).optional().describe('One sentence for a status.'),
  target_url: httpUrl.optional(),
  result: anyJson.optional().describe('Any JSON for programs.'),
  error: z
    .union([
      text(20_000),
      z.strictObject({
        code: errorCode,
        text: text(20_000),
      }),
    ])
    .optional()
    .describe('A plain text has the code `failed`.'),
})

export const noFields = z.strictObject({}).optional()

export const runParams = z.strictObject({ id })

export const runsQuery = z.strictObject({
  repo: repo.optional(),
  pr: fromQuery(positive).optional(),
  issue: fromQuery(positive).optional(),
  task: id.optional(),
  state: z.enum(runStates).optional(),
  type: runType.optional(),
  key: line(500).optional(),
  head_sha: sha.optional(),
  ...paging,
})

const optionalText = z.string().nullable()

export const run = z
  .strictObject({
    id: z.string(),
    key: z.string(),
    type: z.string(),
    subject: z.string(),
    repo: optionalText,
    pr: z.int().nullable(),
    issue: z.int().nullable(),
    task_id: optionalText,
    phase: optionalText,
    base_sha: optionalText,
    head_sha: optionalText,
    state: z.enum(runStates),
    attempt: z.int(),
    round: z.int(),
    fence: z.int(),
    superseded_by: optionalText,
    created_at: time,
    started_at: time.nullable(),
    finished_at: time.nullable(),
    deadline_at: time.nullable(),
    outcome: z.enum(outcomes).nullable(),
    verdict: z.enum(verdicts).nullable(),
    summary: optionalText,
    description: optionalText,
    target_url: optionalText,
    input: z.unknown(),
    feedback: optionalText,
    trigger: z
      .strictObject({ event: optionalText, action: optionalText, sender: optionalText })
      .nullable(),
    previous: z
      .strictObject({
        run_id: z.string(),
        head_sha: optionalText,
        verdict: z.enum(verdicts).nullable(),
      })
      .nullable(),
    result: z.unknown(),
    error: z.strictObject({ code: z.string(), text: optionalText }).nullable(),
    anchor: z.strictObject({ comment_id: z.int().nullable(), url: optionalText }),
    status_context: optionalText,
  })
  .register(z.globalRegistry, { id: 'Run' })

export const lease = z
  .strictObject({ token: z.string(), expires_at: time })
  .register(z.globalRegistry, { id: 'Lease' })

export const claimed = z
  .strictObject({
    should_process: z.boolean(),
    reason: z.enum(claimReasons),
    run_key: z.string(),
    superseded_run_keys: z.array(z.string()),
    run: run.nullable(),
    lease: lease.nullable(),
    run_token: optionalText,
  })
  .register(z.globalRegistry, { id: 'Claimed' })

export const leased = z
  .strictObject({ run, lease, run_token: z.string() })
  .register(z.globalRegistry, { id: 'Leased' })

export const renewed = z.strictObject({ expires_at: time })
export const runList = listOf(run)

export type RunView = z.infer<typeof run>
export type ClaimBody = z.infer<typeof claimBody>
export type CompleteBody = z.infer<typeof completeBody>
export type RunsQuery = z.infer<typeof runsQuery>
