/**
 * Rule 9 for steps. What the functions of steps did outside the store is compared with the steps
 * and the audit: a recorded result is used and not made again, and an effect happens as often as
 * the policy of its step promises.
 */
import { stepKey } from '../../ids.ts'
import type { AuditFact, Facts, StepVersion } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { Call, Effect, Effects } from '../work/effects.ts'
import type { World } from '../world.ts'

/** Everything about one step of one round. */
interface StepStory {
  readonly key: string
  readonly name: string
  readonly calls: readonly Call[]
  readonly effects: readonly Effect[]
  readonly versions: readonly StepVersion[]
  readonly audit: readonly AuditFact[]
}

export function checkSteps(facts: Facts, world: World, findings: Findings): void {
  const { work } = world
  if (work === null) return
  const { effects } = work
  for (let done = effects.problems.length; done < effects.looks; done += 1) {
    findings.check('9', true, () => '')
  }
  for (const problem of effects.problems) findings.check('9', false, () => problem)
  for (const story of storiesOf(facts, effects, world)) {
    checkBeginnings(story, findings)
    checkRetries(story, findings)
    checkRecorded(story, findings)
    checkEffects(story, effects, world, findings)
  }
}

function storiesOf(facts: Facts, effects: Effects, world: World): readonly StepStory[] {
  const calls = Map.groupBy(effects.calls, ({ key }) => key)
  const done = Map.groupBy(effects.effects, ({ call }) => call.key)
  const versions = Map.groupBy(facts.stepVersions, (row) => keyOf(row))
  const audit = Map.groupBy(facts.audit.filter(isAboutStep), ({ run_id: runId, data }) =>
    keyOf({ run_id: runId ?? '', round: Number(data['round']), name: String(data['step']) }),
  )
  return [...new Set([...calls.keys(), ...versions.keys()])].flatMap((key) => {
    const story: StepStory = {
      key,
      name: nameOf(calls.get(key)?.[0], versions.get(key)?.[0]),
      calls: calls.get(key) ?? [],
      effects: done.get(key) ?? [],
      versions: versions.get(key) ?? [],
      audit: audit.get(key) ?? [],
    }
    return isForgotten(story, world) ? [] : [story]
  })
}

type StepId = Pick<StepVersion, 'run_id' | 'round' | 'name'>

const keyOf = ({ run_id: runId, round, name }: StepId): string => stepKey({ runId, round, name })

function nameOf(call: Call | undefined, version: StepVersion | undefined): string {
  const runId = call?.execution.runId ?? version?.run_id
  return `${call?.step ?? version?.name} of ${runId} (${call?.policy ?? 'not called'})`
}

const isAboutStep = ({ type, data }: AuditFact): boolean =>
  'step' in data && /^(step\.|operator\.step_)/.test(type)

/** The restored copy may know nothing of it, or of its end. */
function isForgotten({ calls, effects }: StepStory, { forgotten }: World): boolean {
  if (forgotten === null) return false
  return calls.length === 0 || [...calls, ...effects].some(({ at }) => at <= forgotten.until)
}

const count = ({ audit }: StepStory, type: string): number =>
  audit.filter((row) => row.type === type).length

/** Every holder but the first that called the function began the step by an audited decision. */
function checkBeginnings(story: StepStory, findings: Findings): void {
  const holders = new Set(story.calls.map(({ execution }) => execution)).size
  const takenOver = count(story, 'step.taken_over')
  const repeated = count(story, 'operator.step_repeated')
  findings.check('9', holders <= 1 + takenOver + repeated, () => {
    const decided = `taken over ${takenOver} times and repeated by an operator ${repeated} times`
    return `${story.name} was called by ${holders} holders, but was ${decided}`
  })
  findings.check('9', count(story, 'step.in_doubt') >= takenOver, () => {
    return `${story.name} was taken over, but the audit does not say that it was in doubt`
  })
}

/** One holder calls the function again only after it threw; with `hold` only if it did nothing. */
function checkRetries({ calls, name }: StepStory, findings: Findings): void {
  for (const [index, call] of calls.entries()) {
    const next = calls.slice(index + 1).find(({ execution }) => execution === call.execution)
    if (next === undefined) continue
    const mayRepeat = call.end === 'not-done' || (call.end === 'threw' && call.policy !== 'hold')
    findings.check('9', mayRepeat, () => `${name} was called again after it ${call.end}`)
  }
}

/** A result is stored once, by whoever began the step last, and it never changes. */
function checkRecorded({ versions, name, effects }: StepStory, findings: Findings): void {
  for (const [index, { state, fence, result, error_code: code }] of versions.entries()) {
    if (state !== 'done' && state !== 'failed') continue
    const changed = versions.slice(index + 1).find((later) => {
      return later.state !== state || later.result !== result || later.error_code !== code
    })
    findings.check('9', changed === undefined, () => {
      return `${name} was ${state} (${result}), and then ${changed?.state} (${changed?.result})`
    })
    if (state !== 'done') continue
    findings.check('9', effects.length > 0, () => `${name} is done, but nothing was done`)
    const by = (JSON.parse(result ?? '{}') as { readonly fence?: number }).fence
    findings.check('9', by === undefined || by === fence, () => {
      return `${name} was begun by the holder ${fence}, and has the result of ${by}`
    })
  }
}

function checkEffects(
  { effects: done, name, calls }: StepStory,
  effects: Effects,
  world: World,
  findings: Findings,
): void {
  for (const [index, effect] of done.entries()) {
    const times = index + 1
    switch (effect.call.policy) {
      case 'hold':
        findings.check('9', times <= 1 + effect.repeatsAsked, () => {
          return `${name} was done ${times} times, and asked for ${effect.repeatsAsked} times`
        })
        break
      case 'confirm':
        findings.check('9', index === 0 || isExcused(effect, done, effects, world), () => {
          return `${name} was done ${times} times, although it could be asked for`
        })
        break
      case 'repeat':
        // How often it may be called is checked above.
        findings.check('9', times <= calls.length, () => `${name} was done ${times} times`)
    }
  }
}

/**
 * A process was stopped inside the function, or the function went on after it was told to stop.
 * Meanwhile another holder asked whether it was done.
 */
function isExcused(
  effect: Effect,
  all: readonly Effect[],
  { questions }: Effects,
  { clockJumps }: World,
): boolean {
  const earlier = all.filter(({ id }) => id < effect.id)
  return [effect, ...earlier].some(({ id, at, call, wasDead }) => {
    const { execution } = call
    const wasAsked = questions.some((question) => {
      const isOther = question.execution !== execution
      return isOther && question.key === call.key && question.id > call.id && question.id < id
    })
    const wasStopped = execution.interruptedAt.some((moment) => moment >= call.at && moment <= at)
    const isLate = !wasDead && (wasStopped || call.end === 'hung' || clockJumps.length > 0)
    return wasAsked && isLate
  })
}
