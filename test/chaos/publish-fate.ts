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

export type FatalStep =
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

export interface Fate {
  readonly step: FatalStep
  readonly signal: 'SIGKILL' | 'SIGSTOP'
  /** What all has to be there, each on a pull request of its own. */
  readonly of: readonly Fated[]
}

export interface Fated {
  readonly on: Publication
  readonly pr: number
}

/** What a server prints on its standard output when it does. */
export const metWords = 'has met its fate'

/**
 * What lets a server have any number in hand for one identity: all that wait at a step are of one,
 * and its share of the hands is smaller than that.
 */
export const unshared = { NODE_OPTIONS: `--import=${import.meta.url}`, PUBLISH_UNSHARED: '1' }

/** What makes a server meet its fate. */
export const fated = (fate: Fate): Record<string, string> => ({
  ...unshared,
  PUBLISH_FATE: JSON.stringify(fate),
})

/** The end of the request that publishes it. */
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
  readonly fateOf: (delivery: Delivery | undefined) => Fated | undefined
  /** Goes on only where a signal can be outlived. */
  readonly at: (here: FatalStep, delivery: Delivery | undefined) => Promise<void>
  readonly beforeCommit: (here: FatalStep, of: readonly (Delivery | undefined)[]) => void
}

function stepsTo({ step, signal, of }: Fate): Steps {
  const waiting = new Map<Fated, () => void>()
  let isMet = false

  const fateOf: Steps['fateOf'] = (delivery) =>
    delivery === undefined
      ? undefined
      : of.find(({ on, pr }) => delivery.thread === pr && publicationOf(delivery) === on)

  function meet(): void {
    isMet = true
    // At once, unlike a stream: the process may not get to anything else.
    writeSync(1, `${metWords}\n`)
    // A killed process would not write it, and its successor start slowly.
    flushCompileCache()
    process.kill(process.pid, signal)
    for (const goOn of waiting.values()) goOn()
  }

  return {
    fateOf,
    async at(here, delivery) {
      const fated = fateOf(delivery)
      if (isMet || here !== step || fated === undefined) return
      await new Promise<void>((resolve) => {
        waiting.set(fated, resolve)
        if (waiting.size === of.length) meet()
      })
    },
    beforeCommit(here, deliveries) {
      if (!isMet && here === step && deliveries.some((each) => fateOf(each))) meet()
    },
  }
}

const deliveriesOf = (leased: readonly LeasedDelivery[]) => leased.map(({ delivery }) => delivery)

/** Answers what has been leased so far, by id. */
function watchOutbox({ at, beforeCommit }: Steps): ReadonlyMap<string, Delivery> {
  const leased = new Map<string, Delivery>()
  const inside = reportBeforeCommit()
  const outbox = SqlOutbox.prototype as Methods<SqlOutbox>
  const { lease, beginAttempt, endAttempt } = outbox
  outbox.lease = async function (request) {
    const answer = await inside(
      () => lease.call(this, request),
      (got) => {
        // What sets stored times right before a lease answers nothing.
        if (Array.isArray(got)) beforeCommit('lease-uncommitted', deliveriesOf(got))
      },
    )
    for (const { delivery } of answer) leased.set(delivery.id, delivery)
    return answer
  }
  outbox.beginAttempt = async function (request) {
    const delivery = leased.get(request.lease.deliveryId)
    // Not where it was leased: who waited there would keep all others from being leased.
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

function watchFetch({ at, fateOf }: Steps, leased: ReadonlyMap<string, Delivery>): void {
  const { fetch } = globalThis
  globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    const sent = [...leased.values()].find((each) => {
      const [method, end = ''] = requestOf(each).split(' ')
      return method === init?.method && url.endsWith(end) && fateOf(each) !== undefined
    })
    if (sent === undefined) return await fetch(input, init)
    await at('sending', sent)
    // As if the kernel had it by then: its deadline, long over, cannot call it back, and the
    // connection that it would have used has not been closed meanwhile.
    const send = () => fetch(input, { ...init, signal: null })
    return await send().catch(send)
  }
}

/** The methods of a class as they stand on its prototype. */
type Methods<T> = {
  -readonly [K in keyof T]: T[K] extends (...args: infer A) => infer R
    ? (this: T, ...args: A) => R
    : T[K]
}

/**
 * Calls `tell` with the answer of each transaction that `ask` makes, before its commit. Others that
 * run meanwhile are not told apart by time: `ask` may wait for something else before it begins one.
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
const given = process.env['PUBLISH_FATE']
if (given !== undefined) {
  const fate = JSON.parse(given) as Fate
  const steps = stepsTo(fate)
  const leased = watchOutbox(steps)
  if (fate.step === 'sending') watchFetch(steps, leased)
}
