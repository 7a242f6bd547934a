import { expect, it } from 'vitest'
import type { Log } from '../log.ts'
import { systemScheduler } from '../scheduler.ts'
import { createPulse } from './pulse.ts'

it('a beat that fails is logged, and the next one still comes', async () => {
  const warnings: unknown[] = []
  const ignore = (): void => undefined
  const log: Log = {
    debug: ignore,
    info: ignore,
    error: ignore,
    warn: (what: unknown) => void warnings.push(what),
  }
  let beats = 0
  const store = {
    upkeep: {
      beat: async (): Promise<void> => {
        beats += 1
        if (beats === 1) throw new Error('away')
      },
    },
  }
  const pulse = createPulse({ store, scheduler: systemScheduler, log })
  await pulse.kick()
  await pulse.kick()
  await pulse.stop()
  expect(beats).toBe(2)
  expect(warnings).toHaveLength(1)
})
