/**
 * Goal: every state of a step and everything that can be done with it has one decided result.
 * Method: a table, with a step that this holder began itself and one that an earlier holder began.
 */
import { describe, expect, it } from 'vitest'
import type { Step, StepAction, StepActor, StepStart } from './step.ts'
import { decideHeld, decideStep } from './step.ts'

const now = 1000
const holder: StepActor = {
  ...{ runId: 'run_1', round: 2, fence: 7, leaseHash: 'my lease', actor: 'test' },
}
const formerHolder: StepActor = { ...holder, fence: null }
const otherHolder: StepActor = { ...formerHolder, leaseHash: 'their lease' }
const start: StepStart = { name: 'model', startId: 'mine', codeVersion: 'v2' }

const begun: Step = {
  ...{ runId: 'run_1', round: 2, name: 'model', rev: 3, state: 'started', policy: 'hold' },
  ...{ attempt: 1, fence: 7, leaseHash: 'my lease', startId: 'mine', startedAt: 10 },
  ...{ endedAt: null, result: null, errorCode: null, errorText: null, codeVersion: 'v1' },
} as const
const earlier: Step = { ...begun, fence: 5, leaseHash: 'their lease', startId: 'theirs' }
const done: Step = { ...earlier, state: 'done', endedAt: 20, result: '1' }

const steps = {
  none: null,
  'begun by it': begun,
  'begun by another': earlier,
  'begun by it with another start id': { ...begun, startId: 'other' },
  'begun by an earlier lease of it': { ...begun, fence: 5, leaseHash: 'lost' },
  done,
  failed: { ...earlier, state: 'failed', endedAt: 20, errorCode: 'c', errorText: 't' },
  'held, begun by it': { ...begun, state: 'held' },
  'held, begun by another': { ...earlier, state: 'held' },
  open: { ...earlier, state: 'open', startId: '' },
} as const satisfies Record<string, Step | null>

const actions = {
  begin: { do: 'begin', policy: 'repeat' },
  'take over': { do: 'take-over', policy: 'repeat' },
  confirm: { do: 'confirm', result: '2' },
  hold: { do: 'hold' },
  record: { do: 'record', result: '2' },
  fail: { do: 'fail', errorCode: 'bad', errorText: 'text' },
  stopped: { do: 'stopped' },
} as const satisfies Record<string, StepAction>

const doubtAnd = (type: string): string => `step.in_doubt ${type}`

describe.each([
  // what is done, the step before, the answer, the state after, the audit rows
  ['begin', 'none', 'began', 'started', ''],
  ['begin', 'open', 'began', 'started', ''],
  ['begin', 'begun by it', 'already', 'started', ''],
  ['begin', 'begun by another', 'in-doubt', 'started', ''],
  ['begin', 'begun by an earlier lease of it', 'in-doubt', 'started', ''],
  ['begin', 'held, begun by another', 'in-doubt', 'held', ''],
  ['begin', 'done', 'known', 'done', ''],
  ['begin', 'failed', 'known', 'failed', ''],
  ['take over', 'none', 'began', 'started', ''],
  ['take over', 'open', 'began', 'started', ''],
  ['take over', 'begun by it', 'already', 'started', ''],
  ['take over', 'begun by another', 'began', 'started', doubtAnd('step.taken_over')],
  ['take over', 'held, begun by another', 'began', 'started', doubtAnd('step.taken_over')],
  ['take over', 'done', 'known', 'done', ''],
  ['take over', 'failed', 'known', 'failed', ''],
  ['confirm', 'none', 'not-begun', null, ''],
  ['confirm', 'open', 'not-begun', 'open', ''],
  ['confirm', 'begun by it', 'recorded', 'done', doubtAnd('step.confirmed')],
  ['confirm', 'begun by another', 'recorded', 'done', doubtAnd('step.confirmed')],
  ['confirm', 'done', 'known', 'done', ''],
  ['confirm', 'failed', 'known', 'failed', ''],
  ['hold', 'none', 'not-begun', null, ''],
  ['hold', 'open', 'not-begun', 'open', ''],
  ['hold', 'begun by it', 'held', 'held', doubtAnd('step.held')],
  ['hold', 'begun by another', 'held', 'held', doubtAnd('step.held')],
  ['hold', 'done', 'known', 'done', ''],
  ['record', 'none', 'not-begun', null, ''],
  ['record', 'open', 'late', 'open', 'step.late'],
  ['record', 'begun by it', 'recorded', 'done', ''],
  ['record', 'begun by it with another start id', 'late', 'started', 'step.late'],
  ['record', 'begun by another', 'late', 'started', 'step.late'],
  ['record', 'begun by an earlier lease of it', 'late', 'started', 'step.late'],
  ['record', 'held, begun by it', 'recorded', 'done', ''],
  ['record', 'held, begun by another', 'late', 'held', 'step.late'],
  ['record', 'done', 'late', 'done', 'step.late'],
  ['fail', 'begun by it', 'recorded', 'failed', ''],
  ['fail', 'begun by another', 'late', 'started', 'step.late'],
  ['stopped', 'none', 'not-begun', null, ''],
  ['stopped', 'begun by it', 'late', 'started', 'step.late'],
  ['stopped', 'begun by another', 'late', 'started', 'step.late'],
  ['stopped', 'held, begun by it', 'late', 'held', 'step.late'],
] as const)('%s a step: %s', (what, before, reply, state, audits) => {
  const step = steps[before]
  const decision = decideStep(step, actions[what], holder, start, now)

  it(`answers ${reply}, and the step is ${state ?? 'none'}`, () => {
    expect([decision.reply, decision.step?.state ?? null]).toEqual([reply, state])
    expect(decision.audits.map(({ type }) => type).join(' ')).toBe(audits)
  })

  it('returns the same step if nothing has to be written', () => {
    const changes = ['began', 'recorded', 'held'].includes(reply)
    expect(decision.step === step).toBe(!changes)
  })
})

describe('a step that is begun again', () => {
  it('belongs to its new holder, and counts the beginning', () => {
    const { step } = decideStep(earlier, actions['take over'], holder, start, now)
    expect(step).toEqual({
      ...{ ...earlier, policy: 'repeat', attempt: 2, fence: 7, leaseHash: 'my lease' },
      ...{ startId: 'mine', startedAt: now, codeVersion: 'v2' },
    })
  })

  it('does not keep the error of before', () => {
    const open = { ...steps.open, errorCode: 'x', errorText: 'y' }
    const { step } = decideStep(open, actions.begin, holder, start, now)
    expect(step).toMatchObject({ errorCode: null, errorText: null, endedAt: null })
  })
})

describe('a step that is held', () => {
  it('keeps the start id of whoever began it, whose result still counts', () => {
    const { step } = decideStep(earlier, actions.hold, holder, start, now)
    expect(step).toEqual({ ...earlier, state: 'held' })
    const theirs = { ...start, startId: 'theirs' }
    const { reply, audits } = decideStep(step, actions.record, otherHolder, theirs, now)
    expect(reply).toBe('recorded')
    expect(audits).toMatchObject([{ type: 'step.late', data: { state: 'held', counted: true } }])
  })
})

describe('a result', () => {
  it('of a step that is done already answers the first result', () => {
    const mine = { ...done, leaseHash: 'my lease', startId: 'mine' }
    const again = decideStep(mine, actions.record, holder, start, now)
    expect(again).toEqual({ reply: 'already', step: mine, audits: [] })
  })

  it('of a holder that lost the run is audited, whether it counts or not', () => {
    const counted = decideStep(begun, actions.record, formerHolder, start, now)
    expect(counted.step).toMatchObject({ state: 'done', result: '2', endedAt: now, fence: 7 })
    expect(counted.audits).toMatchObject([{ type: 'step.late', data: { counted: true } }])
    const late = decideStep(begun, actions.record, otherHolder, start, now)
    expect(late.reply).toBe('late')
    expect(late.audits).toMatchObject([{ type: 'step.late', data: { counted: false } }])
  })

  it('of a step that its holder began under another start id says so in the audit', () => {
    const other = { ...start, startId: 'other' }
    for (const what of ['record', 'stopped'] as const) {
      const { audits } = decideStep(begun, actions[what], holder, other, now)
      expect(audits).toMatchObject([{ data: { counted: false, other_start: true } }])
    }
    for (const step of [earlier, steps.open]) {
      const { audits } = decideStep(step, actions.record, holder, start, now)
      expect(audits[0]?.data).not.toHaveProperty('other_start')
    }
  })

  it('with an empty start id never fits a step that waits to be begun again', () => {
    const empty = { ...start, startId: '' }
    expect(decideStep(steps.open, actions.record, formerHolder, empty, now).reply).toBe('late')
  })

  it('of a confirmed step belongs to whoever confirmed it', () => {
    const { step } = decideStep(earlier, actions.confirm, holder, start, now)
    expect(step).toMatchObject({ startId: 'mine', fence: 7, result: '2', codeVersion: 'v2' })
  })
})

describe('doubt', () => {
  it.each([
    ['an earlier holder', earlier, true],
    ['this holder', begun, false],
  ])('says whether %s began the step', (_who, step, isEarlier) => {
    const { audits } = decideStep(step, actions.hold, holder, start, now)
    expect(audits[0]?.data).toMatchObject({ step: 'model', earlier_holder: isEarlier })
  })
})

describe('a decision about a held step', () => {
  const held: Step = { ...earlier, state: 'held' }

  it.each([
    [
      { do: 'confirm', result: '3' },
      { state: 'done', result: '3', endedAt: now },
    ],
    [{ do: 'repeat' }, { state: 'open', startId: '', result: null, endedAt: null }],
    [
      { do: 'fail', text: 'broken' },
      { state: 'failed', errorText: 'broken', endedAt: now },
    ],
    [
      { do: 'fail', text: null },
      { state: 'failed', errorText: 'a person decided that it failed' },
    ],
  ] as const)('%o', (decision, after) => {
    const { step, audit } = decideHeld(held, decision, 'ann', now)
    expect(step).toMatchObject(after)
    expect(audit).toMatchObject({ actor: 'ann', runId: 'run_1', data: { step: 'model' } })
    expect(audit.type).toMatch(/^operator\.step_(confirmed|repeated|failed)$/)
  })
})
