/** Measures the time from an announcement to its listener, and prints it. */
import type { Engine } from '../../../src/engine.ts'
import { wakeUp, type TestListener } from './engine-listener.ts'

const count = 300

/** One announcement at a time, on an engine that has nothing else to do. */
export async function printLatency(name: string, engine: Engine, listener: TestListener) {
  const times: number[] = []
  const hear = listener.runAvailable.bind(listener)
  for (let at = 0; at < count; at++) {
    const heard = Promise.withResolvers<number>()
    listener.runAvailable = async (given) => {
      heard.resolve(performance.now())
      return await hear(given)
    }
    const began = performance.now()
    engine.announce([wakeUp(`run_${at}`)])
    times.push((await heard.promise) - began)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): string => `${sorted[Math.floor(share * count)]?.toFixed(2)} ms`
  console.log(`engine ${name}, announce to runAvailable: p50 ${at(0.5)}, p99 ${at(0.99)}`)
}
