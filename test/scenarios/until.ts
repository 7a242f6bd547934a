/** Asks repeatedly until the answer fits. Fails with the last answer if none does. */
import { setTimeout as pause } from 'node:timers/promises'

const askEveryMs = 50
const patienceMs = 30_000

export async function until<T>(
  ask: () => Promise<T>,
  fits: (answer: T) => boolean,
  patience = patienceMs,
): Promise<T> {
  const giveUpAt = Date.now() + patience
  for (;;) {
    const answer = await ask()
    if (fits(answer)) return answer
    if (Date.now() > giveUpAt) throw new Error(`it never came to pass: ${JSON.stringify(answer)}`)
    await pause(askEveryMs)
  }
}

/** Resolves when this machine's clock has passed the given time. */
export async function untilPast(time: string): Promise<void> {
  await pause(Math.max(0, Date.parse(time) - Date.now() + 1))
}
