/** Gauges of the queue, read when somebody reads the metrics. */
import { Gauge, type Registry } from 'prom-client'
import type { EngineHealth } from '../engine.ts'

export interface QueueGauges {
  /** From now on they are read from here. */
  watch(health: () => Promise<EngineHealth>): void
  read(): Promise<void>
}

export function queueGauges(registry: Registry): QueueGauges {
  const registers = [registry]
  const up = new Gauge({
    name: 'holdfast_queue_up',
    help: '1 if wake-ups reach workers at once; 0 if the queue is away, so work starts later.',
    registers,
  })
  const waiting = new Gauge({
    name: 'holdfast_queue_waiting_jobs',
    help: 'Wake-ups in the queue that no worker has taken yet, by run type. At most 1000.',
    labelNames: ['type'],
    registers,
  })
  let health: (() => Promise<EngineHealth>) | null = null
  return {
    watch: (given) => void (health = given),
    async read() {
      const found = await health?.()
      up.remove()
      waiting.reset()
      if (found === undefined) return
      up.set(found.ok ? 1 : 0)
      for (const [type, count] of Object.entries(found.waiting)) {
        if (count !== null) waiting.set({ type }, count)
      }
    },
  }
}
