/**
 * A store that counts and times the answers of another store.
 *
 * What must hold: it behaves exactly like the other store. A repeated completion gets the same
 * answer as the first, but is counted once: only runs that ended during the call are counted.
 */
import type { Clock } from '../clock.ts'
import type { Run } from '../domain/run.ts'
import { isActive } from '../domain/run.ts'
import type { Metrics } from '../metrics.ts'
import type { ClaimAnswer, FinishedWebhook, Store } from '../store.ts'

type Verb = (...args: readonly unknown[]) => unknown

/** Counts what an answer says. `since`: the store's time when the call began. */
type CountAnswer = (answer: unknown, since: number, args: readonly unknown[]) => void

const nouns = [
  'runs',
  'steps',
  'inbox',
  'outbox',
  'audit',
  'tokens',
  'repositories',
  'catchUp',
  'upkeep',
] as const satisfies readonly (keyof Store)[]

/** A verb is measured under its noun: `runs.claim`. */
export function measuredStore(store: Store, metrics: Metrics, clock: Clock): Store {
  const common = {
    metrics,
    clock,
    now: () => store.now(),
    answerCounters: answerCountersOf(metrics),
  }
  const parts: Readonly<Record<PropertyKey, unknown>> = Object.fromEntries(
    nouns.map((noun) => [noun, measured<object>(store[noun], { ...common, prefix: `${noun}.` })]),
  )
  const whole = measured(store, { ...common, prefix: '' })
  return new Proxy(whole, {
    get: (target, name): unknown =>
      Object.hasOwn(parts, name) ? parts[name] : Reflect.get(target, name, target),
  })
}

interface Measuring {
  /** Comes before the name of a verb in the metrics. */
  readonly prefix: string
  readonly answerCounters: Readonly<Record<string, CountAnswer>>
  readonly metrics: Metrics
  readonly clock: Clock
  readonly now: () => number
}

function measured<T extends object>(store: T, measuring: Measuring): T {
  const { prefix, answerCounters, metrics, clock, now } = measuring
  const measuredVerbs = new Map<PropertyKey, Verb>()
  const measure = (name: string, verb: Verb): Verb => {
    const countAnswer = answerCounters[`${prefix}${name}`]
    return (...args) => {
      const since = countAnswer === undefined ? 0 : now()
      const startedMs = clock.monotonicMs()
      const answer = verb.apply(store, [...args])
      if (!(answer instanceof Promise)) return answer
      const done = (): void =>
        metrics.storeAnswered(`${prefix}${name}`, clock.monotonicMs() - startedMs)
      answer.then((value) => {
        done()
        countAnswer?.(value, since, args)
      }, done)
      return answer
    }
  }
  return new Proxy(store, {
    get(target, name) {
      const found = measuredVerbs.get(name)
      if (found !== undefined) return found
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      const verb = measure(name, value as Verb)
      measuredVerbs.set(name, verb)
      return verb
    },
  })
}

function answerCountersOf(metrics: Metrics): Readonly<Record<string, CountAnswer>> {
  const ended = (run: Run, since: number): void => {
    if (isActive(run) || (run.finishedAt ?? 0) < since) return
    metrics.runEnded(run.type, run.state)
  }
  const claimed = (answer: ClaimAnswer, type: string): void => {
    metrics.claimed(type, answer.reason)
    if (answer.reason === 'reclaimed') metrics.leaseLost()
    // A run supersedes only runs of its own type.
    for (const _runId of answer.supersededRunIds) metrics.runEnded(type, 'superseded')
  }
  const swept = (run: Run, since: number): void => {
    ended(run, since)
    const lost = ['worker_lost', 'attempts_exhausted']
    if (isActive(run) || lost.includes(run.errorCode ?? '')) metrics.leaseLost()
  }
  const typeOf = ({ run }: ClaimAnswer): string => run?.type ?? 'purged'
  return {
    'runs.claim': (answer, _since, [claim]) =>
      claimed(answer as ClaimAnswer, (claim as { readonly type: string }).type),
    'runs.rerun': (answer) => claimed(answer as ClaimAnswer, typeOf(answer as ClaimAnswer)),
    'inbox.finish': (answer, since) => {
      const { claims, cancelled } = answer as FinishedWebhook
      for (const claim of claims) claimed(claim, typeOf(claim))
      for (const run of cancelled) ended(run, since)
    },
    'runs.complete': (run, since) => ended(run as Run, since),
    'runs.cancel': (run, since) => ended(run as Run, since),
    'runs.cancelPending': (run, since) => ended(run as Run, since),
    'runs.sweep': (run, since) => {
      if (run !== null) swept(run as Run, since)
    },
    'runs.giveUp': (run, since) => swept(run as Run, since),
    'runs.takeOverExecutors': (runs, since) => {
      for (const run of runs as readonly Run[]) swept(run, since)
    },
  }
}
