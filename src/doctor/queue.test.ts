import { expect, test } from 'vitest'
import type { EngineHealth } from '../engine.ts'
import { createEmbeddedEngine } from '../open-engine.ts'
import { systemScheduler } from '../scheduler.ts'
import { checkQueue } from './queue.ts'

const usable: EngineHealth = {
  name: 'bullmq',
  ok: true,
  detail: 'BullMQ on Redis 7.2.4 at redis:6379.',
  remedy: null,
  warnings: [],
  waiting: { review: 3, docs: 0, agent: null },
}

test('an engine without a queue is explained in plain words', async () => {
  const [finding] = checkQueue(await createEmbeddedEngine(systemScheduler).health())
  expect(finding).toMatchObject({
    level: 'ok',
    detail: 'Embedded: workers get their runs from the database. No Redis is needed.',
  })
})

test('a queue that works is shown with what waits and what should be changed', () => {
  const warnings = [{ detail: 'It removes keys.', remedy: 'Set noeviction.' }]
  expect(checkQueue({ ...usable, warnings })).toEqual([
    {
      check: 'queue',
      level: 'ok',
      detail: 'BullMQ on Redis 7.2.4 at redis:6379. Wake-ups that nobody has taken yet: review 3.',
      remedy: null,
    },
    {
      check: 'queue.redis',
      level: 'warning',
      detail: 'It removes keys.',
      remedy: 'Set noeviction.',
    },
  ])
})

test('a queue that cannot be used is a problem with its remedy', () => {
  const away = { ...usable, ok: false, detail: 'No Redis can be reached.', remedy: 'Start it.' }
  expect(checkQueue(away)).toEqual([
    {
      check: 'queue',
      level: 'problem',
      detail: 'No Redis can be reached.',
      remedy: 'Start it.',
    },
  ])
})
