/** Goal: a rerun that was requested meanwhile hides nothing of how the round before it ended. */
import { expect, it } from 'vitest'
import type { AuditView } from '../../contract/audit.ts'
import type { RunView } from '../../contract/runs.ts'
import { VirtualTime } from '../../simulation/virtual-time.ts'
import { RefusedError, UnreachableError } from '../failure.ts'
import type { RunAccess } from './run-access.ts'
import type { Stop } from './run-command.ts'
import { storeEnd } from './store-end.ts'

const held = { id: 'run_1', key: 'k', type: 'build', subject: 'k', repo: null, round: 2 } as RunView
const next = { ...held, state: 'pending', round: 3 } as RunView
const row = (type: string, round: number, more = {}): AuditView =>
  ({ type, data: { round, ...more } }) as unknown as AuditView
const ended = { failure: null, output: '' }
const notAsked = (): never => {
  throw new Error('the audit is not needed')
}

interface Told {
  readonly exitCode?: number
  /** The server's answer to the completion. */
  readonly complete?: () => Promise<RunView>
  readonly stop?: Stop | null
}

async function endWith(
  audit: () => readonly AuditView[],
  { exitCode = 0, complete = () => Promise.resolve(next), stop = null }: Told = {},
) {
  const access = {
    place: 'the server',
    complete,
    run: () => complete(),
    audit: async () => audit(),
  } as unknown as RunAccess
  return await endOf(access, stop, exitCode)
}

async function endOf(access: RunAccess, stop: Stop | null, exitCode = 0) {
  const time = new VirtualTime(0)
  const more = { signal: null, startCode: null, failureText: null, cutOff: false }
  const end = { ...ended, exitCode, ...more }
  const results = { result: null, summary: null, problem: null }
  const ending = storeEnd({ end, stop }, results, {
    access,
    held: {
      ...{ run: held, leaseToken: 'hfl_1', runToken: 'hfr_1', reason: 'new' },
      ...{ askedAtMs: 0, owesRerun: false },
    },
    interruption: { onEach: () => undefined },
    insisting: { clock: time, scheduler: time, onAway: () => undefined },
  })
  await time.pass(120_000)
  return await ending
}

it('the round that has ended decides, not one before it and not the next one', async () => {
  const rows = [row('run.claimed', 3), row('run.succeeded', 2), row('run.failed', 1)]
  const ending = await endWith(() => rows)
  expect(ending).toMatchObject({ exitCode: 0, outcome: 'succeeded', nextRound: next })
  expect(ending.words).toMatch(/^Done: build of k \(run_1\)\. A rerun was requested/)
})

it('a command that ends with 0 is red if it completed its run as failed just before', async () => {
  const failed = row('run.failed', 2, { code: 'broken', text: 'Two findings.' })
  const ending = await endWith(() => [row('run.claimed', 3), failed, row('run.succeeded', 1)])
  expect(ending).toMatchObject({ exitCode: 1, outcome: 'failed', nextRound: next })
  expect(ending.words).toContain('with its run token: failed: broken: Two findings. A rerun')
})

it.each([
  ['cannot be read', () => Promise.reject(new RefusedError('forbidden', 'no access'))],
  ['does not know', () => [row('run.succeeded', 1)]],
])('a round whose end the audit %s is not green', async (_what, audit) => {
  const ending = await endWith(audit as () => readonly AuditView[])
  expect(ending).toMatchObject({ exitCode: 3, outcome: null, reason: 'unreachable' })
  expect(ending.words).toContain('Nobody can say how round 2 of run_1 was completed')
})

it.each(['stopped before it ended', 'ended by itself'])(
  'a command that gave a step to a person and %s names the decision',
  async (how) => {
    const waiting = { ...held, state: 'waiting' } as RunView
    const access = {
      place: 'the server',
      complete: () => Promise.reject(new RefusedError('lease_lost', 'words of the server')),
      run: () => Promise.resolve(waiting),
    } as unknown as RunAccess
    const loss = { code: 'lease_lost', text: 'lost' } as const
    const stop = how === 'ended by itself' ? null : ({ by: 'loss', loss } as const)
    const ending = await endOf(access, stop)
    expect(ending).toMatchObject({ exitCode: 1, outcome: 'waiting', reason: 'lease-lost' })
    const words =
      'run_1 (build of k) waits until somebody decides about its held step; to see which: ' +
      'holdfast runs steps run_1'
    expect(ending.words).toContain(words)
  },
)

it.each([
  ['succeeded', 0],
  ['failed', 1],
  ['skipped', 78],
] as const)('78 for a run that was completed as %s has the code %i', async (state, code) => {
  const now = { ...held, state, error: null } as RunView
  const own = { exitCode: 78, complete: () => Promise.resolve(now) }
  expect(await endWith(notAsked, own)).toMatchObject({ exitCode: code, outcome: state })
  const text = 'The run has ended.'
  const stopped = { ...own, stop: { by: 'loss', loss: { code: 'ended', text } } } as const
  expect(await endWith(notAsked, stopped)).toMatchObject({ exitCode: code, outcome: state })
  const before = { exitCode: 78 }
  const rows = () => [row(`run.${state}`, 2, { code: 'broken', text: null })]
  expect(await endWith(rows, before)).toMatchObject({ exitCode: code, outcome: state })
})

it('78 is not kept if nobody knows that the run is skipped', async () => {
  const away = () => Promise.reject(new UnreachableError('unreachable', 'no answer'))
  const notStored = await endWith(notAsked, { exitCode: 78, complete: away })
  expect(notStored).toMatchObject({ exitCode: 3, outcome: null, reason: 'not-stored' })
  const unknown = await endWith(() => [], { exitCode: 78 })
  expect(unknown).toMatchObject({ exitCode: 3, outcome: null, reason: 'unreachable' })
  const loss = { code: 'lease_lost', text: 'The lease is lost.' } as const
  const lost = await endWith(notAsked, { exitCode: 78, stop: { by: 'loss', loss } })
  expect(lost).toMatchObject({ exitCode: 1, reason: 'lease-lost' })
})

it('a token that was revoked is a refusal, and not a server that is away', async () => {
  const refused = (): Promise<never> => Promise.reject(new RefusedError('token_revoked', 'no'))
  const access = { place: 'the server', complete: refused, run: refused } as unknown as RunAccess
  const loss = { code: 'refused', text: 'The token was revoked.' } as const
  const ending = await endOf(access, { by: 'loss', loss })
  expect(ending).toMatchObject({ exitCode: 1, reason: 'refused' })
  expect(ending.words).toBe('Stopped: The token was revoked.')
})
