import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { seededChance } from '../test/seed.ts'
import { systemClock } from './clock.ts'
import { openEngine } from './open-engine.ts'
import { systemScheduler } from './scheduler.ts'

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const machine = { clock: systemClock, random: seededChance(), scheduler: systemScheduler }

test('without a queue the engine is embedded, and the store is not asked for its id', async () => {
  const storeId = (): Promise<string> => Promise.reject(new Error('asked'))
  const engine = await openEngine({ queueUrl: null, runs: {} }, { ...machine, log, storeId })
  expect(engine.name).toBe('embedded')
})

test('a server without a queue loads neither BullMQ nor a Redis client', async () => {
  const program = `
    const { createRequire } = await import('node:module')
    await import(${JSON.stringify(new URL('./compose.ts', import.meta.url).href)})
    const loaded = Object.keys(createRequire(import.meta.url).cache)
    console.log(loaded.length > 0, loaded.filter((path) => /bullmq|redis/.test(path)).length)`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program])
  expect(stdout).toBe('true 0\n')
})
