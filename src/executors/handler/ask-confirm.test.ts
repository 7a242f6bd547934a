/** Goal: whoever reads the log learns why a confirm did not count as an answer. */
import { expect, it } from 'vitest'
import { systemScheduler } from '../../scheduler.ts'
import { askConfirm } from './ask-confirm.ts'

async function reasons(ask: () => unknown, signal = new AbortController().signal) {
  const why: string[] = []
  const onUnknown = (error: unknown): void => void why.push((error as Error).message)
  const settings = { delayMs: 0, scheduler: systemScheduler, signal, onUnknown }
  expect(await askConfirm(ask, settings)).toBe('unknown')
  return why
}

const throws = (): never => {
  throw new Error('GitHub is down')
}

it('names the reason each time', async () => {
  let asked = 0
  const answers = [throws, () => ({ done: 1n }), () => 'perhaps']
  const why = await reasons(() => answers[asked++]?.())
  expect(why).toEqual([
    'GitHub is down',
    expect.stringContaining('cannot be written as JSON'),
    "confirm must return { done: value } or 'not-done'",
  ])
})

it('names none if it was told to stop', async () => {
  expect(await reasons(throws, AbortSignal.abort())).toEqual([])
})
