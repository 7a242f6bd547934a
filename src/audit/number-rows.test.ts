import { expect, it } from 'vitest'
import { pino } from 'pino'
import { systemScheduler } from '../scheduler.ts'
import { createAuditNumbering } from './number-rows.ts'

it('a pass that fails is logged, and the next pass still numbers the committed rows', async () => {
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
  const numbering = createAuditNumbering({ store, scheduler: systemScheduler, log })
  await numbering.kick()
  await numbering.kick()
  await numbering.stop()
  expect(passes).toBe(2)
  expect(logged).toHaveLength(1)
})
