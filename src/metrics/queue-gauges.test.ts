import { expect, it } from 'vitest'
import type { EngineHealth } from '../engine.ts'
import { createPrometheusMetrics } from './prometheus.ts'

const working: EngineHealth = {
  name: 'bullmq',
  ok: true,
  detail: '',
  remedy: null,
  warnings: [],
  waiting: { review: 3, 'agent/plan': 0 },
}

async function shown(healths: readonly EngineHealth[]): Promise<readonly string[]> {
  const metrics = createPrometheusMetrics()
  let text = ''
  for (const health of healths) {
    metrics.watchQueue(async () => health)
    text = await metrics.text()
  }
  return text.split('\n').filter((line) => line.startsWith('holdfast_queue'))
}

it('a queue that works is up, and shows what waits in it', async () => {
  expect(await shown([working])).toEqual([
    'holdfast_queue_up 1',
    'holdfast_queue_waiting_jobs{type="review"} 3',
    'holdfast_queue_waiting_jobs{type="agent/plan"} 0',
  ])
})

it('a queue that is away shows no old numbers', async () => {
  const away = { ...working, ok: false, waiting: { review: null, 'agent/plan': null } }
  expect(await shown([working, away])).toEqual(['holdfast_queue_up 0'])
})

it('nothing is shown before there is a queue to ask', async () => {
  expect((await createPrometheusMetrics().text()).match(/^holdfast_queue.*$/gm)).toBeNull()
})
