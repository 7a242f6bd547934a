/** Deliveries in the API: what has to be sent, its state, and how each attempt ended. */
import { z } from 'zod'
import type { ChannelName, GivenContent } from '../channels/github-channels.ts'
import { githubChannels, githubDeclarations, publishForms } from '../channels/github-channels.ts'
import type { PublishForm } from '../channels/on-github.ts'
import { attemptOutcomes, deliveryStatuses, deliveryWaits } from '../domain/outbox/delivery.ts'
import { listOf, paging, time } from './answers.ts'
import { id, leaseToken, line, text } from './fields.ts'
import { pickedBy } from './forms.ts'

/** Names of what Holdfast publishes for every run itself: `anchor`, `status` and `check`. */
export const reservedNames: readonly string[] = githubDeclarations.flatMap(
  ({ announcement }) => announcement?.name ?? [],
)

export const ownDeliveryParams = z.strictObject({
  id: id.describe('Id of the run.'),
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9_.:-]{1,100}$/,
      'must be 1 to 100 letters, digits, underscores, dots, colons or hyphens',
    )
    .describe(
      "The run's name for it, the same in every repeat: 1 to 100 of `A-Z a-z 0-9 _ . : -`, " +
        'except `anchor`, `status` and `check`.',
    ),
})

const channelName = z.enum(githubChannels)

const holder = {
  lease_token: leaseToken
    .optional()
    .describe('`lease.token` of the claim or lease. A run token, admin and operator need none.'),
}

/** One request form per channel: the channel's own fields, and those of every request. */
const ownForms = Object.fromEntries(
  githubChannels.map((channel) => {
    const { form, docs } = publishForms[channel] as PublishForm
    const common = { channel: z.literal(channel).describe('Where it is published.'), ...holder }
    return [channel, form.safeExtend(common).register(z.globalRegistry, docs)]
  }),
)
const noForm = z.looseObject({ channel: channelName })

export type OwnDeliveryBody = {
  readonly [C in ChannelName]: GivenContent<C> & {
    readonly channel: C
    readonly lease_token?: string | undefined
  }
}[ChannelName]

const [firstForm = noForm, ...otherForms] = Object.values(ownForms)
const anyForm: unknown = z.discriminatedUnion('channel', [firstForm, ...otherForms])

export const ownDeliveryBody = pickedBy(anyForm as z.ZodType<OwnDeliveryBody>, (body) => {
  const channel = (body as { readonly channel?: unknown } | null | undefined)?.channel
  const isKnown = typeof channel === 'string' && Object.hasOwn(ownForms, channel)
  return isKnown ? (ownForms[channel] ?? noForm) : noForm
})

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
      .describe(
        "The id that GitHub gave it, such as a comment's. Default: the id that is " + 'known.',
      ),
  })
  .optional()

const optionalText = z.string().nullable()
const trouble = z.strictObject({
  code: z.string().describe('For programs.'),
  text: optionalText.describe('For people.'),
})

const deliveryFields = {
  id: z.string().describe('Id of the delivery.'),
  channel: z.string().describe('Where it goes, such as `github-comment`.'),
  kind: z
    .enum(['state', 'message'])
    .describe(
      'A `state` says how its target should look; only the newest version counts. A ' +
        '`message` arrives once.',
    ),
  name: z.string().describe('`anchor`, `status`, `check`, or what its run called it.'),
  target: z.string().describe('What it is about: `acme/widgets#5`, or a commit and its context.'),
  run_id: optionalText.describe('The run that publishes it; null for a message without a run.'),
  type: optionalText.describe('The type of that run; null if there is none.'),
  task_id: optionalText.describe('Always null so far.'),
  round: z.int().describe('The round of the run.'),
  version: z
    .strictObject({
      fence: z.int().describe('The fence of the claim that it belongs to.'),
      seq: z.int().describe('Counts its versions.'),
    })
    .describe('A higher fence, then a higher seq, is newer.'),
  status: z.enum(deliveryStatuses).describe('Open while it is `PENDING`.'),
  wait: z.enum(deliveryWaits).nullable().describe('What an open one waits for.'),
  reason: optionalText.describe('Why it failed or was skipped.'),
  due_at: time
    .nullable()
    .describe('When the next step is due; null while it waits for another delivery.'),
  tries: z
    .int()
    .describe(
      'How many attempts of this version failed; 0 when the first one succeeded. Every attempt ' +
        'is in `attempts`.',
    ),
  error: trouble.nullable().describe('What went wrong in the last attempt.'),
  in_doubt: z.boolean().describe('An attempt ended without an answer: it may have arrived.'),
  settling: z
    .boolean()
    .describe('A late request may still change the target, so it is read again.'),
  provider_message_id: optionalText.describe('The id that GitHub gave it.'),
  url: optionalText.describe('Where people see it.'),
  created_at: time.describe('When its first version was made.'),
  updated_at: time.describe('When its newest version was made.'),
  sent_at: time.nullable().describe('When a version of it was last sent.'),
  closed_at: time.nullable().describe('When it was sent, failed or skipped.'),
  deadline_at: time.describe(
    'If it is not sent by then, it fails. Time spent blocked does not ' + 'count.',
  ),
}

export const delivery = z
  .strictObject(deliveryFields)
  .register(z.globalRegistry, { id: 'Delivery' })

export const ownDelivery = z
  .strictObject({
    ...deliveryFields,
    already: z.boolean().describe('It was published before; nothing changed.'),
  })
  .register(z.globalRegistry, { id: 'OwnDelivery' })

const attempt = z.strictObject({
  id: z.string().describe('Id of the attempt.'),
  action: z.enum(['create', 'edit', 'remove']).describe('What it was meant to do.'),
  version: deliveryFields.version.describe('The version it carried.'),
  started_at: time.describe('When it was stored, before the request left.'),
  ended_at: time.nullable().describe('When its outcome was known; null until then.'),
  outcome: z.enum(attemptOutcomes).nullable().describe('How it ended.'),
  late: z.boolean().describe('Its outcome came after its lease was lost.'),
  error: trouble.nullable().describe('What went wrong.'),
  http_status: z.int().nullable().describe('The status of the answer.'),
  request_id: optionalText.describe('Our id of the request, sent as `x-request-id`.'),
  github_request_id: optionalText.describe("GitHub's id of the request, for its support."),
  provider_message_id: optionalText.describe('What it made or changed.'),
})

export const deliveryWithAttempts = z
  .strictObject({
    ...deliveryFields,
    content: z.unknown().describe('What it should show, in the form that its channel stores.'),
    attempts: z.array(attempt).describe('The last 100 attempts, newest first.'),
  })
  .register(z.globalRegistry, { id: 'DeliveryWithAttempts' })

export const deliveryList = listOf(delivery)

const window = z.strictObject({
  used: z.int().describe('Writes in this time.'),
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
    blocked_until: time.nullable().describe('GitHub asked us to wait until then.'),
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
export type BudgetList = z.infer<typeof budgetList>
export type DeliveryList = z.infer<typeof deliveryList>
export type OwnDeliveryView = z.infer<typeof ownDelivery>
export type RetryManyBody = NonNullable<z.infer<typeof retryManyBody>>
export type RetriedView = z.infer<typeof retried>
export type SkipBody = z.infer<typeof skipBody>
export type ConfirmBody = NonNullable<z.infer<typeof confirmBody>>
