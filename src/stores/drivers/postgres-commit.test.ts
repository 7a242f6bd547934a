/** What follows from the server's answer about an unanswered COMMIT, and when it is given up. */
import { expect, it } from 'vitest'
import { systemClock } from '../../clock.ts'
import { StoreUnavailableError } from '../../errors.ts'
import { systemScheduler } from '../../scheduler.ts'
import type { Row } from '../sql.ts'
import { fateOf, UnansweredCommit } from './postgres-commit.ts'

const mark = { id: '77', second: '1000', timeline: '00000001' }
const unanswered = new UnansweredCommit(mark, 'the answer', new Error('cut'))
const away = new StoreUnavailableError('store_unreachable', 'away')

/** No crash since: the last checkpoint is a minute older than the COMMIT, so it knows no new id. */
const steady = { checkpoint: -60, known: false, survived: false, same_timeline: true }
const said = (fate: string | null, more = {}): Row => ({ fate, ...steady, ...more })

/** The server's answers in order; the last one repeats. Timers fire at once. */
function ask(...words: readonly (Row | Error)[]) {
  const asked: unknown[] = []
  const fate = fateOf(unanswered, {
    clock: { ...systemClock, monotonicMs: () => 0 },
    scheduler: {
      ...systemScheduler,
      after: (_ms, task) => {
        systemScheduler.soon(task)
        return () => undefined
      },
    },
    ask: async ({ params }) => {
      const word = words[Math.min(asked.length, words.length - 1)]!
      asked.push(...params)
      if (word instanceof Error) throw word
      return [word]
    },
  })
  return { fate, asked }
}

it('the server is asked by the transaction’s id until it knows the result', async () => {
  const words = [away, said('in progress'), said(null), said('committed')]
  const { fate, asked } = ask(...words)
  expect(await fate).toBe('committed')
  expect(asked.filter((param) => param === '77').length).toBeGreaterThanOrEqual(words.length)
  expect(await ask(said('aborted')).fate).toBe('aborted')
})

it('a checkpoint that knows the id changes nothing', async () => {
  const answers = [-1, 0, 5].map((checkpoint) => said('committed', { checkpoint, known: true }))
  for (const answer of answers) expect(await ask(answer).fate).toBe('committed')
})

it('no crash can have happened while a connection lives on', async () => {
  const survived = [0, 5].map((checkpoint) => said('committed', { checkpoint, survived: true }))
  for (const answer of survived) expect(await ask(answer).fate).toBe('committed')
})

it('an id that a later checkpoint does not know was lost in a crash, and given again', async () => {
  for (const fate of ['committed', 'in progress', 'aborted', null]) {
    expect(await ask(said(fate, { checkpoint: 1 })).fate).toBe('aborted')
  }
})

it('the result stays unknown if nobody can say, or if it is another server', async () => {
  const unknown = [
    said(null),
    said('committed', { checkpoint: 0 }),
    said('committed', { same_timeline: false }),
    new Error('permission denied for function pg_control_checkpoint'),
  ]
  for (const word of unknown) await expect(ask(word).fate).rejects.toBe(unanswered)
})

it('the question is given up after a while, with an error that says unknown', async () => {
  const { fate, asked } = ask(away)
  await expect(fate).rejects.toMatchObject({ code: 'store_unreachable', hint: /unknown/ })
  await expect(fate).rejects.toBeInstanceOf(StoreUnavailableError)
  expect(asked.length).toBeGreaterThan(10)
})
