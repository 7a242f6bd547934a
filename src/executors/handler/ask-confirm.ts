/**
 * Asks a step's `confirm` whether the step was done. "Not done" counts only if it is said twice, a
 * delay apart: what an earlier process asked for may just be arriving. If it cannot find out three
 * times, nobody knows.
 */
import { delay, type Scheduler } from '../../scheduler.ts'
import { resultText } from './step-result.ts'

export interface ConfirmSettings {
  readonly delayMs: number
  readonly scheduler: Scheduler
  readonly signal: AbortSignal
  /** Called with the reason each time that it could not find out, unless it was told to stop. */
  readonly onUnknown: (why: unknown) => void
}

/** The result of the step as JSON text, or what else it found out. */
type Found = { readonly result: string } | 'not-done' | 'unknown'

const notDoneNeeded = 2
const unknownMax = 3

export async function askConfirm(ask: () => unknown, settings: ConfirmSettings): Promise<Found> {
  const { delayMs, scheduler, signal } = settings
  let notDone = 0
  let unknown = 0
  for (;;) {
    const found = await asked(ask, settings)
    if (typeof found === 'object') return found
    if (found === 'not-done') notDone++
    else unknown++
    if (notDone === notDoneNeeded) return 'not-done'
    if (unknown === unknownMax) return 'unknown'
    await delay(scheduler, delayMs, signal)
    if (signal.aborted) return 'unknown'
  }
}

const isDone = (answer: unknown): answer is { readonly done: unknown } =>
  typeof answer === 'object' && answer !== null && 'done' in answer

/**
 * Anything but the two answers means that it could not find out. So does an answer that cannot be
 * read, or whose result cannot be stored.
 */
async function asked(ask: () => unknown, settings: ConfirmSettings): Promise<Found> {
  try {
    const answer = await ask()
    if (answer === 'not-done') return answer
    if (isDone(answer)) return { result: resultText(answer.done) }
    throw new TypeError("confirm must return { done: value } or 'not-done'")
  } catch (error) {
    if (!settings.signal.aborted) settings.onUnknown(error)
    return 'unknown'
  }
}
