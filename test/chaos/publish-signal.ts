/**
 * Loaded into a real server before anything else (`node --import`): at one named step of publishing
 * it sends a signal to its own process. Several deliveries may have to reach that step first; those
 * that have reached it wait there, so that a test knows exactly what was done for each.
 *
 * `…-uncommitted` is inside the transaction, after its last statement and before its commit.
 * Nothing can wait there, so the first delivery that reaches it triggers the signal.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { Delivery } from '../../src/domain/outbox/delivery.ts'
import { Slots } from '../../src/outbox/slots.ts'
import type { Driver } from '../../src/stores/driver.ts'
import { PostgresDriver } from '../../src/stores/drivers/postgres.ts'
import { SqliteDriver } from '../../src/stores/drivers/sqlite.ts'
import { SqlOutbox } from '../../src/stores/sql-store/sql-outbox.ts'
import type { Verb } from '../../src/stores/sql.ts'
import type { BeginAnswer, LeasedDelivery } from '../../src/store/outbox-store.ts'

export type PublishStep =
  | 'lease-uncommitted'
  | 'leased'
  | 'begin-uncommitted'
  | 'begun'
  /** Past every check: the next thing is the request itself. */
  | 'sending'
  | 'answered'
  | 'end-uncommitted'
  | 'ended'

export const publications = [
  'comment-create',
  'comment-edit',
  'status-pending',
  'status-final',
] as const
export type Publication = (typeof publications)[number]

export interface SignalPlan {
  readonly step: PublishStep
  readonly signal: 'SIGKILL' | 'SIGSTOP'
  /** The publications that must all have reached the step, each on its own pull request. */
  readonly of: readonly PlannedPublication[]
}

export interface PlannedPublication {
  readonly on: Publication
  readonly pr: number
}

/** What a server prints on its standard output when it sends itself the signal. */
export const signalWords = 'sends itself the signal'

/**
 * The environment of a server without the limit of open requests per identity. All deliveries that
 * wait at a step have the same identity, and there are more of them than this limit allows.
 */
export const unshared = { NODE_OPTIONS: `--import=${import.meta.url}`, PUBLISH_UNSHARED: '1' }

/** The environment of a server that sends itself this signal at this step. */
export const signalAt = (plan: SignalPlan): Record<string, string> => ({
  ...unshared,
  PUBLISH_SIGNAL: JSON.stringify(plan),
})

/** The method and the end of the path of the request that publishes the delivery. */
function requestOf({ channel, providerId, thread, sha }: Delivery): string {
  if (channel === 'github-status') return `POST /statuses/${sha}`
  return providerId === null ? `POST /issues/${thread}/comments` : `PATCH /comments/${providerId}`
}

function publicationOf({ channel, providerId, content }: Delivery): Publication | null {
  if (channel === 'github-comment') return providerId === null ? 'comment-create' : 'comment-edit'
  if (channel !== 'github-status') return null
  const { state } = JSON.parse(content) as { readonly state: string }
  return state === 'pending' ? 'status-pending' : 'status-final'
}

interface Steps {
  readonly planned: (delivery: Delivery | undefined) => PlannedPublication | undefined
  /** Resolves only after a signal that the process survives. */
  readonly at: (here: PublishStep, delivery: Delivery | undefined) => Promise<void>
  readonly beforeCommit: (here: PublishStep, of: readonly (Delivery | undefined)[]) => void
}

function stepsTo({ step, signal, of }: SignalPlan): Steps {
  const waiting = new Map<PlannedPublication, () => void>()
  let isSent = false

  const planned: Steps['planned'] = (delivery) =>
    delivery === undefined
      ? undefined
      : of.find(({ on, pr }) => delivery.thread === pr && publicationOf(delivery) === on)

  function sendSignal(): void {
    isSent = true
    // Written at once, unlike a stream, because the process may do nothing else after this.
    writeSync(1, `${signalWords}\n`)
    // A killed process does not write its compiled code, and the next server would start slowly.
    flushCompileCache()
    process.kill(process.pid, signal)
    for (const goOn of waiting.values()) goOn()
  }

  return {
    planned,
    async at(here, delivery) {
      const signalAt = planned(delivery)
      if (isSent || here !== step || signalAt === undefined) return
      await new Promise<void>((resolve) => {
        waiting.set(signalAt, resolve)
        if (waiting.size === of.length) sendSignal()
      })
    },
    beforeCommit(here, deliveries) {
      if (!isSent && here === step && deliveries.some((each) => planned(each))) sendSignal()
    },
  }
}

const deliveriesOf = (leased: readonly LeasedDelivery[]) => leased.map(({ delivery }) => delivery)

/** Returns the deliveries that have been leased so far, by id. */
function watchOutbox({ at, beforeCommit }: Steps): ReadonlyMap<string, Delivery> {
  const leased = new Map<string, Delivery>()
  const inside = reportBeforeCommit()
  const outbox = SqlOutbox.prototype as Methods<SqlOutbox>
  const { lease, beginAttempt, endAttempt } = outbox
  outbox.lease = async function (request) {
    const answer = await inside(
      () => lease.call(this, request),
      (got) => {
        // The transaction that corrects stored times before a lease returns no list.
        if (Array.isArray(got)) beforeCommit('lease-uncommitted', deliveriesOf(got))
      },
    )
    for (const { delivery } of answer) leased.set(delivery.id, delivery)
    return answer
  }
  outbox.beginAttempt = async function (request) {
    const delivery = leased.get(request.lease.deliveryId)
    // Waits here and not in `lease`, where it would keep all others from being leased.
    await at('leased', delivery)
    const answer = await inside(
      () => beginAttempt.call(this, request),
      (begun) => {
        if ((begun as BeginAnswer).result === 'begun') beforeCommit('begin-uncommitted', [delivery])
      },
    )
    if (answer.result === 'begun') await at('begun', delivery)
    return answer
  }
  outbox.endAttempt = async function (hold, report) {
    const delivery = leased.get(hold.deliveryId)
    await at('answered', delivery)
    const answer = await inside(
      () => endAttempt.call(this, hold, report),
      () => beforeCommit('end-uncommitted', [delivery]),
    )
    await at('ended', delivery)
    return answer
  }
  return leased
}

function watchFetch({ at, planned }: Steps, leased: ReadonlyMap<string, Delivery>): void {
  const { fetch } = globalThis
  globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    const sent = [...leased.values()].find((each) => {
      const [method, end = ''] = requestOf(each).split(' ')
      return method === init?.method && url.endsWith(end) && planned(each) !== undefined
    })
    if (sent === undefined) return await fetch(input, init)
    await at('sending', sent)
    // As if the kernel already had the request: its deadline, which is long over, cannot abort it,
    // and the connection that it would have used was not closed meanwhile.
    const send = () => fetch(input, { ...init, signal: null })
    return await send().catch(send)
  }
}

/** The methods of a class, as its prototype has them. */
type Methods<T> = {
  -readonly [K in keyof T]: T[K] extends (...args: infer A) => infer R
    ? (this: T, ...args: A) => R
    : T[K]
}

/**
 * Calls `report` with the answer of each transaction that `ask` begins, before its commit. Other
 * transactions may run meanwhile, so the time does not show which ones belong to `ask`.
 */
function reportBeforeCommit() {
  const asking = new AsyncLocalStorage<(answer: unknown) => void>()
  for (const { prototype } of [SqliteDriver, PostgresDriver]) {
    const driver = prototype as Methods<Driver>
    const { transact } = driver
    driver.transact = function <T>(this: Driver, makeVerb: () => Verb<T>, patienceMs?: number) {
      const report = asking.getStore()
      const makeReporting = function* (): Verb<T> {
        const answer = yield* makeVerb()
        report?.(answer)
        return answer
      }
      return transact.call(this, makeReporting, patienceMs)
    }
  }
  return <T>(ask: () => Promise<T>, report: (answer: unknown) => void): Promise<T> =>
    asking.run(report, ask)
}

if (process.env['PUBLISH_UNSHARED'] !== undefined) {
  Slots.prototype.takeForIdentity = () => () => undefined
}
const given = process.env['PUBLISH_SIGNAL']
if (given !== undefined) {
  const plan = JSON.parse(given) as SignalPlan
  const steps = stepsTo(plan)
  const leased = watchOutbox(steps)
  if (plan.step === 'sending') watchFetch(steps, leased)
}
