/**
 * Asks a step's `confirm` whether the step was done. "Not done" counts only if it is said twice, a
 * delay apart: what an earlier process asked for may just be arriving. If the question throws three
 * times, nobody knows.
 */
import { delay, type Scheduler } from '../../scheduler.ts'

export interface ConfirmSettings {
  readonly delayMs: number
  readonly scheduler: Scheduler
  readonly signal: AbortSignal
}

type Answer<T> = { readonly done: T } | 'not-done'

const notDoneNeeded = 2
const throwsMax = 3

export async function askConfirm<T>(
  ask: () => Answer<T> | Promise<Answer<T>>,
  { delayMs, scheduler, signal }: ConfirmSettings,
): Promise<Answer<T> | 'unknown'> {
  let notDone = 0
  let thrown = 0
  for (;;) {
    const answer: unknown = await asked(ask)
    if (isDone(answer)) return answer as Answer<T>
    if (answer === 'not-done') notDone++
    else thrown++
    if (notDone === notDoneNeeded) return 'not-done'
    if (thrown === throwsMax) return 'unknown'
    await delay(scheduler, delayMs, signal)
    if (signal.aborted) return 'unknown'
  }
}

const isDone = (answer: unknown): answer is { readonly done: unknown } =>
  typeof answer === 'object' && answer !== null && 'done' in answer

/** Anything but the two answers means that it could not find out. */
async function asked(ask: () => unknown): Promise<unknown> {
  try {
    return await ask()
  } catch {
    return 'unknown'
  }
}
