/**
 * The webhooks that GitHub would send about many pull requests: each is opened and then pushed to,
 * with increasing times and chained commits. Some webhooks are sent twice, with the same GUID or
 * another one, and arrive slightly out of order. The same seed gives the same plan.
 */
import { createHash, createHmac } from 'node:crypto'
import { createRequire } from 'node:module'
import type { Below } from '../seed.ts'

export const webhookSecret = 'a-webhook-secret-for-chaos'

/** One event. GitHub may send several webhooks about it. */
export interface PlannedEvent {
  readonly pr: number
  /** The number of the event in its pull request, from 0. */
  readonly step: number
  readonly baseSha: string
  readonly headSha: string
  readonly guids: readonly string[]
}

export interface PlannedDelivery {
  readonly guid: string
  readonly event: PlannedEvent
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

const openAtOnce = 12
const stepsMax = 6
/** How many webhooks may overtake one. */
const disorder = 8

interface PullRequest {
  readonly pr: number
  readonly steps: number
  readonly sent: number
}

/** Endless: some pull requests end and others begin, until `finish`. */
export class WebhookPlan {
  readonly events: PlannedEvent[] = []
  readonly #below: Below
  readonly #open: PullRequest[] = []
  readonly #ahead: PlannedDelivery[] = []
  #pullRequests = 0
  #finishing = false

  constructor(below: Below) {
    this.#below = below
  }

  /** Ends new events. Webhooks that are not sent yet are still sent. */
  finish(): void {
    this.#finishing = true
  }

  /** The next webhook; undefined when all are sent. */
  next(): PlannedDelivery | undefined {
    while (!this.#finishing && this.#ahead.length < disorder) this.#ahead.push(...this.#happen())
    return this.#ahead.splice(this.#below(this.#ahead.length), 1)[0]
  }

  #happen(): PlannedDelivery[] {
    while (this.#open.length < openAtOnce) {
      const pr = ++this.#pullRequests
      this.#open.push({ pr, steps: 1 + this.#below(stepsMax), sent: 0 })
    }
    const place = this.#below(this.#open.length)
    const [of] = this.#open.splice(place, 1) as [PullRequest]
    const sent = of.sent + 1
    if (sent < of.steps) this.#open.push({ ...of, sent })
    const guids = [`${of.pr}-${of.sent}-a`]
    if (this.#below(6) === 0) guids.push(`${of.pr}-${of.sent}-b`)
    const [baseSha, headSha] = [shaOf('base'), headOf(of.pr, of.sent)]
    const event = { pr: of.pr, step: of.sent, baseSha, headSha, guids }
    this.events.push(event)
    const body = bodyOf(event)
    const doubled = this.#below(6) === 0 ? guids.slice(0, 1) : []
    return [...guids, ...doubled].map((guid) => {
      return { guid, event, body, headers: headersOf(guid, body) }
    })
  }
}

const shaOf = (text: string): string => createHash('sha1').update(text).digest('hex')
const headOf = (pr: number, step: number): string => shaOf(`head ${pr} ${step}`)

interface Example {
  readonly name: string
  readonly examples: readonly Record<string, object>[]
}

const examples = createRequire(import.meta.url)('@octokit/webhooks-examples') as Example[]

/** GitHub's own example of such a payload, about 20 KB, with our numbers, commits and times. */
function bodyOf({ pr, step, baseSha, headSha }: PlannedEvent): Buffer {
  const action = step === 0 ? 'opened' : 'synchronize'
  const example = examples
    .find(({ name }) => name === 'pull_request')
    ?.examples.find((payload) => (payload['action'] as unknown) === action)
  const recorded = example?.['pull_request'] as Readonly<Record<string, object>>
  const pullRequest = {
    ...recorded,
    number: pr,
    state: 'open',
    draft: false,
    updated_at: new Date(Date.UTC(2024, 0, 1) + step * 1000).toISOString(),
    head: { ...recorded['head'], sha: headSha },
    base: { ...recorded['base'], sha: baseSha },
  }
  const pushed = step === 0 ? {} : { before: headOf(pr, step - 1), after: headSha }
  return Buffer.from(
    JSON.stringify({ ...example, ...pushed, action, number: pr, pull_request: pullRequest }),
  )
}

function headersOf(guid: string, body: Buffer): Record<string, string> {
  const signature = createHmac('sha256', webhookSecret).update(body).digest('hex')
  return {
    'content-type': 'application/json',
    'user-agent': 'GitHub-Hookshot/chaos',
    'x-github-event': 'pull_request',
    'x-github-delivery': guid,
    'x-hub-signature-256': `sha256=${signature}`,
  }
}
