/** Deliveries on the wire: what has to leave, where it stands, what became of each try. */
import { z } from 'zod'
import { givenContents } from '../../channels/contents.ts'
import { githubChannels } from '../../channels/github-channels.ts'
import { attemptOutcomes, deliveryStatuses, deliveryWaits } from '../../domain/outbox/delivery.ts'
import { listOf, paging, time } from './answers.ts'
import { id, leaseToken, line, text } from './fields.ts'
import { pickedBy } from './forms.ts'

/** What every run shows without being asked to. */
export const reservedNames: readonly string[] = ['anchor', 'status', 'check']

export const ownDeliveryParams = z.strictObject({
  id: id.describe('Id of the run.'),
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9_.:-]{1,100}$/,
      'must be 1 to 100 letters, digits, underscores, dots, colons or hyphens',
    )
    .describe(
      'What the run calls it, the same in every repeat: 1 to 100 of `A-Z a-z 0-9 _ . : -`, other ' +
        'than `anchor`, `status` and `check`.',
    ),
})

const channelName = z.enum(githubChannels)

const holder = {
  lease_token: leaseToken
    .optional()
    .describe('`lease.token` of the claim or lease. A run token, admin and operator need none.'),
}

const where = 'Where it is published.'
const comment = givenContents['github-comment']
  .safeExtend({ channel: z.literal('github-comment').describe(where), ...holder })
  .register(z.globalRegistry, { id: 'OwnComment', title: 'Comment' })
const status = givenContents['github-status']
  .safeExtend({ channel: z.literal('github-status').describe(where), ...holder })
  .register(z.globalRegistry, { id: 'OwnStatus', title: 'Commit status' })
const check = givenContents['github-check']
  .safeExtend({ channel: z.literal('github-check').describe(where), ...holder })
  .register(z.globalRegistry, {
    id: 'OwnCheck',
    title: 'Check run',
    examples: [
      {
        lease_token: 'hfl_…',
        channel: 'github-check',
        name: 'acme/lint',
        status: 'completed',
        conclusion: 'success',
        title: 'Nothing found',
      },
    ],
  })
const label = givenContents['github-label']
  .safeExtend({ channel: z.literal('github-label').describe(where), ...holder })
  .register(z.globalRegistry, { id: 'OwnLabel', title: 'Label' })
const review = givenContents['github-review']
  .safeExtend({ channel: z.literal('github-review').describe(where), ...holder })
  .register(z.globalRegistry, { id: 'OwnReview', title: 'Review' })

const ownForms: Readonly<Record<string, z.ZodType>> = {
  'github-comment': comment,
  'github-status': status,
  'github-check': check,
  'github-label': label,
  'github-review': review,
}
const noForm = z.looseObject({ channel: channelName })

export const ownDeliveryBody = pickedBy(
  z.discriminatedUnion('channel', [comment, status, check, label, review]),
  (body) => {
    const channel = (body as { readonly channel?: unknown } | null | undefined)?.channel
    const known = typeof channel === 'string' && Object.hasOwn(ownForms, channel)
    return known ? (ownForms[channel] ?? noForm) : noForm
  },
)
export type OwnDeliveryBody = z.infer<typeof ownDeliveryBody>

export const deliveryParams = z.strictObject({ id: id.describe('Id of the delivery.') })

export const deliveriesQuery = z.strictObject({
  status: z.enum(deliveryStatuses).optional().describe('Only with this status.'),
  wait: z.enum(deliveryWaits).optional().describe('Only open ones that wait for this.'),
  channel: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be the name of a channel, such as github-comment')
    .optional()
    .describe('Only on this channel, such as `github-comment`.'),
  run: id.optional().describe('Only of this run.'),
  task: id.optional().describe('Only of this task; there are none yet.'),
  ...paging,
})

export const retryManyBody = z
  .strictObject({
    status: z
      .enum(['FAILED', 'SKIPPED'])
      .optional()
      .describe('Which ones are sent again. Default: `FAILED`.'),
    channel: deliveriesQuery.shape.channel,
    run: deliveriesQuery.shape.run,
  })
  .optional()

export const retried = z.strictObject({
  count: z.int().describe('How many are sent again: at most 1000 at a time.'),
})

export const skipBody = z.strictObject({
  reason: text(200)
    .refine((value) => value.trim() !== '', 'must not be empty')
    .meta({ examples: ['The pull request is gone.'] })
    .describe('Why, for people: 1 to 200 characters.'),
})

export const confirmBody = z
  .strictObject({
    provider_message_id: line(200)
      .optional()
      .describe("The other side's id of it, such as a comment's. Default: the one known."),
  })
  .optional()

const optionalText = z.string().nullable()
const trouble = z.strictObject({
  code: z.string().describe('For programs.'),
  text: optionalText.describe('For people.'),
})

const deliveryFields = {
  id: z.string().describe('Our own id of it.'),
  channel: z.string().describe('Where it goes, such as `github-comment`.'),
  kind: z
    .enum(['state', 'message'])
    .describe('A state shows how things are, its newest version counts; a message arrives once.'),
  name: z.string().describe('`anchor`, `status`, `check`, or what its run called it.'),
  target: z.string().describe('What it is about: `acme/widgets#5`, or a commit and its context.'),
  run_id: optionalText.describe('The run that speaks; null for a message that is no run’s.'),
  task_id: optionalText.describe('Always null so far.'),
  round: z.int().describe('Of the run.'),
  version: z
    .strictObject({
      fence: z.int().describe('The claim it speaks for.'),
      seq: z.int().describe('Counts its versions.'),
    })
    .describe('A higher fence, then a higher seq, is newer.'),
  status: z.enum(deliveryStatuses).describe('Open while it is `PENDING`.'),
  wait: z.enum(deliveryWaits).nullable().describe('What an open one waits for.'),
  reason: optionalText.describe('Why it failed or was skipped.'),
  due_at: time
    .nullable()
    .describe('When there is next something to do; null while it waits for another one.'),
  tries: z.int().describe('Tries of this version that came to nothing.'),
  error: trouble.nullable().describe('What went wrong the last time.'),
  in_doubt: z.boolean().describe('A try ended without an answer: it may have arrived.'),
  settling: z.boolean().describe('Something may still arrive late; it is looked at again.'),
  provider_message_id: optionalText.describe("The other side's id of it."),
  url: optionalText.describe('Where people see it.'),
  created_at: time.describe('When it was wanted first.'),
  updated_at: time.describe('When its newest version was wanted.'),
  sent_at: time.nullable().describe('When a version of it was last sent.'),
  closed_at: time.nullable().describe('When it was sent, failed or skipped.'),
  deadline_at: time.describe('Not sent by then, it fails. Time spent blocked does not count.'),
}

export const delivery = z
  .strictObject(deliveryFields)
  .register(z.globalRegistry, { id: 'Delivery' })

export const ownDelivery = z
  .strictObject({
    ...deliveryFields,
    already: z.boolean().describe('It was published before; nothing was done.'),
  })
  .register(z.globalRegistry, { id: 'OwnDelivery' })

const attempt = z.strictObject({
  id: z.string().describe('Our own id of the try.'),
  action: z.enum(['create', 'edit', 'remove']).describe('What was to be done.'),
  version: deliveryFields.version.describe('The version it carried.'),
  started_at: time.describe('When it was stored, before the request left.'),
  ended_at: time.nullable().describe('When its outcome was known; null until then.'),
  outcome: z.enum(attemptOutcomes).nullable().describe('What became of it.'),
  late: z.boolean().describe('Its outcome came after somebody else had taken over.'),
  error: trouble.nullable().describe('What went wrong.'),
  http_status: z.int().nullable().describe('The status of the answer.'),
  request_id: optionalText.describe('Ours, sent along as `x-request-id`.'),
  github_request_id: optionalText.describe("GitHub's, for its support."),
  provider_message_id: optionalText.describe('What it made or changed.'),
})

export const deliveryWithAttempts = z
  .strictObject({
    ...deliveryFields,
    content: z.unknown().describe('What it should show, in the form its channel keeps it in.'),
    attempts: z.array(attempt).describe('The last 100 tries, newest first.'),
  })
  .register(z.globalRegistry, { id: 'DeliveryWithAttempts' })

export const deliveryList = listOf(delivery)

const window = z.strictObject({
  used: z.int().describe('Writes in the last of them.'),
  progress: z.int().describe('Edits among them that only showed progress: at most half.'),
  limit: z.int().nullable().describe('How many are allowed; null when it is off.'),
})

export const budgetParams = z.strictObject({
  identity: z
    .string()
    .regex(/^[a-z]{1,32}:[\w:.-]{1,160}$/)
    .describe('As `GET /v1/budgets` lists it.'),
})

export const budget = z
  .strictObject({
    identity: z.string().describe('Who writes: an installation, or an account.'),
    blocked_until: time.nullable().describe('GitHub said not to ask before then.'),
    blocked_reason: optionalText.describe('What GitHub said.'),
    last_write_at: time.nullable().describe('When it last wrote.'),
    minute: window.describe('The last 60 seconds.'),
    hour: window.describe('The last 60 minutes.'),
    spacing_ms: z.int().describe('Smallest gap between two writes, milliseconds; 0 is off.'),
  })
  .register(z.globalRegistry, { id: 'Budget' })

export const budgetList = z.strictObject({
  items: z.array(budget).describe('One for each identity that ever wrote.'),
})

export type DeliveryView = z.infer<typeof delivery>
export type DeliveryWithAttemptsView = z.infer<typeof deliveryWithAttempts>
export type DeliveriesQuery = z.infer<typeof deliveriesQuery>
export type BudgetView = z.infer<typeof budgetList>['items'][number]
