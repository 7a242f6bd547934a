/**
 * A store whose answers are counted and timed on the way to whoever asked.
 *
 * What must hold: it behaves in every way like the store behind it. A repeated completion is
 * answered like the first and counted once: only what ended during the call is counted.
 */
import type { Clock } from '../clock.ts'
import type { Run } from '../domain/run.ts'
import { isActive } from '../domain/run.ts'
import type { Metrics } from '../metrics.ts'
import type { ClaimAnswer, FinishedWebhook, Store } from '../store.ts'

type Verb = (...args: readonly unknown[]) => unknown

/** What its answer tells, by noun and verb. `since` is the store's time when it was asked. */
type Tell = (answer: unknown, since: number, args: readonly unknown[]) => void

const nouns = [
  'runs',
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
  const common = { metrics, clock, now: () => store.now(), tellers: tellersOf(metrics) }
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
  /** Of the verbs' names in the measures. */
  readonly prefix: string
  readonly tellers: Readonly<Record<string, Tell>>
  readonly metrics: Metrics
  readonly clock: Clock
  readonly now: () => number
}

function measured<T extends object>(store: T, measuring: Measuring): T {
  const { prefix, tellers, metrics, clock, now } = measuring
  const known = new Map<PropertyKey, Verb>()
  const measure = (name: string, verb: Verb): Verb => {
    const tell = tellers[`${prefix}${name}`]
    return (...args) => {
      const since = tell === undefined ? 0 : now()
      const startedMs = clock.monotonicMs()
      const answer = verb.apply(store, [...args])
      if (!(answer instanceof Promise)) return answer
      const done = (): void =>
        metrics.storeAnswered(`${prefix}${name}`, clock.monotonicMs() - startedMs)
      answer.then((value) => {
        done()
        tell?.(value, since, args)
      }, done)
      return answer
    }
  }
  return new Proxy(store, {
    get(target, name) {
      const found = known.get(name)
      if (found !== undefined) return found
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      const verb = measure(name, value as Verb)
      known.set(name, verb)
      return verb
    },
  })
}

function tellersOf(metrics: Metrics): Readonly<Record<string, Tell>> {
  const ended = (run: Run, since: number): void => {
    if (isActive(run) || (run.finishedAt ?? 0) < since) return
    metrics.runEnded(run.type, run.state)
  }
  const claimed = (answer: ClaimAnswer, type: string): void => {
    metrics.claimed(type, answer.reason)
    if (answer.reason === 'reclaimed') metrics.leaseLost()
    // Superseded by it, and so of its own type.
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
    'runs.sweep': (run, since) => {
      if (run !== null) swept(run as Run, since)
    },
  }
}
