import { expect, it } from 'vitest'
import { pino } from 'pino'
import { systemScheduler } from '../scheduler.ts'
import { createAuditPlacer } from './placer.ts'

it('places what was committed, and a pass that fails is told and does not end it', async () => {
  const logged: string[] = []
  const log = pino({}, { write: (line: string) => void logged.push(line) })
  let passes = 0
  const store = {
    audit: {
      number: async (): Promise<void> => {
        passes += 1
        if (passes === 1) throw new Error('away')
      },
    },
  }
  const placer = createAuditPlacer({ store, scheduler: systemScheduler, log })
  await placer.kick()
  await placer.kick()
  await placer.stop()
  expect(passes).toBe(2)
  expect(logged).toHaveLength(1)
})
