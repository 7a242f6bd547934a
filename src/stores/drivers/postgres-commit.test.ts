/** What follows from the server's answer about an unanswered COMMIT, and when it is given up. */
import { expect, it } from 'vitest'
import { systemClock } from '../../clock.ts'
import { StoreUnavailableError } from '../../errors.ts'
import { systemScheduler } from '../../scheduler.ts'
import type { Row } from '../sql.ts'
import { fateOf, UnansweredCommit } from './postgres-commit.ts'

const unanswered = new UnansweredCommit('77', 'the answer', new Error('cut'))
const away = new StoreUnavailableError('store_unreachable', 'away')

/** The server's answers in order; the last one repeats. Timers fire at once. */
function ask(id: string | null, ...words: readonly (Row | Error)[]) {
  const asked: unknown[] = []
  const fate = fateOf(id === null ? new UnansweredCommit(null, 0, away) : unanswered, {
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
  const { fate, asked } = ask('77', away, { fate: 'in progress' }, { fate: 'committed' })
  expect([await fate, asked]).toEqual(['committed', ['77', '77', '77']])
  expect(await ask('77', { fate: 'aborted' }).fate).toBe('aborted')
})

it('without a write there is nothing to ask', async () => {
  const { fate, asked } = ask(null, away)
  expect([await fate, asked]).toEqual(['committed', []])
})

it('the result stays unknown if the server no longer knows it, or is another server', async () => {
  await expect(ask('77', { fate: null }).fate).rejects.toBe(unanswered)
  await expect(ask('77', new Error('it is in the future')).fate).rejects.toBe(unanswered)
})

it('the question is given up after a while, with an error that says unknown', async () => {
  const { fate, asked } = ask('77', away)
  await expect(fate).rejects.toMatchObject({ code: 'store_unreachable', hint: /unknown/ })
  await expect(fate).rejects.toBeInstanceOf(StoreUnavailableError)
  expect(asked.length).toBeGreaterThan(10)
})
